"""An outbox and the peers of its lanes, without any actor."""

from __future__ import annotations

import select
import socket
from collections.abc import Callable
from typing import Any

from gen_agent.actors.frames import Answer, FrameReader, Seal
from gen_agent.actors.lanes import Result
from gen_agent.actors.outbox import Outbox
from gen_agent.actors.poller import Poller
from gen_agent.actors.sockets import Key, listener

SEAL = Seal(bytes(32))


class Intent:
    """What a lane needs to know of a message to send."""

    def __init__(self, number: int, size: int = 8) -> None:
        self.number = number
        self.old = False
        self.serMsg = SEAL.frame(number.to_bytes(size, "big"))

    def expired(self) -> bool:
        """Whether it has waited for longer than Thespian allows."""
        return self.old


class Peer:
    """The other side of a lane, answering when told to."""

    def __init__(self) -> None:
        self.sock = listener("127.0.0.1", 0)
        self.sock.setblocking(True)
        self.sock.settimeout(5)
        self.key: Key = self.sock.getsockname()
        self.got: list[int] = []

    def accept(self) -> socket.socket:
        """Take the next connection."""
        connection, _ = self.sock.accept()
        connection.settimeout(5)
        return connection

    def called(self) -> bool:
        """Whether a connection is there to be accepted."""
        return bool(select.select([self.sock], [], [], 0)[0])

    def take(self, connection: socket.socket, answer: Answer | None = Answer.TAKEN) -> None:
        """Read one frame, and answer it unless `answer` is None."""
        frame = FrameReader(SEAL).read(connection)
        assert frame is not None
        self.got.append(int.from_bytes(frame[0], "big"))
        if answer is not None:
            connection.sendall(SEAL.answer(answer, frame[1]))


class Scene:
    """An outbox and what it reports."""

    def __init__(self, max_count: int = 10_000, max_bytes: int = 1 << 20) -> None:
        self.poller = Poller()
        self.results: list[tuple[int, Result]] = []
        self.outbox = Outbox(self.poller, SEAL, self._done, max_count=max_count, max_bytes=max_bytes)

    def _done(self, intent: Intent, result: Result) -> None:
        self.results.append((intent.number, result))

    def send(self, key: Key, *numbers: int) -> list[Intent]:
        """Submit these numbers."""
        intents = [Intent(number) for number in numbers]
        for intent in intents:
            self.outbox.submit(key, intent)
        return intents

    def run(self, until: Callable[[], Any]) -> None:
        """Run the loop until something is so; every wait ends with an event or a known time."""
        for _ in range(10_000):
            if until():
                return
            self.poller.dispatch(self.poller.wait(0.02 if self.outbox.next_due() else 1.0))
            self.outbox.run_due()
        raise AssertionError("it never came to be")
