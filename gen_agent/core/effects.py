"""What comes out of the machine: effects, imperatives for the shell. Plain data, performed in their order."""

from __future__ import annotations

from typing import Any

import attrs

from gen_agent.core.terms import Deadline, Outcome, Tag
from gen_agent.errors import GenAgentError
from gen_agent.sealed import Sealed, SealedRun
from gen_agent.values import Caller, RequestRef


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
class Conclude:
    """Feed `Concluding` once what was given out before has left, at latest with the next event (C091)."""


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


Effect = (
    AnswerStart | StartTurn | KillWorker | Answer | Admit | Complete | Conclude | Relay | AnswerCheckpoint
    | SetDeadline | ClearDeadline | WatchCaller | UnwatchCaller | ResetWorkerSession | Exit | CloseSession
    | Quit
)  # fmt: skip
