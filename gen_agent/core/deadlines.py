"""The deadlines of a turn: set, renewed, forgotten (C072, C182). Seconds; the shell knows the clock."""

from __future__ import annotations

from gen_agent.core.model import Model
from gen_agent.core.requests import Turn
from gen_agent.core.signals import ClearDeadline, Deadline, SetDeadline


def limit_turn(m: Model, turn: Turn) -> None:
    """The watchdog counts from here: from entering PROCESSING, anew for each attempt (C138, C182)."""
    if m.options.watchdog_s is not None:
        m.out.append(SetDeadline(Deadline("watchdog", turn.tag.turn), m.options.watchdog_s))


def await_event(m: Model, turn: Turn) -> None:
    """The idle watchdog counts from here: a worker has the prompt, or an event came."""
    if m.options.idle_watchdog_s is not None:
        m.out.append(SetDeadline(Deadline("idle", turn.tag.turn), m.options.idle_watchdog_s))


def clear_deadlines(m: Model, turn: Turn) -> None:
    """The turn is over."""
    if m.options.watchdog_s is not None:
        m.out.append(ClearDeadline(Deadline("watchdog", turn.tag.turn)))
    if m.options.idle_watchdog_s is not None:
        m.out.append(ClearDeadline(Deadline("idle", turn.tag.turn)))
