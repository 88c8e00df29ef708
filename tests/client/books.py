"""A call book that shows what it would send, two agents of one name, and what they deliver."""

from __future__ import annotations

from typing import Any

from gen_agent import Event
from gen_agent.client.callbook import CallBook
from gen_agent.client.protocol import Lookup
from gen_agent.messages import (
    Down,
    EventMessage,
    Reply,
)
from gen_agent.values import AgentAddress, Incarnation, mint

OLD = AgentAddress("a", Incarnation("nowhere", 1, 1, "old"), "old actor")
NEW = AgentAddress("a", Incarnation("nowhere", 2, 2, "new"), "new actor")
REF = mint.request()


class Book(CallBook):
    """A book whose agents are alive unless said otherwise, and that shows what it would send."""

    def __init__(self, **keywords: Any) -> None:
        self.dead: set[AgentAddress] = set()
        self.watching: list[AgentAddress] = []
        super().__init__(None, lambda who: who not in self.dead, self.watching.append, **keywords)

    def sent(self) -> list[tuple[Any, Any]]:
        """What is to be sent now; it is taken out."""
        items = list(self.outgoing)
        self.outgoing.clear()
        return items

    def found(self, address: AgentAddress | None) -> None:
        """Answer the one look-up that is under way."""
        (question,) = [item for _, item in self.sent() if isinstance(item, Lookup)]
        assert self.replied(Reply(question.call, address))

    def ended(self) -> list[Any]:
        """The values and errors of the calls settled since."""
        settled = [one.reply.error or one.reply.value for one in self.settled]
        self.settled.clear()
        return settled


def event(number: int, who: AgentAddress = OLD) -> EventMessage:
    """The delivery of that number."""
    return EventMessage("a", REF, 1, Event.text(str(number)), incarnation=who.incarnation, delivery=number)


def down(last: int | None, reason: str = "normal") -> Down:
    """The end of the old agent."""
    return Down(mint.monitor(), OLD, "a", reason, incarnation=OLD.incarnation, delivery=last)
