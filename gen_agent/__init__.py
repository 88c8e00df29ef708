"""LLM agents as actors: supervised processes that take one prompt at a time.

General layout, from the inside out; nothing may import what stands below it:

* contracts: `failure`, `errors`, `sealed`, `wire`, `values`, `events`, `backend`, `options`, `agent`,
  `envelopes`, `answers`, `messages`, `telemetry`, `codec`. Values and what users implement.
* `core`: what an agent decides, as a pure machine. No clock, no process, no Thespian.
* `actors` and `client`: the actors that host machines, the wire between them, and how to talk to them.
* `backends`, `cli`, `testing`: what plugs in on top.

Importing this package loads the contracts only, and `AgentSystem` and `AgentClient` when they are used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gen_agent import telemetry
from gen_agent.agent import Agent, Context, Halt, NoReply, Proceed, Prompt, Skip, current_name
from gen_agent.answers import (
    Admission,
    Completion,
    Down,
    EventBatch,
    EventMessage,
    Reply,
    TelemetryMessage,
)
from gen_agent.backend import Backend, Turn
from gen_agent.errors import (
    AgentDown,
    AgentNotFound,
    AgentTerminated,
    AlreadyStarted,
    BackendError,
    BackendFailed,
    BackendStartFailed,
    Busy,
    CallTimeout,
    Cancelled,
    CodecError,
    ConflictingSessionId,
    Draining,
    DrainTimeout,
    EventCaptureOverflow,
    GenAgentError,
    Halted,
    InitAgentFailed,
    InitFailed,
    Interrupted,
    InvalidSessionId,
    NotCurrent,
    NoTerminalEvent,
    NotFound,
    Overloaded,
    PreTurnCrashed,
    PreTurnHalted,
    PreTurnInvalid,
    PreTurnSkipped,
    RequestNotFound,
    ResetFailed,
    SelfStop,
    StartError,
    Undecodable,
    UnknownRequest,
    Unpicklable,
    Unsupported,
    UnsupportedCheckpoint,
    WatchdogTimeout,
    WorkerCrashed,
    WorkerUnavailable,
)
from gen_agent.events import Event, EventCoverage, Omission, Response
from gen_agent.options import AgentOptions, ChildSpec, child_spec
from gen_agent.values import (
    PENDING,
    AgentAddress,
    CallRef,
    CurrentRequest,
    Incarnation,
    MonitorRef,
    RequestRef,
    RuntimeSnapshot,
    Status,
    payload_size,
)

if TYPE_CHECKING:
    from gen_agent import codec
    from gen_agent.actors.system import AgentSystem
    from gen_agent.client.agent_client import AgentClient

__all__ = [
    # Running agents
    "AgentSystem", "AgentClient",
    # Writing an agent
    "Agent", "Context", "NoReply", "Prompt", "Halt", "Proceed", "Skip", "current_name",
    # Writing a backend
    "Backend", "Turn", "Event", "payload_size",
    # Options
    "AgentOptions", "ChildSpec", "child_spec",
    # What comes back
    "Response", "EventCoverage", "Omission", "Admission", "EventMessage", "EventBatch", "Completion", "Reply",
    "Down", "TelemetryMessage", "PENDING", "Status", "RuntimeSnapshot", "CurrentRequest",
    # Who and which
    "AgentAddress", "Incarnation", "RequestRef", "CallRef", "MonitorRef",
    # Errors: of calls
    "GenAgentError", "NotFound", "AgentNotFound", "RequestNotFound", "CallTimeout", "AgentDown",
    "AgentTerminated", "UnknownRequest",
    # Errors: of requests
    "Overloaded", "Draining", "Halted", "Cancelled", "Interrupted", "WatchdogTimeout", "PreTurnSkipped",
    "PreTurnHalted", "PreTurnInvalid", "PreTurnCrashed",
    # Errors: of turns
    "WorkerCrashed", "WorkerUnavailable", "NoTerminalEvent", "EventCaptureOverflow", "UnsupportedCheckpoint",
    "InvalidSessionId", "ConflictingSessionId", "NotCurrent", "BackendFailed", "BackendError",
    # Errors: of controls
    "Busy", "Unsupported", "ResetFailed", "SelfStop", "DrainTimeout",
    # Errors: of starts
    "StartError", "InitFailed", "InitAgentFailed", "BackendStartFailed", "AlreadyStarted",
    # Errors: of values on their way
    "Unpicklable", "Undecodable", "CodecError",
    # Modules
    "codec", "telemetry",
]  # fmt: skip

_LAZY = {"AgentSystem": "gen_agent.actors.system", "AgentClient": "gen_agent.client.agent_client"}


def __getattr__(name: str) -> Any:
    if name == "codec":
        return import_module("gen_agent.codec")
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
