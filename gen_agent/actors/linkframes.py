"""Bytes of a link into frames and back.

A frame is `SealedRun.HEADER` (length, kind) and a body. The body of an EVENT is one event's pickle, which the
agent never opens: neighbouring events are cut out as one `SealedRun`, in one piece. The body of a MESSAGE is
a pickled order or report; a BELL has none, and says that there are events elsewhere. This module reads and
writes nothing itself.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

from gen_agent.sealed import PROTOCOL, Sealed, SealedRun

MESSAGE, BELL = 1, 3
_KINDS = (MESSAGE, SealedRun.EVENT, BELL)
_HEADER = SealedRun.HEADER
RUNG = _HEADER.pack(0, BELL)


class NoFrame(ValueError):
    """What came over a link is no frame of ours: its worker can't be understood any more."""


def message_frame(message: object) -> bytes:
    """The frame of an order or report."""
    body = pickle.dumps(message, PROTOCOL)
    return _HEADER.pack(len(body), MESSAGE) + body


def whole_run(raw: bytes) -> list[SealedRun]:
    """Frames of events back to back as a run, or none of them; raises `NoFrame` for anything else."""
    at = count = 0
    while at < len(raw):
        if len(raw) - at < _HEADER.size:
            raise NoFrame
        length, kind = _HEADER.unpack_from(raw, at)
        at += _HEADER.size + length
        count += 1
        if kind != SealedRun.EVENT or at > len(raw):
            raise NoFrame
    return [SealedRun(raw, count)] if count else []


def bodies(run: SealedRun) -> Iterator[Sealed]:
    """The events of a run one by one, still sealed."""
    at, size = 0, _HEADER.size
    while at < len(run.raw):
        length, _ = _HEADER.unpack_from(run.raw, at)
        at += size
        yield Sealed(run.raw[at : at + length])
        at += length


def first_events(run: SealedRun, count: int) -> SealedRun:
    """The first `count` events of a run."""
    at, size = 0, _HEADER.size
    for _ in range(min(count, run.count)):
        length, _ = _HEADER.unpack_from(run.raw, at)
        at += size + length
    return SealedRun(run.raw[:at], min(count, run.count))


class FrameBuffer:
    """Bytes as they arrive; complete frames as they are complete."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def feed(self, data: bytes) -> None:
        """Add what was read."""
        self._bytes += data

    def take(self) -> list[Any]:
        """What is complete by now, in order: `SealedRun`s of neighbouring events, and messages.

        Raises `NoFrame`, after which nothing more can be made of what arrives.
        """
        found: list[Any] = []
        data, have, head, unpack = self._bytes, len(self._bytes), _HEADER.size, _HEADER.unpack_from
        at = run_from = count = 0
        while have - at >= head:
            length, kind = unpack(data, at)
            end = at + head + length
            if kind not in _KINDS:
                raise NoFrame
            if have < end:
                break
            if kind == SealedRun.EVENT:
                count += 1
            else:
                found += self._run(run_from, at, count)
                if kind == MESSAGE:
                    found.append(self._message(at + head, end))
                run_from, count = end, 0
            at = end
        found += self._run(run_from, at, count)
        del data[:at]
        return found

    def _run(self, start: int, end: int, count: int) -> list[SealedRun]:
        return [SealedRun(bytes(self._bytes[start:end]), count)] if count else []

    def _message(self, start: int, end: int) -> Any:
        with memoryview(self._bytes) as whole, whole[start:end] as body:
            try:
                return pickle.loads(body)
            except Exception as error:
                raise NoFrame from error
