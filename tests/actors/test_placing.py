"""Agents with requirements: started where these are met, and refused with them where nobody does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from gen_agent import InitFailed
from gen_agent.actors.system import AgentSystem
from gen_agent.client.placing import Placing
from gen_agent.messages import Reply, StartAgent
from tests.actors.crew import ALL, Customer, Diary, running

GPU = {"gpu": True}
AGENT: dict[str, Any] = {"backend": "echo", "requirements": GPU, "timeout": 20.0}
NOBODY = InitFailed("requirements", "no system that answers has gpu=True")


@pytest.fixture(params=ALL)
def agents(request: pytest.FixtureRequest) -> Iterator[AgentSystem]:
    """A system by itself that has no such thing."""
    with running(request.param) as agents:
        yield agents


def started(agents: AgentSystem, **options: Any) -> Reply:
    """What an actor with a client gets when it starts such an agent."""
    system = agents.actor_system
    customer = system.createActor(Customer)
    kind, call = system.ask(customer, ("do", "start_agent", (Diary,), {**AGENT, **options}), 20)
    assert kind == "done"
    while True:
        kind, found = system.listen(20)
        assert kind == "got"
        if isinstance(found, Reply):
            assert found.call == call
            return found


def test_a_system_says_what_it_does_not_meet(agents: AgentSystem) -> None:
    """C001, C254: a start that no system can serve is InitFailed and names why; the name is free."""
    with pytest.raises(InitFailed) as raised:
        agents.start_agent(Diary, name="a", **AGENT)
    assert raised.value == NOBODY
    assert agents.list() == []


@pytest.mark.parametrize("supervised", [True, False])
def test_a_client_says_what_is_not_met(supervised: bool, agents: AgentSystem) -> None:
    """C001, C254: so is one by an actor, under the supervisor and as its own child, long before its time is
    over.
    """
    assert started(agents, name="a", supervised=supervised).error == NOBODY
    assert agents.list() == []


@pytest.mark.parametrize("base", ALL)
def test_what_is_met_is_started(base: str) -> None:
    """C001: a system that has what is required serves all of these starts."""
    with running(base, capabilities=GPU) as agents:
        agents.start_agent(Diary, name="a", **AGENT)
        assert started(agents, name="b").result().name == "b"
        own = started(agents, name="c", supervised=False).result()
        assert sorted(agents.list()) == ["a", "b", "c"]
        assert agents.ask(own, "x").text == "echo: x"


def test_only_a_start_of_ones_own_is_answered() -> None:
    """What comes back of somebody else's message, or of a start without requirements, is left alone."""
    placing = Placing()
    own, free, strange = (
        StartAgent(Diary, name="a", backend="echo", options=options)
        for options in ({"requirements": GPU}, {}, {"requirements": GPU})
    )
    placing.begin("child", own)
    placing.begin("other", free)
    replies = [placing.unplaced(_Returned(start)) for start in (own, free, strange)]
    assert [reply and reply.error for reply in replies] == [NOBODY, None, None]
    ends = [placing.ended(_Ended(child)) for child in ("child", "other", "third")]
    assert [reply and reply.call for reply in ends] == [own.call, None, None]


class _Returned:
    """A message that came back."""

    def __init__(self, message: Any) -> None:
        self.poisonMessage = message


class _Ended:
    """The end of a child."""

    def __init__(self, child: Any) -> None:
        self.childAddress = child
