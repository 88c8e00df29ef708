"""How a turn ends: one outcome, one path, be it success, error, timeout, interrupt or death.

Order (C090-C093): telemetry, the deciding callback, `post_turn`, delivery or retry, the halt's failures,
deferred notifications, `post_run`, prepared answers, the next state, the next work. Before callbacks that may
take long the end is put off for as long as what was given out takes to leave (C091).
"""

from __future__ import annotations

from collections.abc import Callable

from gen_agent.agent import Decision, Halt, Prompt
from gen_agent.core import report
from gen_agent.core.callbacks import decide, transform
from gen_agent.core.deadlines import clear_deadlines
from gen_agent.core.delivery import deliver
from gen_agent.core.dispatch import serve
from gen_agent.core.exits import stop
from gen_agent.core.generated import chain, slot_refusal, unchained
from gen_agent.core.halting import announce_halt, fail_waiting
from gen_agent.core.hooks import Failure
from gen_agent.core.model import Model, State
from gen_agent.core.notices import handle_deferred
from gen_agent.core.requests import Slot, Stage, Turn
from gen_agent.core.signals import Admit, Answer, Complete, Conclude, Concluding, Outcome
from gen_agent.errors import GenAgentError, Interrupted, WorkerUnavailable
from gen_agent.events import Response
from gen_agent.sealed import Sealed
from gen_agent.values import payload_size


def end_turn(m: Model, outcome: Outcome, sealed: Sealed | None, duration_s: float) -> None:
    """End the active turn; the session and the state it leaves behind are in the model already."""
    turn = m.active
    m.turn = None
    clear_deadlines(m, turn)
    _report(m, turn, outcome, duration_s)
    hook = "handle_response" if isinstance(outcome, Response) else "handle_error"
    decision = decide(m, hook, turn.request.ref, outcome)
    if isinstance(decision, Failure):
        stop(m, "callback_failed", (decision.kind, decision.name))
        return
    transform(m, "post_turn", outcome, turn.request.ref)
    answer, halting = _conclude(m, turn, outcome, sealed, decision)
    slow = len(m.notices) > 0 or halting and m.hooks.own("post_run")
    if _has_to_wait(m, slow):
        _put_off(m, lambda: _move_on(m, turn, answer, halting))
    else:
        _move_on(m, turn, answer, halting)


def concluded(m: Model, event: Concluding) -> None:
    """Do the rest of a turn's end, if it was put off and no other event has done it already."""
    rest, m.rest = m.rest, None
    if rest is not None:
        rest()


def _has_to_wait(m: Model, slow: bool) -> bool:
    return slow and any(isinstance(effect, (Answer, Complete)) for effect in m.out)


def _put_off(m: Model, rest: Callable[[], None]) -> None:
    m.rest = rest
    m.out.append(Conclude())


def _report(m: Model, turn: Turn, outcome: Outcome, duration_s: float) -> None:
    request = turn.request
    if turn.stage is Stage.HANDED_OVER and isinstance(outcome, WorkerUnavailable):
        report.rejected(m, request, outcome)
        report.prompt_error(m, request.ref, request.attempt, outcome)
        return
    if turn.stage is Stage.HANDED_OVER:
        # Cut short before a worker had it: every end has its start all the same (C235).
        report.started(m, turn)
    if isinstance(outcome, GenAgentError):
        report.failed(m, request, outcome, duration_s)
    else:
        report.stopped(m, request, duration_s)


def _conclude(
    m: Model, turn: Turn, outcome: Outcome, sealed: Sealed | None, decision: Decision
) -> tuple[Answer | None, bool]:
    """Retry, or deliver and chain: the prepared answer to an ask, and whether the agent is to halt."""
    halting = isinstance(decision, Halt) or turn.halt_pending
    text = decision.text if isinstance(decision, Prompt) and _may_follow(m, outcome) else None
    refusal = None
    if text is not None and _retries(turn, outcome):
        size = payload_size(text)
        refusal = slot_refusal(m, size)
        if refusal is None:
            m.slot = Slot(turn.request.retry(text, size))
            return None, halting
    answer = deliver(m, turn.request, outcome, sealed)
    if refusal is not None:
        halting |= unchained(m, refusal)
    elif text is not None:
        halting |= chain(m, text)
    return answer, halting


def _may_follow(m: Model, outcome: Outcome) -> bool:
    # A draining agent starts nothing more (C088); without a worker a follow-up would spin (C137).
    return m.state is State.PROCESSING and not isinstance(outcome, WorkerUnavailable)


def _retries(turn: Turn, outcome: Outcome) -> bool:
    # Whoever interrupts wants the request to end: what follows is the agent's own business (C132).
    return turn.request.owned and isinstance(outcome, GenAgentError) and not isinstance(outcome, Interrupted)


def _move_on(m: Model, turn: Turn, answer: Answer | None, halting: bool) -> None:
    if turn.admit is not None:
        m.out.append(Admit(turn.admit, turn.request.ref, None))
    if halting:
        fail_waiting(m)
    halting = handle_deferred(m, halting)
    if halting:
        announce_halt(m)
    if answer is not None:
        m.out.append(answer)
    if turn.interrupters:
        m.out.extend(Answer(by, "accepted") for by in turn.interrupters)
    if m.state is State.DRAINING:
        stop(m, "normal")
        return
    m.state = State.HALTED if halting else State.IDLE
    report.phase(m, "processing", "idle")
    more = m.slot is not None or len(m.prompts) > 0
    if halting or not more:
        return
    if _has_to_wait(m, m.hooks.own("pre_turn")):
        _put_off(m, lambda: serve(m))
    else:
        serve(m)
