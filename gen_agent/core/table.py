"""The machine's table as text: what a reader sees is printed from what runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gen_agent.core.machine import TABLE, Rule
from gen_agent.core.model import State

_LETTERS = dict(zip(State, "SIPHDE", strict=True))


def render() -> str:
    """`TABLE` as reStructuredText: where each state leads, then a row per event and a column per state.

    A cell names the handler and, after an arrow, the letters of the states it may lead to where that isn't
    only its own; `-` means that nothing changes.
    """
    return f"{_states()}\n{_grid()}"


def transitions() -> frozenset[tuple[State, State]]:
    """Every change of state that some rule declares."""
    rules = ((state, rule) for state, row in TABLE.items() for rule in row.values())
    return frozenset((state, to) for state, rule in rules for to in rule.to if to is not state)


def _states() -> str:
    leads = transitions()
    lines = (
        f"* ``{state.name}`` -> {', '.join(to.name for to in State if (state, to) in leads) or 'nowhere'}"
        for state in State
    )
    return "\n".join(lines) + "\n"


def _grid() -> str:
    events = tuple(TABLE[State.STARTING])
    rows = [("event", *(f"{state.name} ({letter})" for state, letter in _LETTERS.items()))]
    rows += [(event.__name__, *(_cell(TABLE[state][event], state) for state in State)) for event in events]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rule = "  ".join("=" * width for width in widths)
    head, *body = (_line(row, widths) for row in rows)
    return "\n".join((rule, head, rule, *body, rule)) + "\n"


def _cell(rule: Rule, state: State) -> str:
    name = rule.handler.__name__
    if name == "ignore":
        return "\\-"
    return name if rule.to == (state,) else f"{name} → {_letters(rule.to)}"


def _letters(states: Iterable[State]) -> str:
    return " ".join(_LETTERS[state] for state in states)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()


if __name__ == "__main__":
    print(render(), end="")
