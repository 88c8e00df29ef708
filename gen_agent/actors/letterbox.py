"""The actor that stands for a client on a base without processes."""

from __future__ import annotations

from typing import Any

from thespian.actors import Actor, ActorSystemMessage


class LetterBox(Actor):
    """Collects what is sent to a client until that client looks."""

    def __init__(self) -> None:
        super().__init__()
        self.responses: list[Any] = []

    def receiveMessage(self, message: Any, sender: Any) -> None:
        """Keep a message; Thespian's own are of no interest."""
        if not isinstance(message, ActorSystemMessage):
            self.responses.append(message)
