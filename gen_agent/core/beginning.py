"""From nothing to idle, and what waits meanwhile (C016, C024, C025, C249)."""

from __future__ import annotations

from gen_agent.core import report
from gen_agent.core.callbacks import transform
from gen_agent.core.exits import stop
from gen_agent.core.model import Model, State
from gen_agent.core.signals import AnswerStart, Booted, Event, RunBegan


def booted(m: Model, event: Booted) -> None:
    """`init_agent` and `start_session` have succeeded: the starter gets its answer."""
    m.agent_state = event.state
    m.streams = event.streams
    m.keep_session(event.session)
    report.phase(m, None, "idle")
    m.out.append(AnswerStart())


def run_began(m: Model, event: RunBegan) -> None:
    """Run `pre_run`; then everything that has waited is handled in order."""
    failure = transform(m, "pre_run")
    if failure is None:
        m.state = State.IDLE
    elif failure.refused is not None:
        # The reason is the user's own text, and what monitors see holds none of that (C220).
        stop(m, "pre_run_failed", (failure.name,))
    elif failure.kind == "bad_return":
        stop(m, "pre_run_invalid")
    else:
        stop(m, "pre_run_crashed", (failure.name,))


def later(m: Model, event: Event) -> None:
    """Not ready: keep the event in order."""
    m.postponed.append(event)


def ignore(m: Model, event: Event) -> None:
    """Late, stale, or without meaning in this state."""
