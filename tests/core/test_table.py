"""The table itself: total, honest about where it leads, and printed from what runs."""

from __future__ import annotations

from typing import get_args

import attrs
import pytest

from gen_agent.core import machine, signals, table
from gen_agent.core.machine import TABLE, Rule, UndeclaredTransition
from gen_agent.core.model import State
from tests.core.rig import Rig


def test_every_state_answers_every_event() -> None:
    """C051-C077: the table is total: six states, and a rule for each kind of event in each of them."""
    assert set(TABLE) == set(State)
    for row in TABLE.values():
        assert set(row) == set(get_args(signals.Event))


def test_every_rule_leads_somewhere_known() -> None:
    """C051-C077: next states are declared as states, and STOPPED is never left."""
    rules = [(state, rule) for state, row in TABLE.items() for rule in row.values()]
    assert all(rule.to and set(rule.to) <= set(State) for _, rule in rules)
    assert all(rule.to == (State.STOPPED,) for state, rule in rules if state is State.STOPPED)


def test_only_declared_transitions_happen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A handler that goes where its rule doesn't lead is a defect, and gives no effects out."""
    rule = TABLE[State.IDLE][signals.Asked]
    narrow = {**TABLE[State.IDLE], signals.Asked: attrs.evolve(rule, to=(State.IDLE,))}
    monkeypatch.setitem(machine.TABLE, State.IDLE, narrow)
    rig = Rig()
    with pytest.raises(UndeclaredTransition, match="Asked in IDLE led to PROCESSING"):
        rig.ask()
    assert rig.started() == []


def test_a_step_that_raised_ends_the_agent() -> None:
    """C255: a defect in a step ends the agent as callback_failed, by class name, and lets its session be
    closed.
    """
    rig = Rig()
    rig.feed(signals.Crashed("KeyError"))
    (leave,) = rig.all(signals.Exit)
    assert (leave.reason, leave.detail) == ("callback_failed", ("error", "KeyError"))
    assert rig.called("terminate_agent") == [("callback_failed", ())]
    assert rig.machine.terminated


def test_a_step_that_raises_while_the_agent_ends_still_ends_it() -> None:
    """C255: a second defect skips what is left of the end, once."""
    rig = Rig()
    rig.machine.step(signals.StopAsked(), 1.0)
    assert [type(effect) for effect in rig.machine.step(signals.Crashed("KeyError"), 2.0)] == [signals.Quit]
    assert rig.machine.step(signals.Crashed("KeyError"), 3.0) == ()
    assert rig.machine.step(signals.Closing(), 4.0) == ()


def test_the_printed_table_is_the_table() -> None:
    """The grid has a line for each event, and names handlers and the letters of their next states."""
    grid = table.render().split("\n\n", 1)[1].splitlines()
    assert len(grid) == len(get_args(signals.Event)) + 4
    (asked,) = (line for line in grid if line.startswith("Asked"))
    cells = [cell.strip() for cell in asked.split("  ") if cell.strip()]
    assert cells == ["Asked", "later", "start → I P H", "queue", "queue_halted", "refuse", "\\-"]


def test_the_printed_states_are_the_declared_ones() -> None:
    """What the states lead to is the union of what the rules declare."""
    lines = table.render().splitlines()
    assert "* ``DRAINING`` -> STOPPED" in lines
    assert "* ``STOPPED`` -> nowhere" in lines
    assert (State.PROCESSING, State.DRAINING) in table.transitions()
    assert (State.DRAINING, State.IDLE) not in table.transitions()


def test_a_rule_is_a_handler_and_states() -> None:
    """A bare handler in the table stays in its state."""
    assert TABLE[State.HALTED][signals.StatusAsked] == Rule(machine.tell_status, (State.HALTED,))
