"""Steering from outside: interrupt, cancel, halt, resume, drain, reset (C061-C069)."""

from __future__ import annotations

from gen_agent.core import report
from gen_agent.core.delivery import deliver, left, settle
from gen_agent.core.dispatch import serve
from gen_agent.core.exits import stop
from gen_agent.core.halting import enter_halted
from gen_agent.core.model import Model, Reset, State
from gen_agent.core.requests import Origin, Request
from gen_agent.core.signals import (
    Answer,
    CallerDied,
    CancelRequested,
    DrainAsked,
    HaltAsked,
    InterruptAsked,
    InterruptRequested,
    KillWorker,
    ResetAsked,
    ResetEnded,
    ResetWorkerSession,
    ResumeAsked,
)
from gen_agent.errors import Busy, Cancelled, Draining, GenAgentError, Interrupted
from gen_agent.values import RequestRef

# One value for all: making an error costs more than the rest of a cancel.
_CANCELLED = Cancelled()


def kill(m: Model, cause: GenAgentError) -> None:
    """Have the active turn's worker killed; the turn ends with the first cause when that is done."""
    turn = m.active
    if turn.cause is None:
        turn.cause = cause
        m.out.append(KillWorker(turn.tag))


def interrupt(m: Model, event: InterruptAsked) -> None:
    """Interrupt whatever runs (C061)."""
    kill(m, Interrupted())


def interrupt_request(m: Model, event: InterruptRequested) -> None:
    """Interrupt exactly this request; the answer leaves when it is over (C062, C063, C120)."""
    turn = m.active
    if turn.request.ref != event.ref:
        m.out.append(Answer(event.by, "not_current"))
        return
    turn.interrupters = (*turn.interrupters, event.by)
    kill(m, Interrupted())


def none_active(m: Model, event: InterruptRequested) -> None:
    """Nothing runs (C063)."""
    m.out.append(Answer(event.by, "idle"))


def cancel(m: Model, event: CancelRequested) -> None:
    """Take a tell out before it runs; everything is done when the answer leaves (C122-C124)."""
    m.out.append(Answer(event.by, _cancel(m, event.ref)))


def _cancel(m: Model, ref: RequestRef) -> str:
    turn = m.turn
    if turn is not None and turn.request.ref == ref:
        return "current" if turn.request.origin is Origin.TELL else "not_found"
    result = m.results.get(ref)
    if result is not None:
        return "cancelled" if isinstance(result.outcome, Cancelled) else "already_finished"
    request = _take_waiting_tell(m, ref)
    if request is None:
        return "not_found"
    report.cancelled(m, request, "caller_cancelled")
    deliver(m, request, _CANCELLED)
    return "cancelled"


def _take_waiting_tell(m: Model, ref: RequestRef) -> Request | None:
    if m.slot is not None and m.slot.request.ref == ref and m.slot.request.origin is Origin.TELL:
        request, m.slot = m.slot.request, None
        return request
    queued = m.prompts.get(ref)
    return m.prompts.remove(ref) if queued is not None and queued.origin is Origin.TELL else None


def caller_died(m: Model, event: CallerDied) -> None:
    """Drop the queued asks of a dead process; what runs goes on (C077, C108)."""
    for ref in m.prompts.asks_of(event.caller):
        request = left(m, m.prompts.remove(ref))
        report.cancelled(m, request, "caller_down")


def halt(m: Model, event: HaltAsked) -> None:
    """Halt an idle agent (C066)."""
    enter_halted(m)


def halt_later(m: Model, event: HaltAsked) -> None:
    """Halt when the turn ends (C080)."""
    m.active.halt_pending = True


def resume_later(m: Model, event: ResumeAsked) -> None:
    """Take a pending halt back (C081)."""
    m.active.halt_pending = False


def resume(m: Model, event: ResumeAsked) -> None:
    """Go on with what has waited (C067)."""
    m.state = State.IDLE
    serve(m)


def drain(m: Model, event: DrainAsked) -> None:
    """End now: nothing runs, and what has waited is refused (C068)."""
    m.drained = (*m.drained, event.by)
    _refuse_waiting(m)
    stop(m, "normal")


def drain_later(m: Model, event: DrainAsked) -> None:
    """End after the active turn, and refuse everything else now (C088)."""
    m.drained = (*m.drained, event.by)
    m.state = State.DRAINING
    _refuse_waiting(m)
    m.notices.take()


def drain_again(m: Model, event: DrainAsked) -> None:
    """Wait for the same end (C214)."""
    m.drained = (*m.drained, event.by)


def _refuse_waiting(m: Model) -> None:
    slot, m.slot = m.slot, None
    if slot is not None and slot.request.owned:
        settle(m, slot.request, Draining())
    while len(m.prompts):
        settle(m, left(m, m.prompts.pop()), Draining())


def reset(m: Model, event: ResetAsked) -> None:
    """Have the worker reset the session; clients wait meanwhile (C126)."""
    m.reset = Reset(event.by, m.state)
    m.state = State.STARTING
    m.out.append(ResetWorkerSession(event.by, m.opened_session, m.session_version))


def reset_busy(m: Model, event: ResetAsked) -> None:
    """A turn runs (C069)."""
    m.out.append(Answer(event.by, error=Busy()))


def reset_draining(m: Model, event: ResetAsked) -> None:
    """The agent is draining (C069)."""
    m.out.append(Answer(event.by, error=Draining()))


def reset_ended(m: Model, event: ResetEnded) -> None:
    """The reset is over; on an error the old session stays (C126)."""
    if m.reset is None:
        return
    if event.session is not None and event.error is None:
        m.keep_session(event.session)
    m.out.append(Answer(event.by, error=event.error))
    m.state, m.reset = m.reset.back, None
