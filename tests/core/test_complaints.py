"""What users of such systems complain about, tried where time costs nothing: turns that last for days,
the clock that measures them, and thousands of clients that have gone.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import gen_agent
from gen_agent.core.directory import Monitors, Watch
from gen_agent.errors import WatchdogTimeout
from gen_agent.events import Event
from gen_agent.testing.simulation import Hang, Pause, Simulation, reply
from gen_agent.values import mint
from tests.core.simulated_agents import Listener
from tests.core.test_directory import address

DAY_S = 86_400.0
PACKAGE = Path(gen_agent.__file__).parent
TELLS_THE_TIME = {"telemetry.py", "otel/bridge.py", "actors/base.py", "actors/system_files.py"}
"""Who may read the time of day: to tell it, to name a system's start, to know how old a file is."""


def starts(sim: Simulation) -> int:
    """How many turns were given to a worker."""
    return sum("StartTurn" in line for line in sim.trace)


@pytest.mark.parametrize("watchdog_s", [None, 10 * DAY_S])
def test_a_turn_of_a_week_runs_once(watchdog_s: float | None) -> None:
    """C112, C182: no time limit of the machine's own starts a turn a second time, or lets go of it."""
    sim = Simulation(Listener, ((Pause(7 * DAY_S), Event.result("at last")),), watchdog_s=watchdog_s)
    ref = sim.ask("take your time")
    sim.settle(6 * DAY_S)
    assert sim.outcome(ref) is None
    assert sim.settle()
    assert sim.outcome(ref).text == "at last"
    assert starts(sim) == 1


def test_the_default_watchdog_ends_what_never_answers() -> None:
    """C004, C183: without any option a backend that never answers is given up after ten minutes, and the
    agent goes on."""
    sim = Simulation(Listener, (Hang(), reply("fine")))
    hanging, after = sim.ask("anybody?"), sim.ask("and now?")
    sim.settle(599.0)
    assert sim.outcome(hanging) is None
    assert sim.settle()
    assert sim.outcome(hanging) == WatchdogTimeout(600.0)
    assert sim.outcome(after).text == "fine"


def test_a_watchdog_is_not_put_off_by_halts_and_resumes() -> None:
    """C081, C182: a turn's time goes on whatever is asked of its agent meanwhile."""
    sim = Simulation(Listener, (Hang(),), watchdog_s=100.0)
    hanging = sim.ask("anybody?")
    for _ in range(9):
        sim.settle(10.0)
        sim.halt()
        sim.resume()
        sim.notify("still there?")
    assert sim.outcome(hanging) is None
    sim.settle(11.0)
    assert sim.outcome(hanging) == WatchdogTimeout(100.0)


def test_hundreds_of_watchdogs_wear_nothing_out() -> None:
    """C138, C183: after 300 turns that were ended by their watchdog, the next hundred are answered."""
    sim = Simulation(Listener, (*[Hang()] * 300, *[reply("fine")] * 100), watchdog_s=5.0)
    outcomes = []
    for _ in range(400):
        ref = sim.ask("anybody?")
        assert sim.settle()
        outcomes.append(sim.outcome(ref))
    assert set(outcomes[:300]) == {WatchdogTimeout(5.0)}
    assert [outcome.text for outcome in outcomes[300:]] == ["fine"] * 100


def test_no_limit_is_measured_by_the_time_of_day() -> None:
    """C182: a clock that is set, forwards or back, moves no deadline: what waits reads the monotonic
    clock."""
    readers = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and node.attr in ("time", "time_ns", "now", "utcnow", "today"):
                owner = node.value.id if isinstance(node.value, ast.Name) else ""
                if owner in ("time", "datetime", "date"):
                    readers.add(str(path.relative_to(PACKAGE)))
    assert readers
    assert readers <= TELLS_THE_TIME


def test_monitors_of_those_who_are_gone_do_not_pile_up() -> None:
    """C255: a client that died without a word costs the supervisor no entry for ever; one that lives keeps
    its own."""
    watched = address(1)
    monitors = Monitors(lambda recipient: recipient != "alive")
    kept = Watch(mint.monitor(), "alive", watched)
    monitors.add(kept)
    for number in range(10_000):
        monitors.add(Watch(mint.monitor(), f"dead {number}", watched))
    assert len(monitors) < 200
    assert monitors.take(watched.incarnation)[0] == kept
