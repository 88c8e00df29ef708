"""The supervisor with real agents: deaths, stops, restarts, starts that are given up, and its own end."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import attrs
import pytest

from gen_agent import AgentDown, AgentNotFound, CallTimeout, child_spec
from gen_agent.actors.processes import ProcessId, Watched, descendants
from gen_agent.actors.system import AgentSystem
from gen_agent.backends.scripted import Stage
from gen_agent.client.protocol import Hello
from gen_agent.client.targets import TO_SUPERVISOR
from gen_agent.envelopes import Call
from gen_agent.errors import UnknownRequest
from gen_agent.messages import Down
from tests.actors.crew import BASES, Diary, Fragile, held, kill, running, scripted, watched


def supervisor_of(agents: AgentSystem) -> ProcessId:
    """The supervisor's process."""
    who = agents._ask_supervisor(Hello())
    return ProcessId(who.pid, who.start_time)


def next_down(agents: AgentSystem, timeout: float = 20) -> Down:
    """The next Down, whatever else came."""
    down = agents.receive(lambda message: isinstance(message, Down), timeout=timeout)
    assert down is not None
    return down


def await_file(path: Path, agents: AgentSystem) -> str:
    """The content of a file that an agent is about to write."""
    for _ in range(2000):
        if path.exists():
            return path.read_text()
        agents.receive(lambda _: False, timeout=0.01)
    raise AssertionError(f"{path} was not written")


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class Riddle(Call):
    """A call nobody knows."""


@pytest.mark.parametrize("base", BASES)
def test_a_kill_is_told_as_killed(base: str) -> None:
    """C255: SIGKILL of an agent is Down(killed) for its monitors, its worker and tools are gone, the name is
    free."""
    with Stage() as stage, running(base) as agents:
        address = agents.start_agent(Diary, name="a", **scripted(stage, held()))
        agents.tell(address, "held")
        worker = ProcessId.of(stage.wait_blocked("held"))
        monitor = agents.monitor("a")
        kill(address)
        down = next_down(agents)
        assert (down.monitor, down.reason, down.detail) == (monitor, "killed", ())
        assert agents.whereis("a") is None
        try:
            with Watched(worker) as dying:
                assert dying.wait(5.0)
        except ProcessLookupError:
            assert not worker.alive()


@pytest.mark.parametrize("base", BASES)
def test_a_failed_callback_is_told_with_its_class(base: str) -> None:
    """C255: Down(callback_failed) names kind and exception class."""
    with running(base) as agents:
        address = agents.start_agent(Fragile, name="a", backend="echo")
        agents.monitor(address)
        with pytest.raises(AgentDown) as caught:
            agents.ask(address, "hello")
        assert caught.value.reason == "callback_failed"
        down = next_down(agents)
        assert down.reason == "callback_failed"
        assert "ValueError" in down.detail


@pytest.mark.parametrize("base", BASES)
def test_stop_waits_for_the_process(base: str, tmp_path: Path) -> None:
    """C127, C129: stop returns when the process has ended, after the termination callback."""
    mark = tmp_path / "mark"
    with running(base) as agents:
        address = agents.start_agent(Diary, name="a", backend="echo", mark=str(mark))
        with watched(address) as process:
            agents.stop("a", timeout=20)
            assert process.ended
        assert mark.read_text() == "shutdown"


@pytest.mark.parametrize("base", BASES)
def test_stop_kills_what_takes_too_long(base: str, tmp_path: Path) -> None:
    """C129: a callback that outlasts shutdown_s is killed without cleanup; the Down says so."""
    mark = tmp_path / "mark"
    with Stage() as stage, running(base) as agents:
        address = agents.start_agent(Diary, name="a", backend="echo", mark=str(mark), shutdown_s=0.05)
        agents.monitor(address)
        agents.notify(address, ("hold", stage.address, "callback"))
        stage.wait_blocked("callback")
        agents.stop("a", timeout=20)
        assert next_down(agents).reason == "killed"
        assert not mark.exists()


