"""What a call's answer stands for is in the script's mailbox when the call returns."""

from __future__ import annotations

from gen_agent.actors.system import AgentSystem
from gen_agent.messages import Completion
from tests.contract.troupe import Troupe, told


def test_a_completion_is_there_when_the_cancel_is_answered(troupe: Troupe, house: AgentSystem) -> None:
    """C120, C123, C245: a new client, to whom the agent has never sent anything, finds it without waiting."""
    agent = troupe.start()
    troupe.agents.halt(agent)
    for _ in range(12):
        with house.private() as client:
            ref = client.tell_with_completion(agent, "waits")
            assert client.cancel_request(agent, ref) == "cancelled"
            completion = client.receive(timeout=0)
            assert isinstance(completion, Completion)
            assert told(completion) == "cancelled"
            assert client.receive(timeout=0) is None
