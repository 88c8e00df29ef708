"""What happens around a worker and its turns, as events of the machine; `signals` has all the others.

Plain data, as all events are: what users wrote never shows in a repr.
"""

from __future__ import annotations

from typing import Any

import attrs

from gen_agent.core.terms import Deadline, Outcome, Tag
from gen_agent.errors import GenAgentError
from gen_agent.sealed import Sealed, SealedRun


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
class Concluding:
    """What `Conclude` waited for has left: the rest of the turn's end is due."""


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
