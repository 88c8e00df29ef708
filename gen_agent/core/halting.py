"""Entering HALTED: what a halt fails, and what it announces (C044, C045, C085)."""

from __future__ import annotations

from gen_agent.core import report
from gen_agent.core.callbacks import announce
from gen_agent.core.delivery import left, settle
from gen_agent.core.model import Model, State
from gen_agent.errors import Halted


def fail_waiting(m: Model) -> None:
    """Fail what was to fail on a halt, a waiting retry first; their room is free for what follows."""
    if m.slot is not None and m.slot.request.fails_on_halt:
        request, m.slot = m.slot.request, None
        settle(m, request, Halted())
    for ref in m.prompts.failing():
        settle(m, left(m, m.prompts.remove(ref)), Halted())


def announce_halt(m: Model) -> None:
    """The halt is complete: `post_run`, then telemetry, both with the last state (C045)."""
    announce(m, "post_run")
    report.halted(m)


def enter_halted(m: Model) -> None:
    """Halt an idle agent."""
    m.state = State.HALTED
    fail_waiting(m)
    announce_halt(m)