@pytest.mark.parametrize("base", BASES)
def test_stop_waits_for_a_callback_in_progress(base: str, tmp_path: Path) -> None:
    """C129: a callback that ends within shutdown_s is waited for, and the cleanup runs."""
    mark = tmp_path / "mark"
    with Stage() as stage, running(base) as agents:
        address = agents.start_agent(Diary, name="a", backend="echo", mark=str(mark), shutdown_s=20)
        agents.notify(address, ("hold", stage.address, "callback"))
        stage.wait_blocked("callback")
        with pytest.raises(CallTimeout):
            agents.stop("a", timeout=0.2)
        stage.release("callback")
        agents.monitor(address)
        assert next_down(agents).reason in ("shutdown", "noproc")
        assert mark.read_text() == "shutdown"


@pytest.mark.parametrize("base", BASES)
def test_the_wrong_supervisor_does_not_stop(base: str) -> None:
    """C127: stop with another parent's address is AgentNotFound, and the agent lives on."""
    with running(base) as agents:
        address = agents.start_agent(Diary, name="a", backend="echo")
        with pytest.raises(AgentNotFound):
            agents.stop("a", agents.address)
        assert agents.status(address).state == "idle"


@pytest.mark.parametrize("base", BASES)
def test_a_start_that_takes_too_long_is_undone(base: str, tmp_path: Path) -> None:
    """Before CallTimeout is raised the agent's process is gone and its name is free."""
    hanging = tmp_path / "pid"
    with running(base) as agents:
        with pytest.raises(CallTimeout) as caught:
            agents.start_agent(Diary, name="a", backend="echo", hang=str(hanging), timeout=4.0)
        assert (caught.value.target, caught.value.timeout) == ("a", 4.0)
        assert hanging.exists(), "the start had not got far enough to be of interest"
        assert not os.path.exists(f"/proc/{hanging.read_text()}")
        assert agents.start_agent(Diary, name="a", backend="echo").name == "a"


@pytest.mark.parametrize("base", BASES)
def test_an_unknown_call_is_answered(base: str) -> None:
    """C076: a call the supervisor does not know is UnknownRequest, not silence."""
    with running(base) as agents, pytest.raises(UnknownRequest):
        agents._line.call(TO_SUPERVISOR, Riddle(), 10.0)


@pytest.mark.parametrize("base", BASES)
def test_permanent_agents_come_back(base: str) -> None:
    """C013: a permanent agent is started anew, with fresh state, under another incarnation; a stop is
    final."""
    with running(base) as agents:
        first = agents.start_child(child_spec(Diary, name="a", backend="echo", restart="permanent"))
        agents.notify(first, "old")
        agents.monitor(first)
        kill(first)
        assert next_down(agents).reason == "killed"
        second = _await_name(agents, "a")
        assert second != first
        assert agents.status(second).agent_state == ()
        agents.stop("a", timeout=20)
        assert agents.whereis("a") is None


@pytest.mark.parametrize("base", BASES)
def test_transient_agents_stay_away_after_an_orderly_end(base: str) -> None:
    """C013: a transient agent comes back after a kill, not after a drain."""
    with running(base) as agents:
        first = agents.start_child(child_spec(Diary, name="a", backend="echo", restart="transient"))
        agents.monitor(first)
        kill(first)
        assert next_down(agents).reason == "killed"
        second = _await_name(agents, "a")
        agents.drain(second, timeout=20)
        assert agents.whereis("a") is None


def test_restarts_are_limited() -> None:
    """C013: after three restarts in five seconds the name is free."""
    with running("genAgentTCPBase") as agents:
        address = agents.start_child(child_spec(Fragile, name="a", backend="echo", restart="permanent"))
        seen = {address}
        while address is not None:
            monitor = agents.monitor(address)
            kill(address)
            agents.receive(lambda message: message.monitor == monitor, timeout=20)  # noqa: B023
            address = _await_name(agents, "a", patience=300)
            seen.add(address)
        assert len(seen - {None}) == 4


def test_closing_leaves_nothing() -> None:
    """Leaving the block ends every process of the system, held workers included."""
    with Stage() as stage:
        with running("genAgentTCPBase") as agents:
            for number in range(3):
                address = agents.start_agent(Diary, name=number, **scripted(stage, held(f"held {number}")))
                agents.tell(address, "held")
                stage.wait_blocked(f"held {number}")
        assert [process for process in descendants(os.getpid()) if process.alive()] == []


def _await_name(agents: AgentSystem, name: Any, patience: int = 2000) -> Any:
    """The address under `name` once somebody has it; None if nobody gets it."""
    for _ in range(patience):
        address = agents.whereis(name)
        if address is not None:
            return address
        agents.receive(lambda _: False, timeout=0.01)
    return None
