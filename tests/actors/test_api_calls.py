"""What callers rely on: whose messages are whose, what is final, agents without a name. On a real system."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from gen_agent import Agent, AgentSystem, CallTimeout, PreTurnSkipped, Skip, child_spec
from gen_agent.backends.scripted import Stage, reply
from gen_agent.errors import AgentDown, AgentNotFound, Overloaded
from gen_agent.messages import Completion, Down, StopAgent
from gen_agent.values import AgentAddress
from tests.actors.crew import Customer, Diary, held, kill, running, scripted
from tests.bases import OWN


class Choosy(Diary):
    """Skips every prompt."""

    def pre_turn(self, prompt: str, state: Any) -> Any:
        """Skip it."""
        return Skip(state)


class Loner(Diary):
    """Notes what becomes of an attempt to stop itself."""

    def handle_event(self, event: Any, state: Any) -> Any:
        """Try it by its address."""
        try:
            self.context.client.stop(self.context.address)
        except Exception as error:
            return super().handle_event(type(error).__name__, state)
        return super().handle_event("sent", state)


@pytest.fixture
def agents() -> Iterator[AgentSystem]:
    """A system of ours."""
    with running(OWN) as system:
        yield system


def adopt(agents: AgentSystem, agent: type[Agent], **options: Any) -> tuple[Any, AgentAddress]:
    """An actor, and an agent it is the parent of."""
    system = agents.actor_system
    customer = system.createActor(Customer)
    work = ("do", "start_agent", (agent,), {"backend": "echo", "supervised": False, **options})
    told = [system.ask(customer, work, 20.0), system.listen(20.0)]
    ((_, started),) = [item for item in told if item[0] == "got"]
    return customer, started.result()


def test_a_refused_stream_leaves_nothing_behind(agents: AgentSystem) -> None:
    """C201: the admission that follows the completion of a skipped stream is the stream's to take."""
    agents.start_agent(Choosy, name="a", backend="echo")
    with pytest.raises(PreTurnSkipped):
        next(agents.stream("a", "no"))
    agents.status("a")
    assert agents.receive(timeout=0) is None


def test_a_stream_tells_the_target_it_was_given(agents: AgentSystem) -> None:
    """A stream by name ends in a CallTimeout or AgentDown that names the name, as an ask does."""
    with Stage() as stage:
        address = agents.start_agent(Diary, name="a", **scripted(stage, held("one"), held("two")))
        stream = agents.stream("a", "hello", timeout=0.05)
        with pytest.raises(CallTimeout) as late:
            next(stream)
        assert late.value.fields == {"target": "a", "timeout": 0.05}
        stage.release("one")
        stream = agents.stream("a", "again")
        stage.wait_blocked("two")
        kill(address)
        with pytest.raises(AgentDown) as down:
            next(stream)
        assert (down.value.target, down.value.reason) == ("a", "killed")


@pytest.mark.parametrize("method", ["tell_with_completion", "submit_with_completion"])
def test_ones_own_address_is_oneself(agents: AgentSystem, method: str) -> None:
    """C112, C195: naming this script's own address as the recipient is the same as naming nobody."""
    with Stage() as stage:
        address = agents.start_agent(Diary, name="a", **scripted(stage, held("one")))
        ref = getattr(agents, method)(address, "hello", agents.address)
        with pytest.raises(CallTimeout):
            agents.completion(ref, timeout=0.05)
        stage.release("one")
        completion = agents.completion(ref, timeout=20.0)
        assert isinstance(completion, Completion)
        assert completion.result().text == "done"


def test_a_refused_request_is_not_waited_for(agents: AgentSystem) -> None:
    """C151: a tell that is refused, or finds nobody, leaves nothing in the script that called."""
    with Stage() as stage:
        options = scripted(stage, held("one"))
        agents.start_agent(Diary, name="a", max_pending_prompts=0, **options)
        ref = agents.tell_with_completion("a", "hello")
        for name, error in (("a", Overloaded), ("b", AgentNotFound)):
            with pytest.raises(error):
                agents.tell_with_completion(name, "again")
        assert [*agents._pickup._open] == [ref]
        stage.release("one")
        assert agents.completion(ref, timeout=20.0).result().text == "done"
        assert [*agents._pickup._open] == []


def test_agents_without_a_name_are_not_listed(agents: AgentSystem) -> None:
    """C019: any number of agents may have no name; each answers at its address, none is in the list."""
    _, first = adopt(agents, Diary)
    _, second = adopt(agents, Diary)
    assert (first.name, second.name, first == second) == (None, None, False)
    assert [agents.ask(address, "hi").text for address in (first, second)] == ["echo: hi"] * 2
    assert agents.list() == []
    monitor = agents.monitor(first)
    kill(first)
    down = agents.receive(lambda message: isinstance(message, Down), timeout=20.0)
    assert (down.monitor, down.agent, down.name, down.reason) == (monitor, first, None, "killed")
    assert agents.status(second).name is None


def test_an_agent_without_a_name_does_not_stop_itself(agents: AgentSystem) -> None:
    """C128: stop of oneself is SelfStop by the address too, where there is no name."""
    customer, address = adopt(agents, Loner)
    agents.notify_ack(address, "stop")
    assert agents.status(address).agent_state == ("SelfStop",)
    agents.stop(address, customer, timeout=20.0)


def test_a_parents_agent_is_stopped_through_its_parent(agents: AgentSystem) -> None:
    """C127: an agent of another parent is not found by stop without that parent, and lives on."""
    customer, address = adopt(agents, Diary, name="a")
    for wrong in (None, address, agents.address):
        with pytest.raises(AgentNotFound):
            agents.stop("a", wrong)
    assert agents.whereis("a") == address
    agents.stop("a", customer, timeout=20.0)
    assert agents.whereis("a") is None


@pytest.mark.parametrize("way", ["drain", "stop", "envelope"])
def test_what_was_asked_to_end_stays_away(agents: AgentSystem, way: str) -> None:
    """C013: a permanent agent that was drained or stopped, in whatever way, is not started again."""
    address = agents.start_child(child_spec(Diary, name="a", backend="echo", restart="permanent"))
    if way == "envelope":
        assert agents.actor_system.ask(address.actor, StopAgent(), 20.0).result() is None
    else:
        getattr(agents, way)("a", timeout=20.0)
    # Where it was started again its name would be taken, also while it starts.
    assert agents.start_agent(Diary, name="a", backend="echo") != address


def test_a_spec_is_checked_in_the_caller(agents: AgentSystem) -> None:
    """Anything but a ChildSpec is a TypeError of start_child, in a script and in an actor."""
    with pytest.raises(TypeError, match="spec: a ChildSpec is needed, not str"):
        agents.start_child("a")  # type: ignore[arg-type]
    customer = agents.actor_system.createActor(Customer)
    assert agents.actor_system.ask(customer, ("do", "start_child", (3,), {}), 20.0) == ("done", "TypeError")


def test_completions_of_strangers_are_not_found(agents: AgentSystem) -> None:
    """A ref whose completion goes to somebody else, or has been given out, is RequestNotFound at once."""
    with Stage() as stage:
        agents.start_agent(Diary, name="a", **scripted(stage, reply("one"), reply("two")))
        with agents.private() as other:
            ref = agents.tell_with_completion("a", "hello", other.address)
            with pytest.raises(LookupError):
                agents.completion(ref)
            assert other.receive(timeout=20.0).ref == ref
        mine = agents.tell_with_completion("a", "hello")
        assert agents.completion(mine, timeout=20.0).ref == mine
        with pytest.raises(LookupError):
            agents.completion(mine)
