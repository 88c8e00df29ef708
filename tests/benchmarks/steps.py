"""The machine's steps and the queue's length, without any process; the figures are those of `core`."""

from __future__ import annotations

from tests.benchmarks import core
from tests.benchmarks.measuring import Measure, Row, Scale, at_most, by_turns

TIMES = 1e9
"""Seconds to the unit of the table, nanoseconds."""


def steps(scale: Scale) -> list[Row]:
    """What a step costs in bare dispatches, and beside many queued prompts against few."""
    unit, turn = by_turns(scale.rounds, core.dispatch, core.turns)
    rows = [Row("step of a turn, in bare dispatches", "ns", TIMES * unit, TIMES * turn, at_most(40.0))]
    few = core.queued(core.LENGTHS[0])
    many = core.queued(core.LENGTHS[-1])
    for name, cost in few.items():
        title = f"step: {name}, in bare dispatches"
        rows.append(Row(title, "ns", TIMES * unit, TIMES * cost, at_most(40.0)))
    worst = max(few, key=lambda name: many[name] / few[name])
    title = f"step beside {core.LENGTHS[-1]:,} queued, worst: {worst}"
    rows.append(Row(title, "ns", TIMES * few[worst], TIMES * many[worst], at_most(1.2)))
    return rows


MEASURES: dict[str, Measure] = {"steps": steps}
