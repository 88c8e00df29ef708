"""Deaths of what an agent stands on, with work in flight and queued: the supervisor, the admin, the logger,
the guardian.

Whatever dies, every waiting call ends, every monitor answers once, later calls fail at once instead of
hanging, and closing leaves nothing.
"""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gen_agent import AgentDown
from gen_agent.actors.processes import ProcessId, Watched, children, descendants
from gen_agent.actors.system import AgentSystem
from gen_agent.client.protocol import Hello
from tests.bases import OWN, STOCK
from tests.faults.cast import Witness, lines
from tests.faults.scene import PATIENCE_S, Scene, process_of, scene

ENOUGH_S = 10.0
"""How long a loaded machine may take for what takes 0.1 s."""


def supervisor(agents: AgentSystem) -> ProcessId:
    """The supervisor's process."""
    who = agents._ask_supervisor(Hello(), PATIENCE_S)
    return ProcessId(who.pid, who.start_time)


def admin(agents: AgentSystem) -> ProcessId:
    """The admin's process: the supervisor's parent."""
    return parent_of(supervisor(agents))


def guardian(agents: AgentSystem) -> ProcessId:
    """The guardian's process: the admin's parent."""
    return parent_of(admin(agents))


def logger(agents: AgentSystem) -> ProcessId:
    """The admin's oldest child, made before the supervisor."""
    return min(children(admin(agents).pid), key=lambda one: (one.start_time, one.pid))


def parent_of(process: ProcessId) -> ProcessId:
    """Who has forked a process."""
    with open(f"/proc/{process.pid}/stat") as file:
        return ProcessId.of(int(file.read().rpartition(")")[2].split()[1]))


@pytest.fixture
def own() -> Iterator[AgentSystem]:
    """A system of our own base, for one test."""
    with AgentSystem(OWN) as agents:
        yield agents


def everybody(agents: AgentSystem) -> list[Watched]:
    """All processes of a guarded system but its guardian, to be waited for."""
    return [Watched(one) for one in descendants(guardian(agents).pid)]


def all_down(there: Scene) -> None:
    """Every request ends with AgentDown, the monitor with one Down; nothing hangs afterwards."""
    reasons = set()
    for name, outcome in there.outcomes().items():
        assert isinstance(outcome, AgentDown), name
        reasons.add(outcome.reason)
    assert reasons <= {"registry_lost", "killed"}
    there.end_dead("registry_lost", system_lives=False)
    began = time.monotonic()
    with pytest.raises(AgentDown):
        there.agents.ask(there.address, "anybody?")
    assert time.monotonic() - began < ENOUGH_S


@pytest.mark.parametrize("victim", [admin, logger, guardian], ids=lambda victim: victim.__name__)
def test_a_guarded_system_goes_down_whole(
    victim: Callable[[AgentSystem], ProcessId], own: AgentSystem, tmp_path: Path
) -> None:
    """C014, C104: whichever vital process is killed, all of the system is gone and every waiting call has
    ended.
    """
    with scene(own, tmp_path) as there:
        target = victim(own)
        with contextlib.ExitStack() as stack:
            watched = [stack.enter_context(one) for one in everybody(own)]
            target.signal(signal.SIGKILL)
            all_down(there)
            alive = [one.identity for one in watched if not one.wait(ENOUGH_S)]
        assert alive == []


@pytest.mark.parametrize("base", [OWN, STOCK])
def test_agents_of_a_lost_supervisor_end_orderly(base: str, tmp_path: Path) -> None:
    """C014, C047: the system lives on, its agents end with registry_lost, and the next call finds another
    one.
    """
    mark = str(tmp_path / "mark")
    with (
        AgentSystem(base) as agents,
        scene(agents, tmp_path, mark=mark) as there,
        Watched(process_of(there.address)) as agent,
    ):
        supervisor(agents).signal(signal.SIGKILL)
        for outcome in there.outcomes().values():
            assert isinstance(outcome, AgentDown)
            assert outcome.reason == "registry_lost"
        there.end_dead("registry_lost")
        assert agent.wait(ENOUGH_S)
        assert lines(mark) == ["registry_lost"]
        again = agents.start_agent(Witness, name="victim", backend="echo", forward={})
        assert agents.ask(again, "hello", timeout=PATIENCE_S).text == "echo: hello"


def test_a_stopped_supervisor_holds_up_no_turn(own: AgentSystem, tmp_path: Path) -> None:
    """Agents, and who knows their addresses, need no supervisor: with it stopped, everything queued runs."""
    with scene(own, tmp_path) as there:
        process = supervisor(own)
        process.signal(signal.SIGSTOP)
        try:
            there.release()
            # The monitor of `completion` is the supervisor's to take: it takes it when it goes on.
            found = [own.receive(lambda m: hasattr(m, "outcome"), timeout=PATIENCE_S) for _ in range(3)]
            assert [one.outcome.text for one in found] == ["first", "second", "third"]
            assert there.asking.ended().text == "asked"
        finally:
            process.signal(signal.SIGCONT)
        there.end_alive()


def test_an_orderly_close_with_work_in_flight(tmp_path: Path) -> None:
    """Leaving the block while an agent is busy runs its last callback and leaves nothing."""
    mark = str(tmp_path / "mark")
    with AgentSystem(OWN) as agents, scene(agents, tmp_path, mark=mark) as there:
        agent = Watched(process_of(there.address))
    with agent:
        assert agent.ended
    assert lines(mark) == ["shutdown"]
