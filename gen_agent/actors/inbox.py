"""What arrives at a process: its listening socket and the connections others opened to it.

The law: whoever connects is a stranger until a header was authentic, gets no answer before that, little time,
and no memory beyond a header. A connection is only received from. This module must not know actors or
messages: a whole, authentic body goes to `take`, which says what to answer.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable

from thespian.system.timing import currentTime

from gen_agent.actors.frames import Answer, BadFrame, FrameReader, Seal
from gen_agent.actors.poller import READ, Poller
from gen_agent.actors.sockets import hang_up, tune

STRANGER_S = 10.0
"""How long a connection may stay without an authentic header, in seconds."""

STRANGERS = 512
"""How many connections without an authentic header are kept; of more, the oldest goes."""

REST_S = 0.1
"""How long nothing is accepted after the descriptors ran out, in seconds."""

_ACCEPTS_IN_A_ROW = 64

Take = Callable[[bytearray], Answer]


class Arrival:
    """One connection somebody opened to us."""

    def __init__(self, sock: socket.socket, seal: Seal) -> None:
        self.sock = sock
        self.reader = FrameReader(seal)
        self.used_at = currentTime()


class Inbox:
    """The listening socket and what came through it. Not thread-safe: the transport holds its lock."""

    def __init__(self, poller: Poller, seal: Seal, sock: socket.socket, take: Take) -> None:
        self._poller = poller
        self._seal = seal
        self._take = take
        self._sock = sock
        self._rest_until: float | None = None
        self._strangers: dict[int, Arrival] = {}
        self._known: dict[int, Arrival] = {}
        sock.setblocking(False)
        poller.add(sock.fileno(), READ, self._accept)

    def _accept(self) -> None:
        for _ in range(_ACCEPTS_IN_A_ROW):
            try:
                sock, _ = self._sock.accept()
            except BlockingIOError:
                return
            except OSError as failure:
                if failure.errno in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM):
                    self._make_room()
                return
            self._welcome(sock)

    def _make_room(self) -> None:
        idle = min(self._known.values(), key=lambda arrival: arrival.used_at, default=None)
        if idle is not None:
            # Its sender finds the connection closed between two frames, and opens another.
            self._drop(idle)
        # Without a descriptor the listening socket stays readable: looking at it again at once would be a
        # busy loop.
        self._poller.remove(self._sock.fileno())
        self._rest_until = currentTime() + REST_S

    def _welcome(self, sock: socket.socket) -> None:
        try:
            tune(sock, sock.getpeername()[0])
        except OSError:
            sock.close()
            return
        arrival = Arrival(sock, self._seal)
        self._strangers[sock.fileno()] = arrival
        self._poller.add(sock.fileno(), READ, lambda: self._receive(arrival))
        if len(self._strangers) > STRANGERS:
            self._drop(next(iter(self._strangers.values())))

    def _receive(self, arrival: Arrival) -> None:
        answers: list[bytes] = []
        whole = True
        try:
            self._read(arrival, answers)
        except (BadFrame, EOFError):
            whole = False
        # What was taken before the connection broke is answered, or it would come again.
        if not self._say(arrival, answers) or not whole:
            self._drop(arrival)

    def _say(self, arrival: Arrival, answers: list[bytes]) -> bool:
        try:
            return not answers or arrival.sock.send(b"".join(answers)) > 0
        except BlockingIOError:
            return False
        except OSError:
            # Whoever sent this has ended since. What else it sent is still here, and read to its end.
            return True

    def _read(self, arrival: Arrival, answers: list[bytes]) -> None:
        stranger = not arrival.reader.authentic
        frame = arrival.reader.read(arrival.sock)
        self._recognise(arrival)
        while frame is not None:
            body, digest = frame
            answers.append(self._seal.answer(self._take(body), digest))
            frame = arrival.reader.ahead()
        if stranger and arrival.reader.authentic:
            # Of what came along only the first frame was read.
            self._read(arrival, answers)

    def _recognise(self, arrival: Arrival) -> None:
        if not arrival.reader.authentic:
            return
        arrival.used_at = currentTime()
        if self._strangers.pop(arrival.sock.fileno(), None) is not None:
            self._known[arrival.sock.fileno()] = arrival

    def _drop(self, arrival: Arrival) -> None:
        descriptor = arrival.sock.fileno()
        self._strangers.pop(descriptor, None)
        self._known.pop(descriptor, None)
        self._poller.remove(descriptor)
        hang_up(arrival.sock)

    def run_due(self) -> None:
        """Drop strangers whose time is over, and accept again after a rest."""
        if not self._strangers and self._rest_until is None:
            return
        now = currentTime()
        for arrival in list(self._strangers.values()):
            if arrival.used_at + STRANGER_S > now:
                break
            self._drop(arrival)
        if self._rest_until is not None and self._rest_until <= now:
            self._rest_until = None
            self._poller.add(self._sock.fileno(), READ, self._accept)

    def next_due(self) -> float | None:
        """When `run_due` has something to do, or None."""
        if not self._strangers:
            return self._rest_until
        times = [] if self._rest_until is None else [self._rest_until]
        oldest = next(iter(self._strangers.values()), None)
        if oldest is not None:
            times.append(oldest.used_at + STRANGER_S)
        return min(times, default=None)

    def descriptors(self) -> list[int]:
        """The descriptors in use."""
        return [self._sock.fileno(), *self._strangers, *self._known]

    def refuse(self) -> None:
        """Take nothing any more, and have whoever sends find nobody; to be closed all the same."""
        for arrival in [*self._strangers.values(), *self._known.values()]:
            self._drop(arrival)
        self._rest_until = None
        self._poller.remove(self._sock.fileno())
        hang_up(self._sock)

    def close(self) -> None:
        """Close the listening socket and all connections, for both sides."""
        for arrival in [*self._strangers.values(), *self._known.values()]:
            self._drop(arrival)
        self._poller.remove(self._sock.fileno())
        self._sock.close()
        self._take = _untaken

    def abandon(self) -> None:
        """Close this process' copies, leaving everything open in the process it is of."""
        for arrival in [*self._strangers.values(), *self._known.values()]:
            arrival.sock.close()
        self._strangers.clear()
        self._known.clear()
        self._sock.close()
        self._take = _untaken


def _untaken(body: bytearray) -> Answer:
    """Nothing arrives after the end, and whoever made us does not live on for us."""
    return Answer.UNREADABLE
