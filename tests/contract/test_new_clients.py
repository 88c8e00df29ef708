"""What a call's answer stands for comes to a client that the agent has never sent anything."""

from __future__ import annotations

from gen_agent.actors.system import AgentSystem
from gen_agent.messages import Completion
from tests.contract.troupe import PATIENCE_S, Troupe, told


def test_a_completion_comes_when_the_cancel_is_answered(troupe: Troupe, house: AgentSystem) -> None:
    """C120, C123, C245: the completion was sent before the answer, and comes to a new client, once."""
    agent = troupe.start()
    troupe.agents.halt(agent)
    for _ in range(12):
        with house.private() as client:
            ref = client.tell_with_completion(agent, "waits")
            assert client.cancel_request(agent, ref) == "cancelled"
            completion = client.receive(timeout=PATIENCE_S)
            assert isinstance(completion, Completion)
            assert told(completion) == "cancelled"
            assert client.receive(timeout=0) is None
