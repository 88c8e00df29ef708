"""Memory that a worker and its agent share, in which events cross without a system call for each.

What a worker has put here is there for the agent whatever becomes of the worker: a kill loses nothing. The
law: events keep their order, also against those that did not fit and went over the link, and nobody sleeps on
one. The worker writes frames and then how far it has written; the agent reads up to there and then writes how
far it has read. An agent that is about to wait says so before it looks a last time; a worker that finds this
said rings, over the link. Only for processors whose stores become visible in the order they were made, which
is why there may be no ring. This module must not know sockets, frames or actors.
"""

from __future__ import annotations

import mmap
import platform
import threading
from typing import Final

SIZE: Final = 1 << 18
"""How many bytes of frames fit. Pages that were never written to cost nothing."""

_LINE = 8
_WRITTEN, _WAITING, _READ, _HEARD = (place * _LINE for place in range(4))
"""Words, each in a cache line of its own: the first is the worker's, the last two the agent's, the other is
of both."""
_BEGIN = 4 * _LINE * 8

_IN_ORDER = ("x86_64", "AMD64")


class BadRing(ValueError):
    """What the worker says it has written can't be."""


class Ring:
    """The memory, to be made before the fork."""

    def __init__(self) -> None:
        self.memory = mmap.mmap(-1, _BEGIN + SIZE)
        self.words = memoryview(self.memory)[:_BEGIN].cast("Q")
        # Nobody reads yet: the first event rings.
        self.words[_WAITING] = 1

    @classmethod
    def made(cls) -> Ring | None:
        """A new one, or None on a machine that can't have one."""
        return cls() if platform.machine() in _IN_ORDER else None

    def close(self) -> None:
        """Give the memory back; harmless when done twice."""
        self.words.release()
        self.memory.close()


class Writer:
    """The worker's half."""

    def __init__(self, ring: Ring) -> None:
        self._memory, self._words = ring.memory, ring.words
        # A lock is what there is in Python to keep a store before a load.
        fence = threading.Lock()
        self._enter, self._leave = fence.acquire, fence.release
        self._written = self._elsewhere = 0

    def put(self, frame: bytes) -> bool:
        """Write one frame; False where it has to go over the link instead, as it then must."""
        words, begun, size = self._words, self._written, len(frame)
        if words[_HEARD] != self._elsewhere or begun + size - words[_READ] > SIZE:
            self._elsewhere += 1
            return False
        at = _BEGIN + begun % SIZE
        fits = _BEGIN + SIZE - at
        if size <= fits:
            self._memory[at : at + size] = frame
        else:
            self._memory[at:] = frame[:fits]
            self._memory[_BEGIN : _BEGIN + size - fits] = frame[fits:]
        # In this order: a signal handler may raise between the two.
        self._written = words[_WRITTEN] = begun + size
        return True

    def must_ring(self) -> bool:
        """Whether the agent waits and may not know of the last `put`; to be asked after each."""
        self._enter()
        self._leave()
        if not self._words[_WAITING]:
            return False
        self._words[_WAITING] = 0
        return True


class Reader:
    """The agent's half."""

    def __init__(self, ring: Ring) -> None:
        self._ring = ring
        self._fence = threading.Lock()
        self._read = self._heard = 0

    def take(self) -> bytes:
        """All frames there are. Raises `BadRing`."""
        words, begun = self._ring.words, self._read
        written = words[_WRITTEN]
        if written == begun:
            return b""
        if not 0 < written - begun <= SIZE:
            raise BadRing
        memory, at, end = self._ring.memory, _BEGIN + begun % SIZE, _BEGIN + written % SIZE
        frames = memory[at:end] if at < end else memory[at:] + memory[_BEGIN:end]
        words[_READ] = self._read = written
        return frames

    def wait(self) -> bool:
        """Have the worker ring when there is more; False if there is more already, which is to be taken."""
        words = self._ring.words
        words[_WAITING] = 1
        with self._fence:
            pass
        if words[_WRITTEN] == self._read:
            return True
        words[_WAITING] = 0
        return False

    def heard(self, count: int) -> None:
        """So many more events have come over the link, and all that was put here before them was taken."""
        if count:
            self._heard += count
            self._ring.words[_HEARD] = self._heard

    def close(self) -> None:
        """Give the memory back; harmless when done twice."""
        self._ring.close()
