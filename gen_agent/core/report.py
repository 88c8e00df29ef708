"""Telemetry of an agent: one function per happening, so that keys and order are written once (C221-C236).

`system_time_s` is given as None, which asks the emitter to fill it in: the core has no clock. Nothing under
`turn` ever holds a prompt, a response, a raw reason or a state (C235).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from gen_agent.core.model import Model
from gen_agent.core.requests import Request, Turn
from gen_agent.errors import (
    GenAgentError,
    Interrupted,
    PreTurnCrashed,
    WatchdogTimeout,
    WorkerCrashed,
)
from gen_agent.values import RequestRef

_TIME: Mapping[str, Any] = MappingProxyType({"system_time_s": None})

TURN_START = ("gen_agent", "turn", "start")
TURN_STOP = ("gen_agent", "turn", "stop")
TURN_ERROR = ("gen_agent", "turn", "error")
TURN_REJECTED = ("gen_agent", "turn", "rejected")
TURN_CANCELLED = ("gen_agent", "turn", "cancelled")
PROMPT_START = ("gen_agent", "prompt", "start")
PROMPT_STOP = ("gen_agent", "prompt", "stop")
PROMPT_ERROR = ("gen_agent", "prompt", "error")
EVENT_RECEIVED = ("gen_agent", "event", "received")
STATE_CHANGED = ("gen_agent", "state", "changed")
MAILBOX_QUEUED = ("gen_agent", "mailbox", "queued")
INPUT_REJECTED = ("gen_agent", "input", "rejected")
HALTED = ("gen_agent", "halted")
TERMINATED = ("gen_agent", "terminated")


def started(m: Model, turn: Turn) -> None:
    """A live worker has the prompt (C221, C226)."""
    if not m.heard():
        return
    request = turn.request
    prompt = {
        "agent": m.name,
        "ref": request.ref,
        "attempt": request.attempt,
        "prompt": turn.prompt,
        "original_prompt": request.prompt,
        "rewritten": turn.prompt != request.prompt,
        "agent_state": m.agent_state,
    }
    m.emit(PROMPT_START, _TIME, prompt)
    m.emit(TURN_START, _TIME, _turn(m, request))


def stopped(m: Model, request: Request, duration_s: float) -> None:
    """The turn succeeded (C222, C227)."""
    if not m.heard():
        return
    told = {"agent": m.name, "ref": request.ref, "attempt": request.attempt, "agent_state": m.agent_state}
    m.emit(PROMPT_STOP, {"duration_s": duration_s}, told)
    m.emit(TURN_STOP, {"duration_s": duration_s}, _turn(m, request))


def failed(m: Model, request: Request, error: GenAgentError, duration_s: float) -> None:
    """A turn that had started failed (C223, C228)."""
    if not m.heard():
        return
    prompt_error(m, request.ref, request.attempt, error, duration_s)
    told = _turn(m, request)
    told["reason_kind"] = _failure_kind(error)
    m.emit(TURN_ERROR, {"duration_s": duration_s}, told)


def prompt_error(
    m: Model, ref: RequestRef, attempt: int, error: GenAgentError, duration_s: float | None = None
) -> None:
    """A prompt failed; with a duration only if it was dispatched (C228)."""
    if not m.heard():
        return
    measured = _TIME if duration_s is None else {**_TIME, "duration_s": duration_s}
    told = {"agent": m.name, "ref": ref, "attempt": attempt, "reason": error, "agent_state": m.agent_state}
    m.emit(PROMPT_ERROR, measured, told)


def rejected(m: Model, request: Request, error: GenAgentError) -> None:
    """A request will never be dispatched (C224)."""
    if not m.heard():
        return
    told = _turn(m, request)
    crashed = isinstance(error, PreTurnCrashed)
    told["reason_kind"] = (error.code, error.fields["exception"]) if crashed else error.code
    m.emit(TURN_REJECTED, _TIME, told)


def cancelled(m: Model, request: Request, reason_kind: str) -> None:
    """An accepted request was taken out before it ran: caller_cancelled or caller_down (C225)."""
    if not m.heard():
        return
    told = _turn(m, request)
    told["reason_kind"] = reason_kind
    m.emit(TURN_CANCELLED, _TIME, told)


def queued(m: Model) -> None:
    """A prompt was queued; the depth includes it (C231)."""
    if not m.heard():
        return
    m.emit(MAILBOX_QUEUED, {"depth": len(m.prompts)}, {"agent": m.name})


def refused(m: Model, reason: GenAgentError) -> None:
    """A prompt, notification or message was refused (C232)."""
    if not m.heard():
        return
    m.emit(INPUT_REJECTED, _TIME, {"agent": m.name, "reason": reason})


def received(m: Model, event: object) -> None:
    """A notification came in (C229)."""
    if not m.heard():
        return
    m.emit(EVENT_RECEIVED, _TIME, {"agent": m.name, "event": event})


def phase(m: Model, old: str | None, new: str) -> None:
    """The agent became idle or busy (C230)."""
    if not m.heard():
        return
    m.emit(STATE_CHANGED, _TIME, {"agent": m.name, "from": old, "to": new})


def halted(m: Model) -> None:
    """A halt is complete (C233)."""
    if not m.heard():
        return
    m.emit(HALTED, _TIME, {"agent": m.name, "agent_state": m.agent_state})


def terminated(m: Model, reason: str) -> None:
    """Both termination callbacks have run (C234)."""
    if not m.heard():
        return
    m.emit(TERMINATED, _TIME, {"agent": m.name, "reason": reason})


def _turn(m: Model, request: Request) -> dict[str, Any]:
    return {
        "agent": m.name,
        "ref": request.ref,
        "attempt": request.attempt,
        "origin": request.origin.value,
    }


def _failure_kind(error: GenAgentError) -> str:
    if isinstance(error, (WatchdogTimeout, Interrupted, WorkerCrashed)):
        return error.code
    return "backend_or_callback_error"
