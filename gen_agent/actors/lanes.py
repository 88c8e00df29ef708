"""What leaves a process: one lane per target, first in first out, one frame under way per lane.

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

from gen_agent.actors.frames import ACK_BYTES, Answer, BadFrame, Frame, Seal
from gen_agent.actors.sockets import Key, connection

REFUSALS = 3
"""How many fresh connections a receiver may close without an answer before its lane is given up."""

FIRST_PAUSE_S = 0.02
LONGEST_PAUSE_S = 5.0
"""The pause before another connection is tried, doubled each time up to the longest, in seconds."""


_WRITES_IN_A_ROW = 8


class Result(enum.Enum):
    """How a frame left its lane."""

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
        self._sent = 0
        self._answer = b""

    def push(self, intent: Any) -> None:
        """Queue one more."""
        self.queue.append(intent)
        self.queued_bytes += len(intent.serMsg.data)

    def pop(self) -> Any:
        """Take the first one out; the next starts from its first byte."""
        intent = self.queue.popleft()
        self.queued_bytes -= len(intent.serMsg.data)
        self._sent, self._answer = 0, b""
        self.used_at = currentTime()
        return intent

    def connect(self) -> Step:
        """Open the connection; `DONE` if it is open or on its way."""
        self._sent, self._answer, self._proven = 0, b"", False
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

    def advance(self) -> tuple[Step, Answer | None]:
        """Send of the first frame what goes out now; if all of it has gone, read the answer."""
        frame: Frame = self.queue[0].serMsg
        try:
            if self._sent < len(frame.data):
                return self._send(frame), None
            return self._receive(frame)
        except BlockingIOError:
            return Step.BLOCKED, None
        except ConnectionRefusedError:
            return Step.REFUSED, None
        except OSError as failure:
            lost = self._proven or failure.errno in (errno.ECONNRESET, errno.EPIPE, errno.ENOTCONN)
            return (Step.LOST if lost else Step.UNREACHABLE), None

    def _send(self, frame: Frame) -> Step:
        assert self.sock is not None
        self.wants_write = True
        view = memoryview(frame.data)
        for _ in range(_WRITES_IN_A_ROW):
            self._sent += self.sock.send(view[self._sent :])
            if self._sent == len(view):
                self.wants_write = False
                break
        # The answer can't be there yet: it is waited for, not asked for.
        return Step.BLOCKED

    def _receive(self, frame: Frame) -> tuple[Step, Answer | None]:
        assert self.sock is not None
        data = self.sock.recv(ACK_BYTES - len(self._answer))
        if not data:
            return Step.LOST, None
        self._answer += data
        if len(self._answer) < ACK_BYTES:
            return Step.BLOCKED, None
        try:
            answer = self._seal.open_answer(self._answer, frame.digest)
        except BadFrame:
            return Step.LOST, None
        self._proven, self.refusals, self._pauses = True, 0, 0
        return Step.DONE, answer

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
