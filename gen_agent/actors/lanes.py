"""What leaves a process: one lane per target, first in first out, a few frames under way per lane.

The law: no call here waits, so no target holds up the sender or another target. A frame leaves its lane when
the receiver has answered it, when the receiver is dead, or when it refuses or can't be reached; a receiver
that is merely slow or stopped is waited for as long as its connection lives, which the kernel ends with its
process. A lane's socket carries frames one way only. Results are handed to `done`, which must not call back
into this module. This module must not know actors; of a transmit intent it knows `serMsg` (a `Frame`) and
`expired()`.
"""

from __future__ import annotations

import enum
import errno
import socket
from collections import deque
from collections.abc import Callable
from typing import Any

from thespian.system.timing import currentTime

from gen_agent.actors.frames import ACK_BYTES, Answer, BadFrame, Seal
from gen_agent.actors.sockets import Key, connection, under_way

REFUSALS = 3
"""How many fresh connections a receiver may close without an answer before its lane is given up."""

FIRST_PAUSE_S = 0.02
LONGEST_PAUSE_S = 5.0
"""The pause before another connection is tried, doubled each time up to the longest, in seconds."""


WINDOW = 64
"""How many frames may be on their way to one target without an answer."""

_WRITES_IN_A_ROW = 8
_TOGETHER_BYTES = 32_768


class Result(enum.Enum):
    """How a frame left its lane."""

    # One of each: told apart by identity, which costs nothing.
    __hash__ = object.__hash__

    TAKEN = enum.auto()
    UNREADABLE = enum.auto()
    DEAD = enum.auto()
    FAILED = enum.auto()


class Step(enum.Enum):
    """What one attempt to get on with a lane came to."""

    DONE = enum.auto()
    BLOCKED = enum.auto()
    REFUSED = enum.auto()
    LOST = enum.auto()
    UNREACHABLE = enum.auto()
    CROWDED = enum.auto()


Done = Callable[[Any, Result], None]


class Lane:
    """The frames for one target and the connection they go over."""

    def __init__(self, key: Key, seal: Seal) -> None:
        self.key = key
        self._seal = seal
        self.queue: deque[Any] = deque()
        self.queued_bytes = 0
        self.sock: socket.socket | None = None
        self.resume_at: float | None = None
        self.used_at = 0.0
        self.refusals = 0
        self.wants_write = False
        self._pauses = 0
        self._proven = False
        self._begin()

    def _begin(self) -> None:
        """Nothing of the queue is on its way."""
        self._flying = 0
        self._leaving = memoryview(b"")
        self._answered = b""

    def push(self, intent: Any) -> None:
        """Queue one more."""
        self.queue.append(intent)
        self.queued_bytes += len(intent.serMsg.data)

    def pop(self) -> Any:
        """Take the first one out."""
        intent = self.queue.popleft()
        self.queued_bytes -= len(intent.serMsg.data)
        self._flying = max(0, self._flying - 1)
        self.used_at = currentTime()
        return intent

    def connect(self) -> Step:
        """Open the connection; `DONE` if it is open or on its way."""
        self._begin()
        self._proven = False
        try:
            self.sock = connection(self.key)
        except ConnectionRefusedError:
            return Step.REFUSED
        except OSError as failure:
            return Step.CROWDED if failure.errno in (errno.EMFILE, errno.ENFILE) else Step.UNREACHABLE
        return Step.DONE

    def disconnect(self) -> None:
        """Close the connection, if there is one; nothing is taken from the queue."""
        sock, self.sock = self.sock, None
        if sock is not None:
            sock.close()
        self.wants_write = False
        self._begin()

    @property
    def all_written(self) -> bool:
        """Whether the kernel has everything that is queued."""
        return self._flying == len(self.queue) and not self._leaving

    @property
    def all_delivered(self) -> bool:
        """Whether the other side's kernel has it, to hand it over whenever it is read."""
        return self.all_written and self.sock is not None and not under_way(self.sock)

    @property
    def may_send(self) -> bool:
        """Whether something could go out now that does not wait for an answer, a pause or the connection."""
        return self.resume_at is None and not self.wants_write and self._flying < WINDOW

    def send(self) -> Step:
        """Send what goes out now; `DONE` if nothing more may, `BLOCKED` if the connection takes no more."""
        assert self.sock is not None
        self.wants_write = True
        try:
            for _ in range(_WRITES_IN_A_ROW):
                if not self._leaving and not self._load():
                    self.wants_write = False
                    return Step.DONE
                self._leaving = self._leaving[self.sock.send(self._leaving) :]
        except OSError as failure:
            return self._trouble(failure)
        return Step.BLOCKED

    def _load(self) -> bool:
        """Make the next frames ready to leave, several short ones at once; whether there were any."""
        if self._flying == len(self.queue):
            return False
        frames: list[bytes] = []
        size = 0
        while self._flying < min(WINDOW, len(self.queue)) and (not frames or size < _TOGETHER_BYTES):
            frames.append(self.queue[self._flying].serMsg.data)
            size += len(frames[-1])
            self._flying += 1
        self._leaving = memoryview(frames[0] if len(frames) == 1 else b"".join(frames))
        return bool(frames)

    def receive(self) -> tuple[Step, tuple[Answer, ...]]:
        """Read the answers that are there, to the first frames of the queue in order."""
        assert self.sock is not None
        try:
            data = self.sock.recv(ACK_BYTES * WINDOW)
        except OSError as failure:
            return self._trouble(failure), ()
        if not data:
            return Step.LOST, ()
        self._answered += data
        try:
            return Step.DONE, tuple(self._open_answers())
        except BadFrame:
            return Step.LOST, ()

    def _open_answers(self) -> list[Answer]:
        count = len(self._answered) // ACK_BYTES
        if count > self._flying:
            raise BadFrame
        answers: list[Answer] = []
        for place in range(count):
            data = self._answered[place * ACK_BYTES : (place + 1) * ACK_BYTES]
            answers.append(self._seal.open_answer(data, self.queue[place].serMsg.digest))
        self._answered = self._answered[count * ACK_BYTES :]
        if answers:
            self._proven, self.refusals, self._pauses = True, 0, 0
        return answers

    def _trouble(self, failure: OSError) -> Step:
        if isinstance(failure, BlockingIOError):
            return Step.BLOCKED
        if isinstance(failure, ConnectionRefusedError):
            return Step.REFUSED
        lost = self._proven or failure.errno in (errno.ECONNRESET, errno.EPIPE, errno.ENOTCONN)
        return Step.LOST if lost else Step.UNREACHABLE

    def idle_is_closed(self) -> bool:
        """Whether the other side of an idle connection has gone; anything it may have sent counts as that."""
        assert self.sock is not None
        try:
            self.sock.recv(1)
        except BlockingIOError:
            return False
        except OSError:
            return True
        return True

    def after_loss(self) -> bool:
        """Whether another connection may be tried at once, after one was closed before an answer came.

        A connection that had worked may have been closed as idle: its end says nothing against the receiver.
        """
        proven, self._proven = self._proven, False
        if not proven:
            self.refusals += 1
        return proven

    def pause(self) -> None:
        """Wait before the next try, longer each time."""
        self.resume_at = currentTime() + min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2 ** min(self._pauses, 10))
        self._pauses += 1
