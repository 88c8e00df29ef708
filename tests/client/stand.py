"""An actor that is none."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

from thespian.actors import ActorAddress


class Stand:
    """What AgentClient needs of an actor: everything is kept, nothing happens."""

    def __init__(self) -> None:
        self.myAddress = ActorAddress("me")
        self.sent: list[tuple[Any, Any]] = []
        self.seen: list[Any] = []
        self.wakeups: list[tuple[float, Any]] = []
        self.raising = 0

    def send(self, address: Any, message: Any) -> None:
        """Keep it."""
        self.sent.append((address, message))

    def createActor(self, actor: Any, requirements: Any = None, globalName: str | None = None) -> Any:
        """An address by its name."""
        return ActorAddress(globalName or "child")

    def wakeupAfter(self, period: timedelta, payload: Any = None) -> None:
        """Keep it."""
        self.wakeups.append((period.total_seconds(), payload))

    def receiveMessage(self, message: Any, sender: Any) -> Any:
        """The actor's own: raises as often as it is told to."""
        if self.raising:
            self.raising -= 1
            raise ValueError
        self.seen.append(message)
        return ("watch", len(self.seen))

    def outbox(self, kind: type) -> list[Any]:
        """The messages of one class that were sent."""
        return [message for _, message in self.sent if isinstance(message, kind)]


class Placed(Stand):
    """The same, where there are processes: a supervisor can be lost and has to be greeted."""

    def __init__(self) -> None:
        super().__init__()
        self._myRef = SimpleNamespace(transport=self)
