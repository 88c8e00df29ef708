"""Deliveries are for exactly one incarnation: an agent drops what was meant for another at its address."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import pytest

from gen_agent import Agent, NoReply
from gen_agent.client.targets import TO_SUPERVISOR
from gen_agent.messages import Completion, Down, Monitor
from gen_agent.values import AgentAddress
from tests.actors.crew import ALL, Diary, running


class Listener(Agent):
    """Keeps what is delivered to it."""

    def init_agent(self, options: Mapping[str, Any]) -> tuple[Mapping[str, Any], Any]:
        """Nothing yet."""
        return {}, ()

    def handle_response(self, ref: Any, response: Any, state: Any) -> Any:
        """Keep the state."""
        return NoReply(state)

    def handle_info(self, message: Any, sender: Any, state: Any) -> Any:
        """Note what it was."""
        if isinstance(message, Completion):
            return NoReply((*state, message.result().text))
        return NoReply((*state, message.reason if isinstance(message, Down) else type(message).__name__))


def earlier(address: AgentAddress) -> AgentAddress:
    """Another agent that had the same name and the same port before."""
    return attrs.evolve(address, incarnation=attrs.evolve(address.incarnation, nonce="earlier"))


@pytest.mark.parametrize("base", ALL)
def test_a_delivery_to_an_earlier_agent_at_the_same_port_is_dropped(base: str) -> None:
    """C211: admissions, events, completions, Downs for another incarnation never reach the one there is."""
    with running(base) as agents:
        source = agents.start_agent(Diary, name="source", backend="echo")
        here = agents.start_agent(Listener, name="here", backend="echo")
        gone = earlier(here)
        agents.submit_with_completion(source, "lost", gone, stream_to=gone)
        agents.tell_with_completion(source, "kept", here)
        agents._line.call(TO_SUPERVISOR, Monitor(source, recipient=gone), 20.0)
        agents._line.call(TO_SUPERVISOR, Monitor(source, recipient=here), 20.0)
        agents.drain(source, timeout=20)
        for _ in range(1000):
            seen = agents.status(here).agent_state
            if len(seen) >= 2:
                break
        assert seen == ("echo: kept", "normal")
