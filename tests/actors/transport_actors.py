"""Actors that put a transport to the test."""

from __future__ import annotations

import os
import time
from datetime import timedelta
from typing import Any

from thespian.actors import (
    Actor,
    ActorAddress,
    ChildActorExited,
    PoisonMessage,
    ThespianWatch,
    WakeupMessage,
    WatchMessage,
)


class Pacer(Actor):
    """Sends numbers to a peer in paces and in bursts, and remembers the numbers it got, in order."""

    def __init__(self) -> None:
        self.sent = 0
        self.seen: list[int] = []
        self.poisoned: list[str] = []
        self.waiting: tuple[ActorAddress, int] | None = None

    def receiveMessage(self, message: Any, sender: ActorAddress) -> None:
        """Do what a message says."""
        match message:
            case WakeupMessage():
                self.pace()
            case PoisonMessage():
                self.poisoned.append(type(message.poisonMessage).__name__)
            case ("number", number):
                self.take(number)
            case ("pace", peer, count, period_s, paces):
                self.peer, self.count, self.period_s, self.paces = peer, count, period_s, paces
                self.wakeupAfter(timedelta(seconds=period_s))
            case ("burst", peer, count):
                for number in range(count):
                    self.send(peer, ("number", number))
                self.send(sender, "sent")
            case ("when", count):
                self.waiting = (sender, count)
                self.report()
            case "poisoned":
                self.send(sender, tuple(self.poisoned))
            case "pid":
                self.send(sender, os.getpid())

    def pace(self) -> None:
        """Send one pace to the peer."""
        for _ in range(self.count):
            self.send(self.peer, ("number", self.sent))
            self.sent += 1
        self.paces -= 1
        if self.paces:
            self.wakeupAfter(timedelta(seconds=self.period_s))

    def take(self, number: int) -> None:
        """Remember a number."""
        self.seen.append(number)
        self.report()

    def report(self) -> None:
        """Answer who asked to be told when enough numbers have come."""
        if self.waiting is not None and len(self.seen) >= self.waiting[1]:
            self.send(self.waiting[0], tuple(self.seen))
            self.waiting, self.seen = None, []


class Mirror(Actor):
    """Sends back what it gets."""

    def receiveMessage(self, message: Any, sender: ActorAddress) -> None:
        """Send it back; "pid" gives the process."""
        self.send(sender, os.getpid() if message == "pid" else message)


class Clock(Actor):
    """Asks for wakeups and tells what became of them."""

    def __init__(self) -> None:
        self.woken: list[int] = []
        self.left = 0
        self.asker: ActorAddress | None = None

    def receiveMessage(self, message: Any, sender: ActorAddress) -> None:
        """Do what a message says."""
        match message:
            case WakeupMessage(payload="link"):
                self.link()
            case WakeupMessage():
                self.woken.append(message.payload)
                if len(self.woken) == self.left:
                    self.send(self.asker, tuple(self.woken))
            case ("all", count, after_s):
                self.asker, self.left = sender, count
                for number in range(count):
                    self.wakeupAfter(timedelta(seconds=after_s), number)
            case ("pending", count, after_s):
                begun = time.process_time()
                for number in range(count):
                    self.wakeupAfter(timedelta(seconds=after_s - number / count), number)
                self.send(sender, time.process_time() - begun)
            case ("chain", count, after_s):
                self.asker, self.left, self.after_s = sender, count, after_s
                self.link()
            case "pid":
                self.send(sender, os.getpid())

    def link(self) -> None:
        """The next of a chain of wakeups."""
        if self.left == 0:
            self.send(self.asker, "chained")
            return
        self.left -= 1
        self.wakeupAfter(timedelta(seconds=self.after_s), "link")


class Lookout(Actor):
    """Watches a pipe, and beside it what can't be watched."""

    def __init__(self) -> None:
        self.read, self.write = os.pipe()
        self.others = (os.open(__file__, os.O_RDONLY), -1, 9999, self.read, "nonsense")

    def receiveMessage(self, message: Any, sender: ActorAddress) -> ThespianWatch:
        """Answer "ring" by way of the pipe, and "pid" directly."""
        if isinstance(message, WatchMessage):
            self.send(self.asker, (message.ready == [self.read], os.read(self.read, 10)))
        elif message == "ring":
            self.asker = sender
            os.write(self.write, b"rung")
        elif message == "pid":
            self.send(sender, os.getpid())
        return ThespianWatch([self.read, *self.others])


class Keeper(Actor):
    """A parent: makes children and tells of their ends."""

    def __init__(self) -> None:
        self.asker: ActorAddress | None = None
        self.ended: list[str] = []

    def receiveMessage(self, message: Any, sender: ActorAddress) -> None:
        """Do what a message says."""
        match message:
            case ChildActorExited():
                self.ended.append(str(message.childAddress))
                if self.asker is not None:
                    self.send(self.asker, "ended")
                    self.asker = None
            case "child":
                self.asker = sender
                self.send(self.createActor(Pacer), "pid")
            case int():
                self.send(self.asker, message)
                self.asker = None
            case "end":
                self.asker = sender
                if self.ended:
                    self.send(sender, "ended")
            case "pid":
                self.send(sender, os.getpid())
