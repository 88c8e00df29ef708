"""Every error of gen_agent, by what it is about: its class, its code, its fields.

`code` is what telemetry, JSON and the command line show. Nothing is ever parsed out of a text. This module
imports nothing of the package but their common base.
"""

from __future__ import annotations

from typing import Any

from gen_agent.failure import GenAgentError as GenAgentError

# ---------------------------------------------------------------- calls


class NotFound(GenAgentError, LookupError):
    """What was asked for is not there."""

    code = "not_found"


class AgentNotFound(NotFound):
    """No agent has this name, or the address is not an agent of that supervisor (C102, C127)."""

    target: Any


class RequestNotFound(NotFound):
    """The ref is unknown, evicted, rejected or not processed yet: no proof of anything (C117, C208)."""

    ref: Any


class CallTimeout(GenAgentError, TimeoutError):
    """No answer within `timeout` seconds; what was asked may still happen (C107, C207)."""

    code = "call_timeout"
    target: Any = None
    timeout: float | None = None


class AgentDown(GenAgentError):
    """The agent ended before it answered; `reason` is one of those of `Down` (C104, C213)."""

    code = "agent_down"
    target: Any
    reason: str = "noproc"
    detail: tuple[str, ...] = ()


class AgentTerminated(GenAgentError):
    """An ask's agent ended in an orderly way before the ask had an outcome (C109)."""

    code = "agent_terminated"
    reason: str


class UnknownRequest(GenAgentError):
    """The agent does not know this call (C076)."""

    code = "unknown_request"


# ---------------------------------------------------------------- admission and the end of requests


class Overloaded(GenAgentError):
    """No room in `queue`: prompts, notifications or self_chain; `limit` is count or bytes (C148)."""

    code = "overloaded"
    queue: str
    limit: str
    pending_count: int = 0
    pending_bytes: int = 0
    incoming_bytes: int = 0
    max_count: int = 0
    max_bytes: int = 0


class Draining(GenAgentError):
    """The agent is draining and takes no new work (C088)."""

    code = "draining"


class Halted(GenAgentError):
    """The agent is halted and the request asked for `on_halt="fail"` (C054, C085)."""

    code = "halted"


class Cancelled(GenAgentError):
    """The request was cancelled before it ran (C123)."""

    code = "cancelled"


class Interrupted(GenAgentError):
    """The turn was interrupted: its worker was killed; the provider may still have done the work (C119)."""

    code = "interrupted"


class WatchdogTimeout(GenAgentError):
    """The turn took longer than `limit_s` seconds, or gave no event for that long (`idle`) (C183)."""

    code = "timeout"
    limit_s: float | None = None
    idle: bool = False


class PreTurnSkipped(GenAgentError):
    """`pre_turn` skipped the prompt, or crashed on a caller's prompt (C029, C034)."""

    code = "pre_turn_skipped"


class PreTurnHalted(GenAgentError):
    """`pre_turn` halted the agent on this prompt (C030)."""

    code = "pre_turn_halted"


class PreTurnInvalid(GenAgentError):
    """`pre_turn` returned something else than Proceed, Skip or Halt (C028)."""

    code = "pre_turn_invalid"


class PreTurnCrashed(GenAgentError):
    """`pre_turn` raised on a generated prompt; `exception` is the class name (C034)."""

    code = "pre_turn_crashed"
    exception: str


# ---------------------------------------------------------------- the turn


class WorkerCrashed(GenAgentError):
    """The worker failed: `reason` is an exception's class name, a signal, or an exit status."""

    code = "task_crashed"
    reason: Any


class WorkerUnavailable(GenAgentError):
    """No worker could be started for this turn; the next one tries anew (C137). `reason` is what ended it, or
    what its backend's constructor said.
    """

    code = "task_supervisor_unavailable"
    payload = frozenset({"reason"})
    reason: Any = None


class NoTerminalEvent(GenAgentError):
    """The backend's events ended without a result or an error (C164)."""

    code = "no_terminal_event"


class EventCaptureOverflow(GenAgentError):
    """Lossless capture met an event beyond a limit (`limit`: events or bytes); no payload in here (C167)."""

    code = "event_capture_overflow"
    limit: str
    max_events: int = 0
    max_bytes: int = 0
    retained_events: int = 0
    retained_bytes: int = 0
    rejected_event_kind: str = ""
    rejected_event_bytes: int = 0


class UnsupportedCheckpoint(GenAgentError):
    """The backend has no `checkpoint_session` (C188)."""

    code = "unsupported_checkpoint"


class InvalidSessionId(GenAgentError):
    """A session id is 1 to 1024 bytes of UTF-8 text without control characters (C188)."""

    code = "invalid_session_id"


class ConflictingSessionId(GenAgentError):
    """The turn offered a second, different session id (C188)."""

    code = "conflicting_session_id"


class NotCurrent(GenAgentError):
    """The checkpoint is not that of the active turn (C074, C188)."""

    code = "not_current"


class BackendFailed(GenAgentError):
    """A terminal `Event.error`: `reason` is what it carried (C164)."""

    code = "backend_failed"
    payload = frozenset({"reason"})
    reason: Any = "unknown"


class BackendError(GenAgentError):
    """A provider's failure; `message` and `raw` may hold secrets, `retry_after` is unparsed (C258)."""

    code = "backend_error"
    payload = frozenset({"message", "raw"})
    provider: str = ""
    kind: str = "unknown"
    retryable: bool = False
    status: int | None = None
    retry_after: str | None = None
    message: Any = None
    raw: Any = None


# ---------------------------------------------------------------- control calls


class Busy(GenAgentError):
    """A turn is running (C069)."""

    code = "busy"


class Unsupported(GenAgentError):
    """The backend can't do this (C126)."""

    code = "unsupported"


class ResetFailed(GenAgentError):
    """The old session stays: a backend's reason, a class name, or invalid_reset_result (C126)."""

    code = "reset_failed"
    payload = frozenset({"reason"})
    reason: Any


class SelfStop(GenAgentError):
    """An agent can't wait for its own end (C128)."""

    code = "self_stop"


class DrainTimeout(GenAgentError):
    """The agent had not ended in time; the drain goes on (C213)."""

    code = "drain_timeout"


# ---------------------------------------------------------------- start


class StartError(GenAgentError):
    """The agent could not start. Raised by a callback: refuse to start, for `reason`."""

    code = "start_error"
    payload = frozenset({"reason"})
    reason: Any = None


class InitFailed(StartError):
    """Something raised during the start: `kind` says where or how, `exception` is a class name (C017)."""

    code = "init_failed"
    kind: str
    exception: str = ""


class InitAgentFailed(StartError):
    """`init_agent` refused with `reason`, or returned a wrong shape (C017)."""

    code = "init_agent_failed"


class BackendStartFailed(StartError):
    """The backend's `start_session` failed with `reason` (C017)."""

    code = "backend_start_failed"


class AlreadyStarted(StartError):
    """The name is taken; `address` is who has it (C010)."""

    code = "already_started"
    address: Any


# ---------------------------------------------------------------- values on their way


class Unpicklable(GenAgentError):
    """A value can't be sent: `what` it was and its class; raised before anything is sent."""

    code = "unpicklable"
    what: str
    type: str


class Undecodable(GenAgentError):
    """A value could not be opened here; `type` names why. It stands in the value's place."""

    code = "undecodable"
    type: str


class CodecError(GenAgentError):
    """A value has no JSON form, or JSON no value: `path` says where, from `$`."""

    code = "codec_error"
    path: str
