"""What goes into the machine and what comes out: events (participles) and effects (imperatives).

An event is something that happened; an effect is something the shell must do. Both are plain data: no clock,
no ids, no process. Times, sizes, refs and opened user values come in with the event; `by`, `recipient` and
`stream_to` are the shell's own handles, which the machine only carries. What users wrote never shows in a
repr.
"""

from __future__ import annotations

from typing import Any, Literal

import attrs

from gen_agent.errors import GenAgentError
from gen_agent.events import Response
from gen_agent.sealed import Sealed, SealedRun
from gen_agent.values import Caller, RequestRef

Outcome = Response | GenAgentError
OnHalt = Literal["queue", "fail"]


@attrs.frozen(slots=True)
class Tag:
    """One attempt of one turn. `turn` counts the agent's attempts and is never reused: the fence."""

    ref: RequestRef
    attempt: int
    turn: int


# ---------------------------------------------------------------- events: the agent's life


@attrs.frozen(slots=True)
class Booted:
    """`init_agent` and `start_session` succeeded: `state` and `session` are theirs. Answer the starter."""

    state: Any = attrs.field(repr=False)
    session: Sealed
    streams: bool = False
    """Whether the class overrides `handle_stream_event`, so that state travels with each turn."""


@attrs.frozen(slots=True)
class RunBegan:
    """The starter has its answer: `pre_run` is due, before any other message (C024, C249)."""


@attrs.frozen(slots=True)
class StopAsked:
    """End in an orderly way: `shutdown`, or `registry_lost` (C014, C109)."""

    reason: str = "shutdown"


@attrs.frozen(slots=True)
class Crashed:
    """A step raised, which is a defect of ours: nothing of it happened. `name` is the exception's class name.

    The agent ends as callback_failed (C255); a second one, while it is ending, skips what is left of the end.
    """

    name: str


@attrs.frozen(slots=True)
class Closing:
    """The active turn's worker is gone and nothing more will run: `terminate_agent` is due (C047, C049)."""


@attrs.frozen(slots=True)
class SessionClosed:
    """`terminate_session` ran, failed or took too long: `error_class` names the exception, if any (C048)."""

    error_class: str | None = None


# ---------------------------------------------------------------- events: clients


@attrs.frozen(slots=True)
class Asked:
    """A blocking call (C051). `caller` is who dies with it while it is queued (C108)."""

    by: Any
    ref: RequestRef
    prompt: str = attrs.field(repr=False)
    size: int
    caller: Caller | None = None


@attrs.frozen(slots=True)
class Told:
    """`tell` (no recipient) or `tell_with_completion` (C052-C054)."""

    by: Any
    ref: RequestRef
    prompt: str = attrs.field(repr=False)
    size: int
    recipient: Any = None
    on_halt: OnHalt = "queue"
    stream_to: Any = None
    stream_batch: bool = False


@attrs.frozen(slots=True)
class Submitted:
    """A cast whose answer is an Admission to the recipient (C055, C056, C198-C203)."""

    ref: RequestRef
    prompt: str = attrs.field(repr=False)
    size: int
    recipient: Any
    on_halt: OnHalt = "queue"
    stream_to: Any = None
    stream_batch: bool = False


@attrs.frozen(slots=True)
class Polled:
    """C057, C117, C118."""

    by: Any
    ref: RequestRef


@attrs.frozen(slots=True)
class Notified:
    """A plain notification (C058): `by` is None; or `notify_ack` (C059): `by` is the call to answer."""

    event: Any = attrs.field(repr=False)
    size: int
    by: Any = None


@attrs.frozen(slots=True)
class InfoArrived:
    """An ordinary actor message (C040, C060)."""

    message: Any = attrs.field(repr=False)
    sender: Any
    size: int


@attrs.frozen(slots=True)
class InterruptAsked:
    """`interrupt`: whatever runs (C061)."""


@attrs.frozen(slots=True)
class InterruptRequested:
    """`interrupt_request`: exactly this ref (C062, C063)."""

    by: Any
    ref: RequestRef


