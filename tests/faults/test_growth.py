"""Nothing leaks: after a warm-up, what is repeated leaves descriptors and children equal and memory flat."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import attrs
import pytest

from gen_agent import Interrupted
from gen_agent.actors.base import GenAgentBase
from gen_agent.actors.processes import ProcessId, descendants
from gen_agent.actors.system import AgentSystem
from tests.bases import OWN, STOCK
from tests.faults.cast import Faulty, Forgetful
from tests.faults.measures import Growth, Plan, growth
from tests.faults.scene import PATIENCE_S, Scene, kill, process_of, scene

ROOT = Path(__file__).resolve().parent.parent.parent
MOST_BYTES = 1024
"""How much memory a cycle may cost all processes of a system together, in bytes."""
FILLING = 2 * MOST_BYTES
"""The same where agents come and go: bounded tables of what has ended fill up in four processes."""


def turn(there: Scene) -> Callable[[int], None]:
    """One prompt."""
    return lambda number: _turn(there, number)


def _turn(there: Scene, number: int) -> None:
    assert there.agents.ask(there.address, f"turn{number} text:a", timeout=PATIENCE_S).text == f"turn{number}"


def interrupt(there: Scene) -> Callable[[int], None]:
    """One turn that is killed, with its worker."""

    def cycle(number: int) -> None:
        ref = there.agents.tell_with_completion(there.address, f"turn{number} hold:here")
        there.stage.wait_blocked("here")
        assert there.agents.interrupt_request(there.address, ref, timeout=PATIENCE_S) == "accepted"
        assert there.agents.completion(ref, timeout=PATIENCE_S).outcome == Interrupted()
        there.stage.wait_gone("here")

    return cycle


def start_and_stop(there: Scene) -> Callable[[int], None]:
    """One agent's life."""

    def cycle(number: int) -> None:
        forward = {"stage": there.stage.address, "journal": there.journal}
        there.agents.start_agent(Forgetful, name="other", backend=Faulty, forward=forward)
        ref = there.agents.tell_with_completion("other", f"other{number}")
        there.agents.completion(ref, timeout=PATIENCE_S)
        there.agents.stop("other", timeout=PATIENCE_S)

    return cycle


def private_client(there: Scene) -> Callable[[int], None]:
    """One client that asks once, has one completion, and is gone."""

    def cycle(number: int) -> None:
        with there.agents.private() as client:
            assert client.ask(there.address, f"ask{number}", timeout=PATIENCE_S).text == f"ask{number}"

    return cycle


def private_recipient(there: Scene) -> Callable[[int], None]:
    """One client that is a recipient, and so has a mailbox."""

    def cycle(number: int) -> None:
        with there.agents.private() as client:
            ref = client.tell_with_completion(there.address, f"tell{number}")
            assert client.completion(ref, timeout=PATIENCE_S).result().text == f"tell{number}"

    return cycle


ONE_SHOT = """
import sys
from thespian.actors import ActorSystem
from gen_agent.actors.system import AgentSystem
base, port, prompt = sys.argv[1], int(sys.argv[2]), sys.argv[3]
if base == "genAgentTCPBase":
    joined = AgentSystem.attach(port)
else:
    joined = AgentSystem(ActorSystem(base, {"Admin Port": port}))
with joined as agents:
    ref = agents.tell_with_completion("victim", prompt)
    assert agents.completion(ref, timeout=30).result().text == prompt
    assert agents.ask("victim", "again", timeout=30).text == "again"
"""


def one_shot_script(there: Scene) -> Callable[[int], None]:
    """A process that attaches, asks, has a completion, and is gone."""
    ours = isinstance(there.agents._opened.system._systemBase, GenAgentBase)
    base = OWN if ours else STOCK
    command = [sys.executable, "-c", ONE_SHOT, base, str(there.agents.admin_port)]

    def cycle(number: int) -> None:
        subprocess.run([*command, f"script{number}"], cwd=ROOT, check=True)

    return cycle


