"""Requests to plain addresses at which nobody is: no monitor tells of a death there, only the transport.

The law: only what the transport gives back is called unheard; of what was taken nothing is known here.
"""

from __future__ import annotations

from typing import Any

from gen_agent.errors import AgentDown
from gen_agent.values import AgentAddress, CallRef, RequestRef, mint


class Unheard:
    """The requests of one script that found nobody, with the addresses they were sent to."""

    def __init__(self) -> None:
        self._under_way: dict[CallRef, tuple[RequestRef, Any]] = {}
        self._nobody: dict[RequestRef, Any] = {}

    def ticket(self, ref: RequestRef, address: Any) -> CallRef | None:
        """The number under which that request is to be sent; None for an agent whose end a monitor tells."""
        if isinstance(address, AgentAddress):
            return None
        ticket = mint.call()
        self._under_way[ticket] = (ref, address)
        return ticket

    def arrived(self, ticket: CallRef) -> None:
        """Somebody has it."""
        self._under_way.pop(ticket, None)

    def returned(self, ticket: CallRef) -> bool:
        """Nobody is there; whether that is news of a request of ours."""
        found = self._under_way.pop(ticket, None)
        if found is not None:
            self._nobody[found[0]] = found[1]
        return found is not None

    def forget(self, ref: RequestRef) -> None:
        """Nobody asks for that request any more."""
        self._nobody.pop(ref, None)

    def raise_if(self, ref: RequestRef) -> None:
        """Raise `AgentDown` if that request found nobody."""
        if ref in self._nobody:
            raise AgentDown(self._nobody[ref], "noproc")
