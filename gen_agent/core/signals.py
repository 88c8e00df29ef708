"""What goes into the machine and what comes out: events (participles) and effects (imperatives).

An event is something that happened; an effect is something the shell must do. Both are plain data: no clock,
no ids, no process. Times, sizes, refs and opened user values come in with the event; `by`, `recipient` and
`stream_to` are the shell's own handles, which the machine only carries. What users wrote never shows in a
repr.
"""

from __future__ import annotations

from typing import Any

import attrs

from gen_agent.core.effects import (
    Admit,
    Answer,
    AnswerCheckpoint,
    AnswerStart,
    ClearDeadline,
    CloseSession,
    Complete,
    Conclude,
    Effect,
    Exit,
    KillWorker,
    Quit,
    Relay,
    ResetWorkerSession,
    SetDeadline,
    StartTurn,
    UnwatchCaller,
    WatchCaller,
)
from gen_agent.core.terms import Deadline, OnHalt, Outcome, Tag
from gen_agent.core.worker_signals import (
    CheckpointAsked,
    Concluding,
    DeadlineReached,
    EventsStreamed,
    ResetEnded,
    TurnEnded,
    TurnRefused,
    TurnStarted,
    WorkerDied,
    WorkerKilled,
)
from gen_agent.sealed import Sealed
from gen_agent.values import Caller, RequestRef

__all__ = [
    "Admit", "Answer", "AnswerCheckpoint", "AnswerStart", "Asked", "Booted", "CallerDied",
    "CancelRequested", "CheckpointAsked", "ClearDeadline", "CloseSession", "Closing", "Complete", "Conclude",
    "Concluding", "Crashed", "Deadline", "DeadlineReached", "DrainAsked", "Effect", "Event",
    "EventsStreamed", "Exit", "HaltAsked",
    "InfoArrived", "InterruptAsked", "InterruptRequested", "KillWorker", "Notified", "OnHalt", "Outcome",
    "Polled", "Quit", "Relay", "ResetAsked", "ResetEnded", "ResetWorkerSession", "ResumeAsked", "RunBegan",
    "SessionClosed", "SetDeadline", "SnapshotAsked", "StartTurn", "StatusAsked", "StopAsked", "Submitted",
    "Tag", "Told", "TurnEnded", "TurnRefused", "TurnStarted", "UnknownAsked", "UnwatchCaller",
    "WatchCaller", "WorkerDied", "WorkerKilled",
]  # fmt: skip


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


Event = (
    Booted | RunBegan | StopAsked | Crashed | Closing | SessionClosed | Asked | Told | Submitted | Polled
    | Notified | InfoArrived | InterruptAsked | InterruptRequested | CancelRequested | HaltAsked
    | ResumeAsked | DrainAsked | ResetAsked | StatusAsked | SnapshotAsked | UnknownAsked | CallerDied
    | TurnStarted | TurnRefused | EventsStreamed | CheckpointAsked | TurnEnded | Concluding | WorkerKilled
    | WorkerDied | ResetEnded | DeadlineReached
)  # fmt: skip