def own_agent(there: Scene) -> Callable[[int], None]:
    """One agent's life under a name that never was before."""

    def cycle(number: int) -> None:
        name = f"agent{number}"
        forward = {"stage": there.stage.address, "journal": there.journal}
        there.agents.start_agent(Forgetful, name=name, backend=Faulty, forward=forward)
        assert there.agents.ask(name, f"own{number}", timeout=PATIENCE_S).text == f"own{number}"
        kill(process_of(there.agents.whereis(name)), signal.SIGKILL)
        there.until(lambda: there.agents.whereis(name) is None)

    return cycle


def monitored(there: Scene) -> Callable[[int], None]:
    """A monitor made and taken back."""
    return lambda number: there.agents.demonitor(there.agents.monitor(there.address))


@attrs.frozen
class Repeated:
    """What is done again and again, and how often, the times before it counts first; whether that is often
    enough for what a process takes once to weigh less than what a cycle costs, and what that may be.
    """

    what: Callable[[Scene], Callable[[int], None]]
    short: tuple[int, int]
    long: tuple[int, int]
    settles: bool = True
    most: int = MOST_BYTES


REPEATED = (
    Repeated(turn, (10, 50), (50, 1_000)),
    Repeated(interrupt, (5, 10), (70, 500)),
    Repeated(start_and_stop, (3, 5), (50, 500), most=FILLING),
    Repeated(own_agent, (3, 5), (50, 500), most=FILLING),
    Repeated(private_client, (5, 30), (70, 10_000)),
    Repeated(private_recipient, (5, 10), (70, 1_000)),
    Repeated(one_shot_script, (1, 1), (20, 50), settles=False),
    Repeated(monitored, (5, 30), (50, 2_000)),
)


def measured(agents: AgentSystem, tmp_path: Path, repeated: Repeated, warm_up: int, cycles: int) -> Growth:
    """Repeat it in a scene, with an eye on every process of the system that stays."""
    # A table that is bounded shows no leak once it is full.
    with scene(agents, tmp_path, None, agent=Forgetful, max_tell_results=10) as there:
        agent = process_of(there.address)
        below = (ProcessId.of(os.getpid()), *descendants(os.getpid()))
        staying = tuple(one for one in below if one not in descendants(agent.pid) or one == agent)
        plan = Plan(repeated.what(there), warm_up, cycles, staying, lambda: there.stay(0.05))
        found = growth(plan)
        print(f"{repeated.what.__name__}: {found}")
        if found.descriptors > 0:
            # Two processes that had nothing to say to each other before are connected from then on: once.
            found = growth(attrs.evolve(plan, warm_up=0, first=warm_up + cycles))
            print(f"and again: {found}")
        return found


@pytest.mark.parametrize("repeated", REPEATED, ids=lambda one: one.what.__name__)
def test_what_is_repeated_leaves_nothing(repeated: Repeated, agents: AgentSystem, tmp_path: Path) -> None:
    """C157: a few times, no process of the system has more descriptors or children than before."""
    found = measured(agents, tmp_path, repeated, *repeated.short)
    assert found.descriptors <= 0
    assert found.children <= 0


@pytest.mark.faults
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("repeated", REPEATED, ids=lambda one: one.what.__name__)
def test_what_is_repeated_for_long_costs_no_memory(
    repeated: Repeated, agents: AgentSystem, tmp_path: Path
) -> None:
    """C157, C159: after a warm-up all processes of the system together grow by less than 1 KiB a cycle, 2 KiB
    while their tables of what has ended fill; no cycle leaves an object in the tables of this one.
    """
    found = measured(agents, tmp_path, repeated, *repeated.long)
    assert found.descriptors <= 0
    assert found.children <= 0
    assert found.objects < found.cycles
    assert not repeated.settles or found.bytes_per_cycle < repeated.most
