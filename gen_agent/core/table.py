"""The machine's table as text: what a reader sees is printed from what runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gen_agent.core.machine import TABLE, Rule
from gen_agent.core.model import State


def rst_table() -> str:
    """`TABLE` as a reStructuredText grid: an event a row, a state a column.

    A cell names the handler and, after an arrow, the states it may lead to where that isn't only its own; `-`
    means that nothing changes.
    """
    events = tuple(TABLE[State.STARTING])
    rows = [("event", *(state.name for state in State))]
    rows += [(event.__name__, *(_cell(TABLE[state][event], state) for state in State)) for event in events]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rule = "  ".join("=" * width for width in widths)
    head, *body = (_line(row, widths) for row in rows)
    return "\n".join((rule, head, rule, *body, rule)) + "\n"


def transitions() -> frozenset[tuple[State, State]]:
    """Every change of state that some rule declares."""
    return frozenset(
        (state, to)
        for state, row in TABLE.items()
        for rule in row.values()
        for to in rule.to
        if to is not state
    )


def rst_states() -> str:
    """The states as a reStructuredText list, each with the states it may lead to."""
    leads = transitions()
    return "".join(
        f"* ``{state.name}`` -> {_names(to for to in State if (state, to) in leads)}\n" for state in State
    )


def _cell(rule: Rule, state: State) -> str:
    name = rule.handler.__name__
    if name == "ignore":
        return "-"
    return name if rule.to == (state,) else f"{name} -> {_names(rule.to)}"


def _names(states: Iterable[State]) -> str:
    return ", ".join(state.name for state in states) or "nowhere"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()
