"""Deaths while something is being made: an agent, its first worker, a worker's successor."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gen_agent import (
    AgentNotFound,
    AgentTerminated,
    GenAgentError,
    Interrupted,
    WorkerCrashed,
    WorkerUnavailable,
    child_spec,
)
from gen_agent.actors.processes import ProcessId, Watched, children
from gen_agent.actors.system import AgentSystem
from gen_agent.backends.stage import Stage
from tests.faults.cast import Faulty, Witness
from tests.faults.scene import ASKED, PATIENCE_S, QUEUED, Scene, kill, process_of, scene


class Starting(threading.Thread):
    """A start in a thread with a client of its own, held while its backend is built."""

    def __init__(
        self, agents: AgentSystem, tmp_path: Path, stage: Stage, mark: str | None = None
    ) -> None:
        super().__init__()
        flag = tmp_path / "slow"
        flag.touch()
        forward = {"stage": stage.address, "journal": str(tmp_path / "journal"), "start": str(flag)}
        self._agents, self._forward, self._mark = agents, forward, mark
        self.outcome: Any = None
        self.start()
        self.worker = ProcessId.of(stage.wait_blocked("building", PATIENCE_S))
        flag.unlink()

    def run(self) -> None:
        with self._agents.private() as client:
            try:
                self.outcome = client.start_agent(
                    Witness,
                    name="victim",
                    backend=Faulty,
                    forward=self._forward,
                    mark=self._mark,
                    timeout=PATIENCE_S,
                )
            except GenAgentError as error:
                self.outcome = error

    def ended(self) -> Any:
        """Wait for the end."""
        self.join(2 * PATIENCE_S)
        return self.outcome


@pytest.fixture
def stage() -> Iterator[Stage]:
    with Stage() as stage:
        yield stage


def agent_above(worker: ProcessId) -> ProcessId:
    """The agent that has forked a worker."""
    with open(f"/proc/{worker.pid}/stat") as file:
        return ProcessId.of(int(file.read().rpartition(")")[2].split()[1]))


def works(agents: AgentSystem, stage: Stage, tmp_path: Path) -> None:
    """The name is free, and the next start serves."""
    with pytest.raises(AgentNotFound):
        agents.status("victim", timeout=PATIENCE_S)
    forward = {"stage": stage.address, "journal": str(tmp_path / "journal")}
    agents.start_agent(Witness, name="victim", backend=Faulty, forward=forward)
    assert agents.ask("victim", "hello", timeout=PATIENCE_S).text == "hello"
    agents.stop("victim", timeout=PATIENCE_S)


@pytest.mark.parametrize("who", ["worker", "agent"])
def test_a_death_during_a_start_is_the_starts_error(
    who: str, agents: AgentSystem, stage: Stage, tmp_path: Path
) -> None:
    """C017: the start fails at once, its processes are gone and its name is free."""
    starting = Starting(agents, tmp_path, stage)
    victim = starting.worker if who == "worker" else agent_above(starting.worker)
    with Watched(starting.worker) as worker:
        kill(victim, signal.SIGKILL)
        assert isinstance(starting.ended(), GenAgentError)
        assert worker.wait(PATIENCE_S)
    works(agents, stage, tmp_path)


def replaced(there: Scene, tmp_path: Path) -> ProcessId:
    """Have the worker die, and its successor held while its backend is built; return the successor."""
    (tmp_path / "slow").touch()
    kill(there.worker, signal.SIGKILL)
    successor = ProcessId.of(there.stage.wait_blocked("building", PATIENCE_S))
    (tmp_path / "slow").unlink()
    return successor


def test_a_death_while_being_replaced_costs_one_more_turn(agents: AgentSystem, tmp_path: Path) -> None:
    """C137: the turn that waited for the successor is WorkerUnavailable; those behind it run in the next
    one.
    """
    with scene(agents, tmp_path, forward={"start": str(tmp_path / "slow")}) as there:
        kill(replaced(there, tmp_path), signal.SIGKILL)
        outcomes = there.outcomes()
        assert outcomes["first"].code == "task_crashed"
        assert outcomes["second"] == WorkerUnavailable("SIGKILL")
        assert (outcomes["third"], outcomes[ASKED]) == ("third", ASKED)
        there.end_alive()


def test_a_turn_that_waits_for_a_worker_can_be_interrupted(agents: AgentSystem, tmp_path: Path) -> None:
    """C119, C120: the successor being made goes as well, and the rest runs in another."""
    with scene(agents, tmp_path, forward={"start": str(tmp_path / "slow")}) as there:
        successor = replaced(there, tmp_path)
        told = agents.interrupt_request(there.address, there.refs["second"], timeout=PATIENCE_S)
        assert (told, successor.alive()) == ("accepted", False)
        outcomes = there.outcomes()
        assert outcomes["second"] == Interrupted()
        assert (outcomes["third"], outcomes[ASKED]) == ("third", ASKED)
        there.end_alive()


def test_an_agent_stops_while_its_worker_is_being_replaced(agents: AgentSystem, tmp_path: Path) -> None:
    """C071: a stop does not wait for a worker that is being made."""
    with scene(agents, tmp_path, forward={"start": str(tmp_path / "slow")}) as there:
        with Watched(replaced(there, tmp_path)) as successor:
            agents.stop("victim", timeout=PATIENCE_S)
            assert successor.ended
        outcomes = there.outcomes()
        assert outcomes.pop("first").code == "task_crashed"
        assert outcomes.pop(ASKED) == AgentTerminated("shutdown")
        assert {outcome.reason for outcome in outcomes.values()} == {"shutdown"}
        there.end_dead("shutdown")


def test_an_agent_stopped_as_it_comes_back_stays_away(
    agents: AgentSystem, stage: Stage, tmp_path: Path
) -> None:
    """C013: a stop ends a restart that is under way; the name is free, and nobody comes back to it."""
    flag = tmp_path / "slow"
    forward = {"stage": stage.address, "journal": str(tmp_path / "journal"), "start": str(flag)}
    spec = child_spec(Witness, name="victim", backend=Faulty, forward=forward, restart="permanent")
    address = agents.start_child(spec)
    flag.touch()
    kill(process_of(address), signal.SIGKILL)
    with Watched(ProcessId.of(stage.wait_blocked("building", PATIENCE_S))) as worker:
        flag.unlink()
        agents.stop("victim", timeout=PATIENCE_S)
        assert worker.wait(PATIENCE_S)
    works(agents, stage, tmp_path)


def test_a_start_under_way_when_a_system_is_closed_ends_orderly(stage: Stage, tmp_path: Path) -> None:
    """C047: an agent that comes up while its system ends runs its last callback, as all others do."""
    marks = [tmp_path / "first", tmp_path / "late"]
    with AgentSystem() as agents:
        agents.start_agent(Witness, name="first", backend="echo", forward={}, mark=str(marks[0]))
        starting = Starting(agents, tmp_path, stage, mark=str(marks[1]))
        releasing = threading.Thread(target=_release_after, args=(marks[0], stage))
        releasing.start()
    releasing.join()
    starting.ended()
    assert [mark.read_text() for mark in marks] == ["shutdown\n", "shutdown\n"]


def _release_after(mark: Path, stage: Stage) -> None:
    while not mark.exists():
        time.sleep(0.01)
    stage.release("building")


def test_a_worker_killed_idle_costs_nothing(agents: AgentSystem, tmp_path: Path) -> None:
    """A worker that is dead when a prompt comes is replaced for it, whichever news the agent hears first:
    every turn runs, once, and the session goes on.
    """
    with scene(agents, tmp_path, None) as there:
        agent = process_of(there.address)
        agents.ask(there.address, "before", timeout=PATIENCE_S)
        for number in range(10):
            (worker,) = children(agent.pid)
            agent.signal(signal.SIGSTOP)
            kill(worker, signal.SIGKILL)
            ref = agents.submit_with_completion(there.address, f"turn{number}")
            agent.signal(signal.SIGCONT)
            response = agents.completion(ref, timeout=PATIENCE_S).result()
            assert response.terminal.data["turns"] == number + 2
            assert agents.receive(timeout=PATIENCE_S).ref == ref
        there.end_alive()


def test_a_worker_killed_as_a_prompt_comes(agents: AgentSystem, tmp_path: Path) -> None:
    """C037: when the kill and the prompt race, the turn runs, or ends as crashed; it never runs twice."""
    with scene(agents, tmp_path, None) as there:
        for number in range(20):
            agents.ask(there.address, f"before{number}", timeout=PATIENCE_S)
            (worker,) = children(there.address.incarnation.pid)
            with Watched(worker) as watched:
                ref = agents.tell_with_completion(there.address, f"turn{number}")
                watched.signal(signal.SIGKILL)
                outcome = agents.completion(ref, timeout=PATIENCE_S).outcome
                assert watched.wait(PATIENCE_S)
            assert outcome == WorkerCrashed("SIGKILL") or outcome.text == f"turn{number}"
        there.end_alive()


def test_a_dead_callers_ask_is_dropped_and_others_are_not(agents: AgentSystem, tmp_path: Path) -> None:
    """C107, C108: the thread that asks lives in this process, so its timed out ask still runs, once."""
    with scene(agents, tmp_path) as there, agents.private() as impatient:
        with pytest.raises(GenAgentError, match="call_timeout"):
            impatient.ask(there.address, "late", timeout=0.1)
        there.release()
        assert there.outcomes() == {name: name for name in ("first", *QUEUED)}
        there.end_alive()
