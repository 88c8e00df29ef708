"""What goes over a connection: sealed frames one way, sealed acknowledgements the other.

A frame is a header (length, keyed digest of the body, keyed tag of these two) and a body. The law: nothing is
allocated for a frame before its header was found authentic, and no byte of a body reaches a caller before the
whole body was; an acknowledgement answers one body and no other. What breaks this is a `BadFrame`, which
tells nothing. This module must not know Thespian, messages or addresses.
"""

from __future__ import annotations

import enum
import hashlib
import hmac
import socket
import struct

import attrs

from gen_agent.actors.keys import checked_key

_LENGTH = struct.Struct(">Q")
_DIGEST_BYTES = 32
_TAG_BYTES = 16
HEADER_BYTES = _LENGTH.size + _DIGEST_BYTES + _TAG_BYTES
ACK_BYTES = 1 + _TAG_BYTES
_READS_IN_A_ROW = 16
_AT_ONCE = 16_384


class BadFrame(Exception):
    """What arrived was not sealed with our key; its connection must be closed without an answer."""


class Answer(enum.Enum):
    """What a receiver says of a frame: taken, or authentic but impossible to unpickle there."""

    # One of each: told apart by identity, which costs nothing.
    __hash__ = object.__hash__

    TAKEN = b"+"
    UNREADABLE = b"-"


_TOLD = {answer: answer.value for answer in Answer}


@attrs.frozen
class Frame:
    """One body, sealed and ready to go: header and body, and the digest its answer must refer to."""

    data: bytes = attrs.field(repr=False)
    digest: bytes = attrs.field(repr=False)


def _mac(keyed: hashlib.blake2b, data: bytes | bytearray) -> bytes:
    mac = keyed.copy()
    mac.update(data)
    return mac.digest()


class Seal:
    """Makes and checks frames and answers under one key (16 to 64 bytes; `ValueError` otherwise)."""

    def __init__(self, key: bytes) -> None:
        key = checked_key(key)
        # Keyed once: each of them is only ever copied.
        self._head = hashlib.blake2b(key=key, digest_size=_TAG_BYTES, person=b"head")
        self._body = hashlib.blake2b(key=key, digest_size=_DIGEST_BYTES, person=b"body")
        self._answer = hashlib.blake2b(key=key, digest_size=_TAG_BYTES, person=b"answer")

    def frame(self, body: bytes, stamp: bytes = b"") -> Frame:
        """Seal a body, with what goes before it."""
        mac = self._body.copy()
        mac.update(stamp)
        mac.update(body)
        digest = mac.digest()
        head = _LENGTH.pack(len(stamp) + len(body)) + digest
        return Frame(b"".join((head, _mac(self._head, head), stamp, body)), digest)

    def open_header(self, header: bytes) -> tuple[int, bytes]:
        """The body's length and digest as an authentic header tells them; raises `BadFrame`."""
        head, tag = header[:-_TAG_BYTES], header[-_TAG_BYTES:]
        if not hmac.compare_digest(tag, _mac(self._head, head)):
            raise BadFrame
        return _LENGTH.unpack_from(head)[0], head[_LENGTH.size :]

    def check_body(self, body: bytearray, digest: bytes) -> None:
        """Raise `BadFrame` unless `body` is the one its header announced."""
        if not hmac.compare_digest(digest, _mac(self._body, body)):
            raise BadFrame

    def answer(self, answer: Answer, digest: bytes) -> bytes:
        """The sealed answer to the frame with that digest."""
        told = _TOLD[answer]
        return told + _mac(self._answer, told + digest)

    def open_answer(self, data: bytes, digest: bytes) -> Answer:
        """What is said of the frame with that digest; raises `BadFrame` if it is said of another."""
        for answer in _TOLD:
            if hmac.compare_digest(data, self.answer(answer, digest)):
                return answer
        raise BadFrame


class FrameReader:
    """Reads frames from one non-blocking socket, however they arrive."""

    def __init__(self, seal: Seal) -> None:
        self._seal = seal
        self.authentic = False
        self._here = bytearray()
        self._await_header()

    def _await_header(self) -> None:
        self._digest = b""
        self._body: bytearray | None = None
        self._got = 0

    def read(self, sock: socket.socket) -> tuple[bytearray, bytes] | None:
        """The body and digest of the next frame, or None if more has to arrive first.

        Raises `BadFrame`, and `EOFError` when the other side is gone. Takes at most a bounded share of what
        is there, so that one long frame does not keep other connections waiting.
        """
        frame = self.ahead() if self._here else None
        if frame is None and self._body is None:
            # A stranger is not read beyond its header; several short frames of a known one come at once.
            size = _AT_ONCE if self.authentic else HEADER_BYTES - len(self._here)
            self._here += _received(sock, size)
            frame = self.ahead()
        if frame is None and self._body is not None and self._fill(sock, self._body):
            frame = self._checked(self._body)
        return frame

    def ahead(self) -> tuple[bytearray, bytes] | None:
        """The next frame, if it has been read already; raises `BadFrame`."""
        if self._body is not None or len(self._here) < HEADER_BYTES:
            return None
        length, self._digest = self._seal.open_header(bytes(self._here[:HEADER_BYTES]))
        self.authentic = True
        part = self._here[HEADER_BYTES : HEADER_BYTES + length]
        del self._here[: HEADER_BYTES + len(part)]
        if len(part) == length:
            return self._checked(part)
        self._body, self._got = bytearray(length), len(part)
        self._body[: len(part)] = part
        return None

    def _checked(self, body: bytearray) -> tuple[bytearray, bytes]:
        digest = self._digest
        self._seal.check_body(body, digest)
        self._await_header()
        return body, digest

    def _fill(self, sock: socket.socket, body: bytearray) -> bool:
        view = memoryview(body)
        for _ in range(_READS_IN_A_ROW):
            if self._got == len(view):
                return True
            try:
                count = sock.recv_into(view[self._got :])
            except BlockingIOError:
                return False
            except OSError as broken:
                raise EOFError from broken
            if not count:
                raise EOFError
            self._got += count
        return self._got == len(view)


def _received(sock: socket.socket, size: int) -> bytes:
    try:
        data = sock.recv(size)
    except BlockingIOError:
        return b""
    except OSError as broken:
        raise EOFError from broken
    if not data:
        raise EOFError
    return data
