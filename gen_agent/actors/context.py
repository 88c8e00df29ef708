"""What a callback reaches through `self.context`: its agent's name and address, other actors, a client, a
timer.

Whatever it sends leaves in order with what the agent itself sends. This module knows nothing of turns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thespian.actors import Actor

from gen_agent.client.targets import actor_of, checked_address, checked_timeout
from gen_agent.values import AgentAddress, Name


class AgentContext:
    """The context of one agent; usable in its callbacks only."""

    def __init__(self, actor: Actor, address: AgentAddress, wake: Callable[[float, object], None]) -> None:
        self._actor, self._address, self._wake = actor, address, wake
        self._client: Any = None

    @property
    def name(self) -> Name:
        """The agent's name."""
        name: Name = self._address.name
        return name

    @property
    def address(self) -> AgentAddress:
        """The agent's address, for others."""
        return self._address

    @property
    def client(self) -> Any:
        """An `AgentClient` of this agent, made when first needed; its replies arrive in `handle_info`."""
        if self._client is None:
            from gen_agent.client.agent_client import AgentClient

            self._client = AgentClient(self._actor)
        return self._client

    def send(self, address: Any, message: object) -> None:
        """Send an ordinary actor message; raises `TypeError` for what is no address."""
        self._actor.send(actor_of(checked_address(address)), message)

    def create_actor(self, cls: type) -> Any:
        """Create a child actor of this agent and return its address; it ends with the agent."""
        return self._actor.createActor(cls)

    def wakeup_after(self, seconds: float, payload: object = None) -> None:
        """Have `payload` delivered to `handle_info` after `seconds`; raises `TypeError` or `ValueError`."""
        checked = checked_timeout(seconds)
        if checked is None:
            raise ValueError("seconds: a finite number of seconds >= 0 is allowed")
        self._wake(checked, payload)
