"""Notifications and ordinary messages: handled at once, or in one batch when the turn ends (C039-C041)."""

from __future__ import annotations

from gen_agent.agent import Halt, Prompt
from gen_agent.core import report
from gen_agent.core.callbacks import decide
from gen_agent.core.dispatch import dispatch
from gen_agent.core.generated import generated, queue_event_prompt
from gen_agent.core.halting import enter_halted, fail_waiting
from gen_agent.core.model import Model, State
from gen_agent.core.requests import Origin
from gen_agent.core.signals import Answer, InfoArrived, Notified
from gen_agent.errors import Draining, GenAgentError, Overloaded

Notice = Notified | InfoArrived


def notified(m: Model, event: Notified) -> None:
    """Handle a notification now (C058, C059)."""
    report.received(m, event.event)
    _acknowledge(m, event, _handle_now(m, event))


def informed(m: Model, event: InfoArrived) -> None:
    """Handle an ordinary message now (C060)."""
    _handle_now(m, event)


def defer(m: Model, event: Notified) -> None:
    """Keep a notification for the end of the turn, or refuse it."""
    report.received(m, event.event)
    _acknowledge(m, event, _put(m, event))


def defer_info(m: Model, event: InfoArrived) -> None:
    """Keep an ordinary message for the end of the turn, or drop it with a warning (C156)."""
    if _put(m, event) is not None:
        m.log("warning", f"dropped a message of class {type(event.message).__name__}: too many are waiting")


def deafen(m: Model, event: Notified) -> None:
    """A draining agent hears no notifications (C088)."""
    report.refused(m, Draining())
    _acknowledge(m, event, Draining())


def handle_deferred(m: Model, halting: bool) -> bool:
    """Handle all that waited for the end of the turn, in order; returns whether the agent halts after it.

    The first to halt frees the room of what fails on a halt before the next one may queue a prompt (C085,
    C246).
    """
    for notice in m.notices.take() if len(m.notices) else ():
        halts, _ = _handle(m, notice)
        if halts and not halting:
            fail_waiting(m)
            halting = True
    return halting


def _handle_now(m: Model, notice: Notice) -> Overloaded | None:
    halts, refusal = _handle(m, notice)
    if halts and m.state is State.IDLE:
        enter_halted(m)
    return refusal


def _handle(m: Model, notice: Notice) -> tuple[bool, Overloaded | None]:
    if isinstance(notice, Notified):
        decision = decide(m, "handle_event", notice.event)
    elif m.hooks.has_info:
        decision = decide(m, "handle_info", notice.message, notice.sender)
    else:
        m.log("error", f"no handle_info: dropped a message of class {type(notice.message).__name__}")
        return False, None
    if not isinstance(decision, Prompt):
        return isinstance(decision, Halt), None
    request = generated(m, decision.text, Origin.EVENT)
    if m.state is State.IDLE:
        dispatch(m, request)
        return False, None
    return queue_event_prompt(m, request)


def _put(m: Model, notice: Notice) -> Overloaded | None:
    refusal = m.notices.put(notice)
    if refusal is not None:
        report.refused(m, refusal)
    return refusal


def _acknowledge(m: Model, event: Notified, error: GenAgentError | None) -> None:
    if event.by is not None:
        m.out.append(Answer(event.by, error=error))
