"""Every way an agent can end, with work in flight and queued: one `Down` with the right reason, one outcome
or `AgentDown` per request, nothing run twice, and the name free again.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

from gen_agent import AgentDown, AgentTerminated, Draining, DrainTimeout, InitFailed, StartError
from gen_agent.actors.processes import Watched
from gen_agent.actors.system import AgentSystem
from gen_agent.messages import Down
from tests.faults.cast import NeverRuns, Unruly, Witness
from tests.faults.scene import ASKED, PATIENCE_S, Scene, kill, process_of, scene


def stop(scene: Scene) -> None:
    """An orderly stop."""
    scene.agents.stop("victim", timeout=PATIENCE_S)


def drain(scene: Scene) -> None:
    """A drain that lets the held turn end."""
    with pytest.raises(DrainTimeout):
        scene.agents.drain(scene.address, timeout=0.2)
    scene.release()


def kill_agent(scene: Scene) -> None:
    """As the kernel does when there is no memory left."""
    with Watched(scene.worker) as worker:
        kill(process_of(scene.address), signal.SIGKILL)
        assert worker.wait(PATIENCE_S)


def terminate_agent(scene: Scene) -> None:
    """A termination signal from outside."""
    kill(process_of(scene.address), signal.SIGTERM)


def freeze_and_stop(scene: Scene) -> None:
    """A stop of an agent that is stopped by a signal, and can't do anything orderly any more."""
    process_of(scene.address).signal(signal.SIGSTOP)
    stop(scene)


def release(scene: Scene) -> None:
    """Let the held turn end, and its callback do the rest."""
    scene.release()


@attrs.frozen
class End:
    """What is done to a busy agent, the reason it ends with, and what becomes of the requests."""

    name: str
    act: Callable[[Scene], None]
    reason: str
    first: Any = None
    queued: Any = None
    asked: Any = None
    agent: type = Witness
    options: dict[str, Any] = attrs.field(factory=dict)


ENDS = (
    End("stop", stop, "shutdown", asked=AgentTerminated("shutdown")),
    End("drain", drain, "normal", first="first", queued=Draining(), asked=Draining()),
    End("kill", kill_agent, "killed"),
    End("termination signal", terminate_agent, "shutdown", asked=AgentTerminated("shutdown")),
    End("frozen, then stopped", freeze_and_stop, "killed", options={"shutdown_s": 0.5}),
    End("callback raises", release, "callback_failed", agent=Unruly),
)


@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.name)
def test_an_end_is_told_once(end: End, agents: AgentSystem, tmp_path: Path) -> None:
    """C104, C109, C115: one Down with the reason; no completion is invented, a waiting ask ends."""
    with scene(agents, tmp_path, agent=end.agent, **end.options) as there:
        end.act(there)
        found = there.outcomes()
        for name, outcome in found.items():
            wanted = {"first": end.first, ASKED: end.asked}.get(name, end.queued)
            if wanted is None:
                assert isinstance(outcome, AgentDown), name
                assert outcome.reason == end.reason, name
            else:
                assert outcome == wanted, name
        there.end_dead(end.reason)
        assert agents.whereis("victim") is None
        again = agents.start_agent(Witness, name="victim", backend="echo", forward={})
        assert again != there.address
        assert agents.ask("victim", "hello", timeout=PATIENCE_S).text == "echo: hello"


FAILING_RUNS = {
    "pre_run_failed": StartError("no"),
    "pre_run_crashed": ValueError("secret"),
    "pre_run_invalid": None,
}


@pytest.mark.parametrize("reason", FAILING_RUNS)
def test_a_run_that_fails_is_told_once(reason: str, agents: AgentSystem, tmp_path: Path) -> None:
    """C025: what was sent before pre_run failed has no outcome; its submitter and every monitor get one
    Down.
    """
    with scene(
        agents, tmp_path, None, agent=NeverRuns, fails=FAILING_RUNS[reason], gate=stage_gate(tmp_path)
    ) as there:
        ref = agents.submit_with_completion(there.address, "first")
        open_gate(tmp_path)
        with pytest.raises(AgentDown) as caught:
            agents.completion(ref, timeout=PATIENCE_S)
        assert caught.value.reason == reason
        there.end_dead(reason)


def stage_gate(tmp_path: Path) -> FifoGate:
    """A gate that is open once somebody writes into it."""
    path = str(tmp_path / "gate")
    os.mkfifo(path)
    return FifoGate(path)


def open_gate(tmp_path: Path) -> None:
    """Let through who waits."""
    with open(tmp_path / "gate", "w") as pipe:
        pipe.write("go")


@attrs.frozen
class FifoGate:
    """Waits as a stage does, for tests whose stage is made together with the agent."""

    path: str

    def wait_at(self, tag: str, timeout_s: float) -> None:
        """Block until the pipe is opened and closed by another process."""
        with open(self.path) as pipe:
            pipe.read()


@pytest.mark.parametrize("times", range(3))
def test_a_monitor_of_the_dead_answers_at_once(times: int, agents: AgentSystem, tmp_path: Path) -> None:
    """C255: monitors made before, while and after an agent is killed get one Down each, the late ones
    noproc.
    """
    with scene(agents, tmp_path, None) as there:
        early = [agents.monitor("victim") for _ in range(3)]
        process_of(there.address).signal(signal.SIGKILL)
        late = [agents.monitor(there.address) for _ in range(20)]
        kinds = {ref: [] for ref in (there.monitor, *early, *late)}
        for _ in kinds:
            down = agents.receive(lambda message: isinstance(message, Down), timeout=PATIENCE_S)
            kinds[down.monitor].append(down.reason)
        assert all(kinds[ref] == ["killed"] for ref in (there.monitor, *early))
        assert all(kinds[ref] in (["killed"], ["noproc"]) for ref in late)
        assert there.rest() == []


def test_an_unfinished_start_has_no_monitor(agents: AgentSystem) -> None:
    """C018: a start that fails leaves the name free; a monitor of the name answers noproc at once."""
    with pytest.raises(InitFailed):
        agents.start_agent(NeverRuns, name="victim", backend="echo", forward={})
    monitor = agents.monitor("victim")
    down = agents.receive(timeout=PATIENCE_S)
    assert (down.monitor, down.reason) == (monitor, "noproc")