@attrs.frozen(slots=True)
class CancelRequested:
    """C064, C065, C122-C124."""

    by: Any
    ref: RequestRef


@attrs.frozen(slots=True)
class HaltAsked:
    """C066, C080-C083."""


@attrs.frozen(slots=True)
class ResumeAsked:
    """C067, C081."""


@attrs.frozen(slots=True)
class DrainAsked:
    """C068, C088, C213-C215."""

    by: Any


@attrs.frozen(slots=True)
class ResetAsked:
    """C069, C126."""

    by: Any


@attrs.frozen(slots=True)
class StatusAsked:
    """C070, C192."""

    by: Any


@attrs.frozen(slots=True)
class SnapshotAsked:
    """C070, C193."""

    by: Any


@attrs.frozen(slots=True)
class UnknownAsked:
    """A call nobody knows (C076)."""

    by: Any


@attrs.frozen(slots=True)
class CallerDied:
    """The process of a queued ask is gone (C077, C108)."""

    caller: Caller


# ---------------------------------------------------------------- events: the worker


@attrs.frozen(slots=True)
class TurnStarted:
    """A live worker has the prompt: the turn counts as started (C221)."""

    tag: Tag


@attrs.frozen(slots=True)
class TurnRefused:
    """No worker could be had for this turn (C137)."""

    tag: Tag
    reason: str


@attrs.frozen(slots=True)
class EventsStreamed:
    """A run of the active turn's events for its stream recipient (C075, C175-C181). Never opened here."""

    tag: Tag
    run: SealedRun


@attrs.frozen(slots=True)
class CheckpointAsked:
    """The worker's turn offers a session id (C188). `session` is what `checkpoint_session` made of it.

    Without `checkpoint_session` in the backend `supported` is False. Answered by `AnswerCheckpoint`, and only
    after an accepted one is `session` the session that survives the turn (C190).
    """

    tag: Tag
    session_id: Any = attrs.field(repr=False)
    supported: bool
    session: Sealed | None = None


@attrs.frozen(slots=True)
class TurnEnded:
    """The worker's own word on how its turn ended. `duration_s` is its wall time.

    `sealed` is the response as it left the worker, so that nobody pickles it twice; None for an error.
    `session` is what this turn leaves behind (None: unchanged), `state` the callback state after the stream
    callbacks (None: unchanged); both follow C095 and C096 already.
    """

    tag: Tag
    outcome: Outcome = attrs.field(repr=False)
    sealed: Sealed | None = None
    session: Sealed | None = None
    state: Sealed | None = None
    duration_s: float = 0.0


@attrs.frozen(slots=True)
class WorkerKilled:
    """A `KillWorker` has been done: the worker and all it started are gone."""

    tag: Tag


@attrs.frozen(slots=True)
class WorkerDied:
    """The worker ended by itself: `WorkerCrashed` or, for the kernel's alarm, `WatchdogTimeout`."""

    tag: Tag
    error: GenAgentError


@attrs.frozen(slots=True)
class ResetEnded:
    """The worker answered a `ResetSession` effect: the new session, or the error (C126)."""

    by: Any
    session: Sealed | None
    error: GenAgentError | None


@attrs.frozen(slots=True)
class DeadlineReached:
    """A `SetDeadline` came due; stale ones carry an old `key` and change nothing."""

    key: Deadline


# ---------------------------------------------------------------- deadlines


@attrs.frozen(slots=True)
class Deadline:
    """What a deadline is for: "watchdog" and "idle" of one turn, or "paced" (C033) under its own number."""

    kind: Literal["watchdog", "idle", "paced"]
    turn: int


# ---------------------------------------------------------------- effects


@attrs.frozen(slots=True)
class AnswerStart:
    """Tell the starter that the agent is up, then feed `RunBegan` before any other message."""


