"""One turn as the worker runs it: the backend's events, until the terminal one (C163, C164, C174).

Whatever happens becomes a `TurnReport`: a backend or stream callback that raises, exits or talks nonsense
fails its turn, never its worker. What the turn leaves behind follows C095 and C096. Clock, link and log are
handed in; this module knows no process and no actor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import attrs

from gen_agent.backend import Backend
from gen_agent.core.capture import Capture, Digest
from gen_agent.core.hooks import failure, forgot_return
from gen_agent.core.session_ids import checkpoint_error
from gen_agent.core.signals import Outcome
from gen_agent.errors import (
    BackendError,
    BackendFailed,
    EventCaptureOverflow,
    GenAgentError,
    NotCurrent,
    NoTerminalEvent,
    Undecodable,
    Unpicklable,
    WorkerCrashed,
)
from gen_agent.events import TERMINAL, Event, pickled
from gen_agent.options import AgentOptions
from gen_agent.sealed import Sealed, dump, load
from gen_agent.values import RequestRef

StreamCallback = Callable[[Event, Any], Any]
OfferCheckpoint = Callable[[Any, bool, "Sealed | None"], "GenAgentError | None"]


@attrs.frozen(slots=True)
class TurnJob:
    """What a worker is given: one attempt of a request, and the session and state it starts from."""

    ref: RequestRef
    attempt: int
    prompt: str = attrs.field(repr=False)
    session: Sealed
    state: Any = attrs.field(default=None, repr=False)


@attrs.frozen(slots=True)
class Ports:
    """What a turn may reach.

    `clock()` gives seconds. `on_event(body)` takes each event's pickle after the stream callback saw it.
    `offer(session_id, supported, session)` asks the agent about a checkpoint and returns why it is refused,
    or None once the agent has the bytes. `on_stream` is the class's stream callback, or None where it has
    none of its own. `log(level, text)` hears what is not the turn's outcome.
    """

    clock: Callable[[], float]
    on_event: Callable[[bytes], None]
    offer: OfferCheckpoint
    log: Callable[[str, str], None]
    on_stream: StreamCallback | None = None


@attrs.frozen(slots=True)
class TurnReport:
    """How a turn ended, and what it leaves behind.

    `outcome` can always be pickled; `sealed` is a response's pickle. `session` and `state` are None where the
    agent has them already. `held` is the session as this worker goes on with it, equal to what the agent
    keeps; a session that a failed turn may have changed in place is opened anew from its bytes. `duration_s`
    is wall time.
    """

    outcome: Outcome
    sealed: Sealed | None
    session: Sealed | None
    held: Sealed
    state: Sealed | None
    duration_s: float


class RunningTurn:
    """The `turn` a backend sees. Assign `session` to replace what the turn leaves behind."""

    __slots__ = ("_backend", "_closed", "_offer", "attempt", "base", "fault", "kept_id", "ref", "session")

    def __init__(self, job: TurnJob, backend: Backend, offer: OfferCheckpoint) -> None:
        self.ref, self.attempt, self.session = job.ref, job.attempt, job.session.open()
        self.base = job.session
        self.kept_id: str | None = None
        self.fault: GenAgentError | None = None
        self._backend, self._offer, self._closed = backend, offer, False

    def checkpoint(self, session_id: str) -> None:
        """Keep `session_id` whatever becomes of the turn; a refusal raises and fails the turn (C188-C190)."""
        if self._closed:
            raise NotCurrent()
        apply = getattr(self._backend, "checkpoint_session", None)
        error = checkpoint_error(session_id, apply is not None, self.kept_id)
        kept = None
        if apply is not None and error is None and self.kept_id is None:
            # Of the session before the turn, whatever was done to it since: a crash goes back to that.
            kept = Sealed.of(apply(load(self.base.data), session_id), "session")
        error = self._offer(session_id, apply is not None, kept) or error
        if error is not None:
            self.fault = self.fault or (None if isinstance(error, NotCurrent) else error)
            raise error
        if kept is not None:
            self.base, self.kept_id = kept, session_id

    def close(self) -> None:
        """The turn is over: a checkpoint from an old closure changes nothing (C074)."""
        self._closed = True

    def left_session(self, result: Event | None) -> Sealed:
        """What prompt left, updated by a result, with the kept id applied again (C095)."""
        session = self.session if result is None else self._backend.update_session(self.session, result)
        apply = getattr(self._backend, "checkpoint_session", None)
        if self.kept_id is not None and apply is not None:
            session = apply(session, self.kept_id)
        return Sealed.of(session, "session")


@attrs.define(slots=True)
class _Run:
    """What has been gathered so far."""

    capture: Capture
    digest: Digest
    state: Any
    seen: int = 0
    terminal: Event | None = None


def run_turn(backend: Backend, job: TurnJob, options: AgentOptions, ports: Ports) -> TurnReport:
    """Run one attempt to its end. Runs in the worker, or in the agent where there is none; never raises."""
    began_s = ports.clock()
    turn = RunningTurn(job, backend, ports.offer)
    run = _Run(Capture(options), Digest(), job.state)
    try:
        error = _consume(backend, job, turn, run, ports)
        return _left(job, turn, run, error, ports.clock() - began_s, ports.on_stream is not None)
    except BaseException as raised:
        # A backend is foreign code: SystemExit and KeyboardInterrupt in it end its turn, not this process.
        ports.log("error", str(failure("turn", raised)))
        return _unchanged(turn, _crash(turn, raised), ports.clock() - began_s)
    finally:
        turn.close()


def _consume(
    backend: Backend, job: TurnJob, turn: RunningTurn, run: _Run, ports: Ports
) -> GenAgentError | None:
    """Feed events until the terminal one; returns the error, if any. Raises what is a crash."""
    if isinstance(turn.session, Undecodable):
        return turn.session
    events: Iterator[Event] | None = None
    try:
        events = iter(backend.prompt(turn.session, job.prompt, turn))
        for event in events:
            error = _take(event, run, ports)
            if error is not None or run.terminal is not None:
                return error or _error_of(event)
        return NoTerminalEvent()
    except BackendError as error:
        return _sendable(error)
    finally:
        _close(events, ports)


def _take(event: Event, run: _Run, ports: Ports) -> EventCaptureOverflow | None:
    if not isinstance(event, Event):
        raise TypeError("prompt gave something that is no Event")
    body, size = pickled(event)
    overflow = run.capture.overflow(event, size) if run.capture.lossless else None
    if overflow is not None:
        return overflow
    if ports.on_stream is not None:
        state = ports.on_stream(event, run.state)
        if forgot_return(state, run.state):
            raise TypeError("handle_stream_event returned None for a state")
        run.state = state
    ports.on_event(body)
    run.seen += 1
    run.capture.observe(event, body, size)
    run.digest.observe(event)
    run.terminal = event if event.kind in TERMINAL else None
    return None


def _left(
    job: TurnJob, turn: RunningTurn, run: _Run, error: GenAgentError | None, duration_s: float, stateful: bool
) -> TurnReport:
    error = turn.fault or error
    if isinstance(error, (BackendError, Undecodable)) and not run.seen:
        # A synchronous error: nothing was dispatched, so nothing has changed (C095, C257).
        return _unchanged(turn, error, duration_s)
    result = run.terminal if error is None else None
    session = turn.left_session(result)
    state = Sealed.of(run.state, "state") if stateful and run.seen else None
    if result is None:
        return TurnReport(error or NoTerminalEvent(), None, session, session, state, duration_s)
    response = run.digest.response(run.capture, result, duration_s, job.prompt)
    return TurnReport(response, Sealed.of(response, "response"), session, session, state, duration_s)


def _unchanged(turn: RunningTurn, error: GenAgentError, duration_s: float) -> TurnReport:
    return TurnReport(error, None, None, Sealed(turn.base.data), None, duration_s)


def _crash(turn: RunningTurn, raised: BaseException) -> GenAgentError:
    if turn.fault is not None:
        return turn.fault
    if isinstance(raised, Unpicklable):
        return raised.fresh()
    return WorkerCrashed(type(raised).__name__)


def _error_of(event: Event) -> GenAgentError | None:
    if event.kind != "error":
        return None
    reason = event.data.get("reason", "unknown")
    return reason if isinstance(reason, GenAgentError) else BackendFailed(reason)


def _sendable(error: BackendError) -> BackendError:
    """The error as a value that can travel, with class names for what can't be pickled."""
    return type(error)(**{name: _or_class_name(value) for name, value in error.fields.items()})


def _or_class_name(value: object) -> object:
    try:
        dump(value, "error")
    except Unpicklable:
        return type(value).__name__
    return value


def _close(events: object, ports: Ports) -> None:
    """Let finalizers run; what they raise can't change an outcome that is known already (C101)."""
    close = getattr(events, "close", None)
    if close is None:
        return
    try:
        close()
    except BaseException as raised:
        ports.log("error", str(failure("turn", raised)))
