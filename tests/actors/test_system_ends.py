"""How a script learns that agents end, and has them end."""

from __future__ import annotations

import threading

import pytest

from gen_agent import (
    PENDING,
    AgentDown,
    AgentNotFound,
)
from gen_agent.actors.system import AgentSystem
from gen_agent.backends.scripted import Stage
from gen_agent.errors import CallTimeout, DrainTimeout
from gen_agent.messages import Down
from gen_agent.values import AgentAddress
from tests.actors.crew import ALL, BASES, Diary, held, kill, running, scripted, watched


@pytest.mark.parametrize("base", ALL)
def test_monitors_give_one_down_each(base: str) -> None:
    """C255: every monitor gets exactly one Down, after the agent's last completion."""
    with running(base) as agents:
        address = agents.start_agent(Diary, name="a", backend="echo")
        monitors = [agents.monitor("a"), agents.monitor(address)]
        ref = agents.tell_with_completion(address, "last")
        agents.drain("a", timeout=10)
        assert agents.receive(timeout=10).ref == ref
        downs = [agents.receive(timeout=10) for _ in monitors]
        assert [down.monitor for down in downs] == monitors
        assert {(down.name, down.reason, down.agent) for down in downs} == {("a", "normal", address)}
        assert agents.receive(timeout=0.1) is None


@pytest.mark.parametrize("base", ALL)
def test_monitoring_a_dead_address_answers_at_once(base: str) -> None:
    """C255: Down(noproc) for what is gone or was never there."""
    with running(base) as agents:
        address = agents.start_agent(Diary, name="a", backend="echo")
        agents.stop("a")
        monitor = agents.monitor(address)
        down = agents.receive(timeout=10)
        assert (down.monitor, down.reason, down.agent) == (monitor, "noproc", address)
        monitor = agents.monitor("never")
        down = agents.receive(timeout=10)
        assert (down.monitor, down.reason, down.name) == (monitor, "noproc", "never")


@pytest.mark.parametrize("base", ALL)
def test_no_down_after_demonitor(base: str) -> None:
    """A monitor that was taken back never answers; another one of the same agent does."""
    with running(base) as agents:
        agents.start_agent(Diary, name="a", backend="echo")
        taken_back, kept = agents.monitor("a"), agents.monitor("a")
        agents.demonitor(taken_back)
        agents.stop("a")
        down = agents.receive(timeout=10)
        assert isinstance(down, Down)
        assert down.monitor == kept
        assert agents.receive(timeout=0.1) is None


@pytest.mark.parametrize("base", BASES)
def test_a_call_ends_when_its_agent_is_killed(base: str) -> None:
    """C104: a blocking ask ends with AgentDown(killed) as soon as the agent's process is gone."""
    with Stage() as stage, running(base) as agents, agents.private() as other:
        address = agents.start_agent(Diary, name="a", **scripted(stage, held()))
        ref = other.tell(address, "held")
        stage.wait_blocked("held")
        assert other.poll(address, ref) is PENDING
        killer = threading.Thread(target=kill_once_asked, args=(other, address))
        killer.start()
        with pytest.raises(AgentDown) as caught:
            agents.ask("a", "queued", timeout=20)
        killer.join()
        assert caught.value.reason == "killed"
        with pytest.raises(AgentNotFound):
            agents.ask("a", "anybody?")


@pytest.mark.parametrize("base", BASES)
def test_completion_of_a_killed_agent_is_agent_down(base: str) -> None:
    """C115: no completion is invented; completion(ref) ends with AgentDown when the agent has died."""
    with Stage() as stage, running(base) as agents:
        address = agents.start_agent(Diary, name="a", **scripted(stage, held()))
        ref = agents.tell_with_completion(address, "held")
        stage.wait_blocked("held")
        monitor = agents.monitor(address)
        kill(address)
        with pytest.raises(AgentDown) as caught:
            agents.completion(ref, timeout=20)
        assert caught.value.reason == "killed"
        down = agents.receive(timeout=10)
        assert (down.monitor, down.reason) == (monitor, "killed")


@pytest.mark.parametrize("base", BASES)
def test_a_replacement_is_never_taken_for_the_old_one(base: str) -> None:
    """C211: an old address is down for ever, the name leads to the new agent."""
    with running(base) as agents:
        old = agents.start_agent(Diary, name="a", backend="echo")
        agents.notify("a", "old")
        kill(old)
        new = start_when_free(agents, "a")
        assert new != old
        agents.notify("a", "new")
        assert agents.status("a").agent_state == ("new",)
        with pytest.raises(AgentDown):
            agents.status(old)
        assert agents.notify(old, "lost") == "not_alive"
        assert agents.status(new).agent_state == ("new",)


@pytest.mark.parametrize("base", BASES)
def test_drain_waits_for_the_end(base: str) -> None:
    """C213: DrainTimeout while a turn is held, then None when the process has ended."""
    with Stage() as stage, running(base) as agents:
        address = agents.start_agent(Diary, name="a", **scripted(stage, held()))
        ref = agents.tell_with_completion(address, "held")
        stage.wait_blocked("held")
        with pytest.raises(DrainTimeout):
            agents.drain(address, timeout=0.3)
        assert agents.runtime_snapshot(address).draining
        stage.release("held")
        with watched(address) as process:
            agents.drain(address, timeout=20)
            assert process.ended
        assert agents.completion(ref, timeout=5).result().text == "done"
        with pytest.raises(AgentNotFound):
            agents.drain("a")


@pytest.mark.parametrize("base", BASES)
def test_a_drain_that_was_not_taken_is_a_call_timeout(base: str) -> None:
    """C213: an agent held in a callback does not take the drain: CallTimeout, not DrainTimeout."""
    with Stage() as stage, running(base) as agents:
        address = agents.start_agent(Diary, name="a", backend="echo")
        agents.notify(address, ("hold", stage.address, "callback"))
        stage.wait_blocked("callback")
        with pytest.raises(CallTimeout):
            agents.drain(address, timeout=0.3)
        with watched(address) as process:
            stage.release("callback")
            assert process.wait(20), "the drain that came too late for its caller was taken all the same"


def kill_once_asked(other: AgentSystem, address: AgentAddress) -> None:
    """Kill an agent as soon as an ask waits in it."""
    while not other.runtime_snapshot(address).pending_prompts:
        assert other.status(address).state == "processing"
    kill(address)


def start_when_free(agents: AgentSystem, name: str) -> AgentAddress:
    """Start an agent once the death of the last one under its name has been noticed."""
    monitor = agents.monitor(name)
    agents.receive(lambda message: isinstance(message, Down) and message.monitor == monitor, timeout=5)
    return agents.start_agent(Diary, name=name, backend="echo")