@attrs.frozen(slots=True)
class StartTurn:
    """Hand `prompt` to a worker. Feed `TurnStarted` once a live one has it, `TurnRefused` if none can be had.

    `session` is sent only to a worker that does not hold it already (`session_version` tells); `state` only
    for a class with a stream callback.
    """

    tag: Tag
    prompt: str = attrs.field(repr=False)
    session: Sealed
    session_version: int
    state: Sealed | None


@attrs.frozen(slots=True)
class KillWorker:
    """Kill this turn's worker with all it started, then feed `WorkerKilled` in the same dispatch."""

    tag: Tag


@attrs.frozen(slots=True)
class Answer:
    """Reply to a call: a value, or an error. `sealed` is the value's pickle where there is one already."""

    by: Any
    value: Any = attrs.field(default=None, repr=False)
    error: GenAgentError | None = None
    sealed: Sealed | None = None


@attrs.frozen(slots=True)
class Admit:
    """Send the Admission of a submit to its recipient (C198)."""

    recipient: Any
    ref: RequestRef
    error: GenAgentError | None


@attrs.frozen(slots=True)
class Complete:
    """Send the one Completion to its recipient (C112), after all events of `ref` for that recipient."""

    recipient: Any
    ref: RequestRef
    outcome: Outcome = attrs.field(repr=False)
    sealed: Sealed | None


@attrs.frozen(slots=True)
class Relay:
    """Forward a run of events (C175)."""

    recipient: Any
    ref: RequestRef
    attempt: int
    run: SealedRun
    batch: bool


@attrs.frozen(slots=True)
class AnswerCheckpoint:
    """Answer the worker's checkpoint: `error` None means accepted."""

    tag: Tag
    error: GenAgentError | None


@attrs.frozen(slots=True)
class SetDeadline:
    """Feed `DeadlineReached(key)` after `seconds`. A later one with the same key replaces it."""

    key: Deadline
    seconds: float


@attrs.frozen(slots=True)
class ClearDeadline:
    """Forget it."""

    key: Deadline


@attrs.frozen(slots=True)
class WatchCaller:
    """Feed `CallerDied(caller)` when that process ends."""

    caller: Caller


@attrs.frozen(slots=True)
class UnwatchCaller:
    """No queued ask of that process is left."""

    caller: Caller


@attrs.frozen(slots=True)
class ResetWorkerSession:
    """Run `reset_session` in the live worker, then feed `ResetEnded`. Until then calls are postponed."""

    by: Any
    session: Sealed
    session_version: int


@attrs.frozen(slots=True)
class Exit:
    """The agent ends with `reason`: kill the active turn if `active`, feed `Closing`."""

    reason: str
    detail: tuple[str, ...]
    active: Tag | None


@attrs.frozen(slots=True)
class CloseSession:
    """Run `terminate_session`, bounded by `shutdown_s`; then feed `SessionClosed` (C047)."""

    session: Sealed
    session_version: int


@attrs.frozen(slots=True)
class Quit:
    """Everything is done: answer `drained` calls after the process has ended, and end the process."""

    reason: str
    detail: tuple[str, ...]
    drained: tuple[Any, ...] = ()


Event = (
    Booted | RunBegan | StopAsked | Crashed | Closing | SessionClosed | Asked | Told | Submitted | Polled
    | Notified | InfoArrived | InterruptAsked | InterruptRequested | CancelRequested | HaltAsked
    | ResumeAsked | DrainAsked | ResetAsked | StatusAsked | SnapshotAsked | UnknownAsked | CallerDied
    | TurnStarted | TurnRefused | EventsStreamed | CheckpointAsked | TurnEnded | WorkerKilled | WorkerDied
    | ResetEnded | DeadlineReached
)  # fmt: skip
Effect = (
    AnswerStart | StartTurn | KillWorker | Answer | Admit | Complete | Relay | AnswerCheckpoint
    | SetDeadline | ClearDeadline | WatchCaller | UnwatchCaller | ResetWorkerSession | Exit | CloseSession
    | Quit
)  # fmt: skip
