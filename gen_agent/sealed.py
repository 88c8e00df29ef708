"""User values as opaque bytes.

An envelope is unpickled by the transport of every process it passes, before any handler runs, also in
processes that do not have the user's classes. A `Sealed` value therefore travels as the bytes of its own
pickle and is opened only by its final receiver. This module knows nothing of messages, actors or Thespian.
"""

from __future__ import annotations

import pickle
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

from gen_agent.errors import Undecodable, Unpicklable
from gen_agent.wire import flat

PROTOCOL = 5

_MISSING: Any = object()


def dump(value: object, what: str = "value") -> bytes:
    """Pickle `value`.

    Raises `Unpicklable(what, type)` in the caller, naming what it was and its class, never its content.
    """
    try:
        return pickle.dumps(value, PROTOCOL)
    except Exception as error:
        raise Unpicklable(what, type(value).__qualname__) from error


def load(data: bytes | memoryview) -> Any:
    """Unpickle `data`; what can't be opened comes back as an `Undecodable` value in its place."""
    try:
        return pickle.loads(data)
    except Exception as error:
        return Undecodable(type(error).__qualname__)


class Sealed:
    """One user value as the bytes of its pickle.

    `Sealed.of(value)` pickles at once and raises `Unpicklable` in the sender; `open()` unpickles at the
    receiver and keeps the result, so that a process which never opens it never needs the user's classes.
    Equal by bytes.
    """

    __slots__ = ("_value", "data")

    data: bytes
    _value: Any

    def __init__(self, data: bytes, value: Any = _MISSING) -> None:
        self.data = data
        self._value = value

    @classmethod
    def of(cls, value: object, what: str = "value") -> Sealed:
        """Seal `value`; raises `Unpicklable(what, type)`."""
        return cls(dump(value, what), value)

    def open(self) -> Any:
        """Return the value, or an `Undecodable` error value where it can't be opened here."""
        if self._value is _MISSING:
            self._value = load(self.data)
        return self._value

    def __len__(self) -> int:
        return len(self.data)

    def __eq__(self, other: object) -> bool:
        return self.data == other.data if isinstance(other, Sealed) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.data)

    def __reduce__(self) -> tuple[Any, ...]:
        return Sealed, (self.data,)

    def __repr__(self) -> str:
        return "<Sealed>"

    __str__ = __repr__


def _read(raw: bytes, at: int, end: int) -> Any:
    return pickle.loads(memoryview(raw)[at:end])


class SealedRun:
    """A run of stream events as they left the worker: `count` frames back to back, opened only by the
    recipient.

    A frame is `HEADER` (length of the body, `EVENT`) and the body, one event's pickle. The agent forwards
    whole runs without looking inside, so that what an event costs does not depend on how many processes it
    passes.
    """

    __slots__ = ("_opened", "count", "raw")

    HEADER: ClassVar[struct.Struct] = struct.Struct("!IB")
    EVENT: ClassVar[int] = 2
    read: ClassVar[Callable[[bytes, int, int], Any]] = staticmethod(_read)
    """Makes an event of the bytes from one place to another; `events` knows a shorter way for its own."""

    raw: bytes
    count: int
    _opened: tuple[Any, ...] | None

    def __init__(self, raw: bytes, count: int) -> None:
        self.raw = raw
        self.count = count
        self._opened = None

    @classmethod
    def of(cls, events: tuple[object, ...]) -> SealedRun:
        """Seal `events`; raises `Unpicklable("event", type)`."""
        return cls.joined([dump(event, "event") for event in events])

    @classmethod
    def joined(cls, bodies: Sequence[bytes]) -> SealedRun:
        """The run of events whose pickles these are."""
        return cls(b"".join(map(cls.frame, bodies)), len(bodies))

    @classmethod
    def frame(cls, body: bytes) -> bytes:
        """One event's pickle as it is in a run."""
        return cls.HEADER.pack(len(body), cls.EVENT) + body

    def __iter__(self) -> Iterator[Any]:
        """Open the events one by one, in order; what can't be opened is an `Undecodable` in its place."""
        raw, end, read = self.raw, 0, SealedRun.read
        size, unpack = self.HEADER.size, self.HEADER.unpack_from
        while end < len(raw):
            at = end + size
            end = at + unpack(raw, end)[0]
            try:
                event = read(raw, at, end)
            except Exception as error:
                event = Undecodable(type(error).__qualname__)
            yield event

    def open(self) -> tuple[Any, ...]:
        """Return all events and keep them, so that a recipient may ask twice."""
        if self._opened is None:
            self._opened = tuple(self)
        return self._opened

    def __len__(self) -> int:
        return self.count

    def __add__(self, other: SealedRun) -> SealedRun:
        return SealedRun(self.raw + other.raw, self.count + other.count)

    def __eq__(self, other: object) -> bool:
        return self.raw == other.raw if isinstance(other, SealedRun) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.raw)

    def __reduce__(self) -> tuple[Any, ...]:
        return SealedRun, (self.raw, self.count)

    def __repr__(self) -> str:
        return f"<SealedRun of {self.count}>"

    __str__ = __repr__


flat(Sealed, "data")
flat(SealedRun, "raw", "count")
