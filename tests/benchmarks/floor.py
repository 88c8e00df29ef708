"""The floor: the smallest agent and worker one can write with Thespian, messages as tuples.

Client -> agent -> worker -> agent -> client. The agent queues what comes and gives its worker one at a time;
there is nothing else in it: no names, no supervision, no cancelling, no limits. This module must not import
gen_agent: what it is measured against must be Thespian as it comes.
"""

from __future__ import annotations

import os
import signal
import time
from collections import deque
from typing import Any

from thespian.actors import Actor, ChildActorExited


class Worker(Actor):
    """Answers `(kind, number, argument)` with `("done", number, answer)`."""

    def receiveMessage(self, message: Any, sender: Any) -> None:
        """Echo, say who this is, stream, or block."""
        if not isinstance(message, tuple):
            return
        kind, number, argument = message
        if kind == "ask":
            self.send(sender, ("done", number, f"echo: {argument}"))
        elif kind == "ready":
            self.send(sender, ("done", number, os.getpid()))
        elif kind == "stream":
            self._stream(sender, number, *argument)
        elif kind == "block":
            with open(argument, "wb") as started:
                started.write(b"!")
            time.sleep(600)

    def _stream(self, sender: Any, number: int, count: int, batch: int) -> None:
        for first in range(0, count, batch):
            events = [("text", {"text": f"{at} "}) for at in range(first, min(count, first + batch))]
            self.send(sender, ("events", number, events))
        self.send(sender, ("done", number, "end"))


class Agent(Actor):
    """Has one worker, and makes another when that was killed."""

    def __init__(self) -> None:
        super().__init__()
        self.worker: Any = None
        self.worker_pid: int | None = None
        self.waiting: deque[tuple[Any, Any]] = deque()
        self.active: tuple[Any, Any] | None = None

    def receiveMessage(self, message: Any, sender: Any) -> None:
        """Tell requests, the worker's answers and its death apart."""
        if isinstance(message, tuple):
            if sender == self.worker:
                self._from_worker(message)
            elif message[0] == "interrupt":
                self._interrupt()
            elif message[0] == "pids":
                self.send(sender, ("done", message[1], (os.getpid(), self.worker_pid)))
            else:
                self._queue(message, sender)
        elif isinstance(message, ChildActorExited) and message.childAddress == self.worker:
            self._lost()

    def _make_worker(self) -> None:
        self.worker, self.worker_pid = self.createActor(Worker), None
        self.send(self.worker, ("ready", "pid", None))

    def _from_worker(self, message: Any) -> None:
        if message[1] == "pid":
            self.worker_pid = message[2]
            return
        assert self.active is not None
        self.send(self.active[1], message)
        if message[0] == "done":
            self.active = None
            self._next()

    def _interrupt(self) -> None:
        if self.active is not None and self.worker_pid is not None:
            os.kill(self.worker_pid, signal.SIGKILL)

    def _lost(self) -> None:
        if self.active is not None:
            self.send(self.active[1], ("interrupted", self.active[0][1], None))
            self.active = None
        self._make_worker()
        self._next()

    def _queue(self, message: Any, sender: Any) -> None:
        if self.worker is None:
            self._make_worker()
        self.waiting.append((message, sender))
        self._next()

    def _next(self) -> None:
        if self.active is None and self.waiting:
            self.active = self.waiting.popleft()
            self.send(self.worker, self.active[0])


class Echo(Actor):
    """One actor alone: what a message of some size costs there and back."""

    def receiveMessage(self, message: Any, sender: Any) -> None:
        """Send it back."""
        if isinstance(message, tuple):
            self.send(sender, message)


class Listener(Actor):
    """Has an agent stream to it, counts, and tells its boss when the end has come."""

    def __init__(self) -> None:
        super().__init__()
        self.boss: Any = None
        self.count = 0

    def receiveMessage(self, message: Any, sender: Any) -> None:
        """`("listen", agent, order)` begins; events are counted; the end is reported."""
        if not isinstance(message, tuple):
            return
        if message[0] == "listen":
            self.boss, self.count = sender, 0
            self.send(message[1], message[2])
        elif message[0] == "events":
            self.count += len(message[2])
        elif message[0] == "done":
            self.send(self.boss, ("done", 0, self.count))
