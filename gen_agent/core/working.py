"""What the worker says, and the deadlines of its turn (C072-C075, C175-C191).

Whatever is not of the active turn is late, and nothing comes of it (C098, C180).
"""

from __future__ import annotations

from gen_agent.core import report
from gen_agent.core.controls import kill
from gen_agent.core.deadlines import await_event
from gen_agent.core.dispatch import serve
from gen_agent.core.model import Model
from gen_agent.core.requests import Stage, Turn
from gen_agent.core.session_ids import checkpoint_error
from gen_agent.core.signals import (
    Admit,
    AnswerCheckpoint,
    CheckpointAsked,
    DeadlineReached,
    EventsStreamed,
    Outcome,
    Relay,
    Tag,
    TurnEnded,
    TurnRefused,
    TurnStarted,
    WorkerDied,
    WorkerKilled,
)
from gen_agent.core.turn_end import end_turn
from gen_agent.errors import (
    GenAgentError,
    NotCurrent,
    Undecodable,
    WatchdogTimeout,
    WorkerCrashed,
    WorkerUnavailable,
)


def _of_active(m: Model, tag: Tag) -> Turn | None:
    turn = m.turn
    return turn if turn is not None and (tag is turn.tag or tag == turn.tag) else None


def started(m: Model, event: TurnStarted) -> None:
    """A live worker has the prompt: the turn counts as started, a submit as admitted (C221, C198)."""
    turn = _of_active(m, event.tag)
    if turn is None or turn.stage is Stage.RUNNING:
        return
    turn.stage = Stage.RUNNING
    report.started(m, turn)
    await_event(m, turn)
    if turn.admit is not None:
        m.out.append(Admit(turn.admit, turn.request.ref, None))
        turn.admit = None


def refused(m: Model, event: TurnRefused) -> None:
    """No worker could be had (C137)."""
    turn = _of_active(m, event.tag)
    if turn is not None:
        end_turn(m, turn.cause or WorkerUnavailable(event.reason), None, m.now - turn.began_s)


def relay(m: Model, event: EventsStreamed) -> None:
    """Forward the active turn's events as they are; they also prove that the backend lives (C075, C175)."""
    turn = _of_active(m, event.tag)
    if turn is None or turn.cause is not None:
        return
    await_event(m, turn)
    request = turn.request
    if request.stream_to is not None and event.run.count:
        m.out.append(Relay(request.stream_to, request.ref, request.attempt, event.run, request.stream_batch))


def checkpoint(m: Model, event: CheckpointAsked) -> None:
    """Keep the session id at once, or remember why not: that fails the turn (C188-C190)."""
    turn = _of_active(m, event.tag)
    if turn is None or turn.cause is not None:
        m.out.append(AnswerCheckpoint(event.tag, NotCurrent()))
        return
    error = checkpoint_error(event.session_id, event.supported, turn.checkpoint)
    if error is not None:
        turn.fault = turn.fault or error
    elif turn.checkpoint is None:
        turn.checkpoint = event.session_id
        if event.session is not None:
            m.keep_session(event.session)
    m.out.append(AnswerCheckpoint(event.tag, error))


def no_checkpoint(m: Model, event: CheckpointAsked) -> None:
    """No turn is active (C074)."""
    m.out.append(AnswerCheckpoint(event.tag, NotCurrent()))


def ended(m: Model, event: TurnEnded) -> None:
    """The worker's own word. One that is being killed has none any more: one request, one outcome (C121)."""
    turn = _of_active(m, event.tag)
    if turn is None or turn.cause is not None:
        return
    outcome: Outcome = event.outcome
    if event.session is not None:
        m.keep_session(event.session)
    if event.state is not None:
        state = event.state.open()
        if isinstance(state, Undecodable):
            outcome = state
        else:
            m.agent_state = state
    outcome = _verdict(turn, outcome)
    end_turn(m, outcome, event.sealed if outcome is event.outcome else None, event.duration_s)


def killed(m: Model, event: WorkerKilled) -> None:
    """The worker is gone as asked for (C119, C183)."""
    turn = _of_active(m, event.tag)
    if turn is not None:
        end_turn(m, turn.cause or WorkerCrashed("killed"), None, m.now - turn.began_s)


def died(m: Model, event: WorkerDied) -> None:
    """The worker is gone by itself (C037)."""
    turn = _of_active(m, event.tag)
    if turn is not None:
        end_turn(m, turn.cause or _verdict(turn, event.error), None, m.now - turn.began_s)


def overdue(m: Model, event: DeadlineReached) -> None:
    """The turn took too long, or was silent for too long (C072); an old deadline means nothing."""
    turn, key = m.turn, event.key
    if turn is None or key.turn != turn.tag.turn:
        return
    if key.kind == "watchdog":
        kill(m, WatchdogTimeout(m.options.watchdog_s))
    elif key.kind == "idle":
        kill(m, WatchdogTimeout(m.options.idle_watchdog_s, True))


def paced(m: Model, event: DeadlineReached) -> None:
    """A rejected generated prompt has waited long enough (C033)."""
    slot, key = m.slot, event.key
    if key.kind == "paced" and slot is not None and slot.pacing == key.turn:
        serve(m)


def _verdict(turn: Turn, outcome: Outcome) -> Outcome:
    # A refused checkpoint fails the turn whatever else it came to, but for the kernel's alarm (C189).
    if turn.fault is None or isinstance(outcome, WatchdogTimeout):
        return outcome
    fault: GenAgentError = turn.fault
    return fault
