"""The two ends of the link between an agent and its worker: a socket, and where there can be one, a ring.

The worker's end blocks: that is how a worker runs a backend in its main thread and streams from it. The
agent's end never waits, neither to read nor to write, and reads a bounded amount at a time, so that a flood
of events starves nobody else. Events go through the ring, all else, and what does not fit, over the socket.
This module must not know Thespian or actors.
"""

from __future__ import annotations

import contextlib
import socket
from typing import Any

from gen_agent.actors.linkframes import RUNG, FrameBuffer, NoFrame, message_frame, whole_run
from gen_agent.actors.ring import BadRing, Reader, Ring, Writer
from gen_agent.sealed import SealedRun

READ_AT_ONCE = 1 << 20
"""How many bytes the agent reads before it looks at its other messages again."""

FLOOD = 16
LULL_S = 0.001
"""So many events in one read, and the next ones are looked for after this time, in seconds: a worker that
had to ring for each of thousands would do little else.
"""

_CHUNK = 1 << 18
_BUFFER = 1 << 20


class LinkClosed(ConnectionError):
    """The other end of the link is gone."""


def socket_pair() -> tuple[socket.socket, socket.socket]:
    """Two joined sockets: the agent's (non-blocking) and the worker's; both are inherited by a fork."""
    ours, theirs = socket.socketpair()
    for end in (ours, theirs):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER)
    ours.setblocking(False)
    return ours, theirs


class AgentEnd:
    """The agent's end: sends are buffered, reads return what is there.

    `again_s` is set where the descriptor does not tell when to read next: after that many seconds.
    """

    def __init__(self, ours: socket.socket, ring: Ring | None = None) -> None:
        self._socket = ours
        self._ring = None if ring is None else Reader(ring)
        self._unsent = bytearray()
        self._frames = FrameBuffer()
        self.ended = False
        self.again_s: float | None = None

    def fileno(self) -> int:
        """The descriptor to watch."""
        return self._socket.fileno()

    @property
    def unsent(self) -> int:
        """How many bytes wait until the descriptor is writable."""
        return len(self._unsent)

    def send(self, message: object) -> None:
        """Send an order, now as far as it goes and the rest with `flush`; to a dead worker it is lost."""
        self._unsent += message_frame(message)
        self.flush()

    def flush(self) -> None:
        """Send what is unsent, as far as the socket takes it."""
        try:
            while self._unsent:
                del self._unsent[: self._socket.send(memoryview(self._unsent)[:_BUFFER])]
        except BlockingIOError:
            return
        except OSError:
            # The worker is gone or going: its pidfd tells, and the turn ends by that.
            self._unsent.clear()

    def read(self, limit: int | None = READ_AT_ONCE) -> list[Any]:
        """What has arrived, at most about `limit` bytes of it (None: all): runs of events, and reports.

        After the end of the stream `ended` is true. Raises `NoFrame`.
        """
        self._fill(limit)
        if self._ring is None:
            return self._frames.take()
        # What is on the socket by now was sent after what is in the ring: the worker sees to that.
        try:
            streamed = whole_run(self._ring.take())
        except BadRing as error:
            raise NoFrame from error
        came = self._frames.take()
        self._ring.heard(sum(len(report) for report in came if isinstance(report, SealedRun)))
        if streamed and len(streamed[0]) >= FLOOD:
            self.again_s = LULL_S
        else:
            self.again_s = None if self._ring.wait() else 0.0
        return streamed + came

    def _fill(self, limit: int | None) -> None:
        have = 0
        with contextlib.suppress(BlockingIOError):
            while limit is None or have < limit:
                data = self._receive()
                if not data:
                    self.ended = True
                    break
                self._frames.feed(data)
                have += len(data)
                if limit is not None and len(data) < _CHUNK:
                    # That was all; what comes later is told by the descriptor.
                    break

    def _receive(self) -> bytes:
        try:
            return self._socket.recv(_CHUNK)
        except ConnectionError:
            return b""

    def close(self) -> None:
        """Give back what it has; harmless when done twice."""
        self._socket.close()
        if self._ring is not None:
            self._ring.close()


class WorkerEnd:
    """The worker's end: every call waits until it is done. Raises `LinkClosed` when the agent is gone."""

    def __init__(self, theirs: socket.socket, ring: Ring | None = None) -> None:
        theirs.setblocking(True)
        self._socket = theirs
        self._ring = None if ring is None else Writer(ring)
        self._frames = FrameBuffer()
        self._arrived: list[Any] = []

    def fileno(self) -> int:
        """The descriptor to watch."""
        return self._socket.fileno()

    def send(self, message: object) -> None:
        """Send a report."""
        self._write(message_frame(message))

    def send_frame(self, frame: bytes) -> None:
        """Send a report whose frame was made before."""
        self._write(frame)

    def send_event(self, body: bytes) -> None:
        """Send one event's pickle: the agent has it on return, whatever becomes of this process."""
        frame, ring = SealedRun.frame(body), self._ring
        if ring is None or not ring.put(frame):
            self._write(frame)
        elif ring.must_ring():
            self._write(RUNG)

    def _write(self, frame: bytes) -> None:
        try:
            self._socket.sendall(frame)
        except OSError as error:
            raise LinkClosed from error

    def receive(self) -> Any:
        """Wait for the next order."""
        while not self._arrived:
            try:
                data = self._socket.recv(_CHUNK)
            except OSError as error:
                raise LinkClosed from error
            if not data:
                raise LinkClosed
            self._frames.feed(data)
            self._arrived += self._frames.take()
        return self._arrived.pop(0)
