"""Nothing leaks: after a warm-up, what is repeated leaves descriptors and children equal and memory flat."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import attrs
import pytest

from gen_agent import Interrupted
from gen_agent.actors.processes import ProcessId, descendants
from gen_agent.actors.system import AgentSystem
from tests.faults.cast import Faulty, Forgetful
from tests.faults.measures import Growth, Plan, growth
from tests.faults.scene import PATIENCE_S, Scene, process_of, scene

MOST_BYTES = 1024
"""How much memory a cycle may cost a process, in bytes."""


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


def monitored(there: Scene) -> Callable[[int], None]:
    """A monitor made and taken back."""
    return lambda number: there.agents.demonitor(there.agents.monitor(there.address))


@attrs.frozen
class Repeated:
    """What is done again and again, and how often."""

    what: Callable[[Scene], Callable[[int], None]]
    short: tuple[int, int]
    long: tuple[int, int]


REPEATED = (
    Repeated(turn, (10, 50), (50, 1_000)),
    Repeated(interrupt, (5, 20), (50, 500)),
    Repeated(start_and_stop, (5, 10), (50, 500)),
    Repeated(private_client, (5, 30), (50, 2_000)),
    Repeated(private_recipient, (5, 10), (50, 500)),
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
        return found


@pytest.mark.parametrize("repeated", REPEATED, ids=lambda one: one.what.__name__)
def test_what_is_repeated_leaves_nothing(repeated: Repeated, agents: AgentSystem, tmp_path: Path) -> None:
    """C157: a few times, descriptors and children of every process of the system are what they were."""
    found = measured(agents, tmp_path, repeated, *repeated.short)
    assert (found.descriptors, found.children) == (0, 0)


@pytest.mark.faults
@pytest.mark.timeout(600)
@pytest.mark.parametrize("repeated", REPEATED, ids=lambda one: one.what.__name__)
def test_what_is_repeated_for_long_costs_no_memory(
    repeated: Repeated, agents: AgentSystem, tmp_path: Path
) -> None:
    """C157, C159: after a warm-up no process of the system grows by 1 KiB a cycle."""
    found = measured(agents, tmp_path, repeated, *repeated.long)
    assert (found.descriptors, found.children) == (0, 0)
    assert found.most_per_process < MOST_BYTES
