"""The race of an interrupt against a turn that ends: whoever wins, there is one outcome, and it is the one
told.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from gen_agent import Interrupted
from gen_agent.actors.system import AgentSystem
from tests.faults.scene import PATIENCE_S, Scene, scene

STEP_S = 0.0005
LASTS_S = 0.005
"""How long a turn goes on after its gate, in seconds: neither side of the race has won before it begins."""


class Aim:
    """A delay that is moved towards the moment at which both ways are equally likely."""

    def __init__(self) -> None:
        self.delay_s = 0.0
        self.step_s = STEP_S

    def hit(self, interrupted: bool) -> None:
        """The interrupt came in time, or too late."""
        self.delay_s = max(0.0, self.delay_s + (self.step_s if interrupted else -self.step_s))


def race(there: Scene, number: int, delay_s: float) -> bool:
    """Let one turn go on, and interrupt it `delay_s` later; whether that came in time."""
    ref = there.agents.tell_with_completion(there.address, f"race{number} hold:here pause:{LASTS_S}")
    there.stage.wait_blocked("here")
    there.release()
    if delay_s:
        time.sleep(delay_s)
    told = there.agents.interrupt_request(there.address, ref, timeout=PATIENCE_S)
    outcome = there.agents.completion(ref, timeout=PATIENCE_S).outcome
    if told == "accepted":
        assert outcome == Interrupted()
        return True
    assert told == "idle"
    assert outcome.text == f"race{number}"
    return False


@pytest.mark.parametrize(
    ("runs", "least"), [(60, 10), pytest.param(200, 20, marks=pytest.mark.faults)], ids=["60", "200"]
)
def test_an_interrupt_and_the_end_of_a_turn(
    runs: int, least: int, agents: AgentSystem, tmp_path: Path
) -> None:
    """C121: in every run exactly one outcome, the one that interrupt_request told, each way often enough."""
    with scene(agents, tmp_path, None) as there:
        aim, ways = Aim(), []
        for number in range(runs):
            ways.append(race(there, number, aim.delay_s))
            aim.hit(ways[-1])
        print(
            f"{sum(ways)} of {runs} interrupts came in time; the race is won at {aim.delay_s * 1000:.1f} ms"
        )
        assert least <= sum(ways) <= runs - least
        there.end_alive()


def test_an_interrupt_of_the_last_turn_spares_the_next(agents: AgentSystem, tmp_path: Path) -> None:
    """C111, C120: an interrupt by the ref of a turn that has ended never hits the one that runs now."""
    with scene(agents, tmp_path, None) as there:
        for number in range(20):
            first = agents.tell_with_completion(there.address, f"first{number}")
            second = agents.tell_with_completion(there.address, f"second{number}")
            told = agents.interrupt_request(there.address, first, timeout=PATIENCE_S)
            outcome = agents.completion(first, timeout=PATIENCE_S).outcome
            assert (outcome == Interrupted()) == (told == "accepted")
            assert agents.completion(second, timeout=PATIENCE_S).result().text == f"second{number}"
        there.end_alive()
