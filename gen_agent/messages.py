"""The public envelopes: what can be said to an agent or a supervisor, and (re-exported) what comes back.

Arguments are checked when a message is made: `TypeError` or `ValueError` in the caller, before anything is
sent (C105, C116). With plain Thespian: `actor_system.ask(address.actor, Ask("hello"), 60)` answers a `Reply`.
This module must not import Thespian: an address is told by its shape.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import attrs

from gen_agent.agent import Agent
from gen_agent.answers import (
    Admission,
    Completion,
    Down,
    EventBatch,
    EventMessage,
    Reply,
    TelemetryMessage,
)
from gen_agent.envelopes import VERSION, Call, Cast, Delivery, Envelope, opened, sealed
from gen_agent.options import AgentOptions, Restart, restart_policy
from gen_agent.sealed import Sealed
from gen_agent.values import (
    MonitorRef,
    Name,
    RequestRef,
    checked_name,
    is_address,
    mint,
    payload_size,
    plain_text,
)

__all__ = [
    # Calls: answered by a Reply
    "StartAgent", "Ask", "Tell", "Poll", "NotifyAck", "InterruptRequest", "CancelRequest", "Drain",
    "ResetSession", "GetStatus", "GetSnapshot", "StopAgent", "Monitor", "Demonitor",
    # Casts: never answered
    "Submit", "Notify", "Interrupt", "HaltAgent", "ResumeAgent",
    # What comes back
    "Admission", "EventMessage", "EventBatch", "Completion", "Reply", "Down", "TelemetryMessage",
    # What they share
    "VERSION", "Envelope", "Call", "Cast", "Delivery", "OnHalt",
]  # fmt: skip

OnHalt = Literal["queue", "fail"]
"""Whether a request waits while its agent is halted, or fails with `Halted`."""

_Field = attrs.Attribute


def _a(kind: type) -> Any:
    def check(_: Any, field: _Field[Any], value: object) -> None:
        if not isinstance(value, kind):
            raise TypeError(f"{field.name}: a {kind.__name__} is needed, not {type(value).__name__}")

    return check


def _address(_: Any, field: _Field[Any], value: object) -> None:
    if not is_address(value):
        kind = type(value).__name__
        raise TypeError(f"{field.name}: an AgentAddress or ActorAddress is needed, not {kind}")


def _on_halt(_: Any, field: _Field[Any], value: object) -> None:
    if value not in ("queue", "fail"):
        kind = ValueError if isinstance(value, str) else TypeError
        raise kind(f"{field.name}: 'queue' or 'fail' is allowed, not {value!r}")


def _target(value: object) -> Any:
    return value if is_address(value) else checked_name(value)


def _event(value: object) -> Any:
    return sealed(value, "event")


_maybe_address = attrs.validators.optional(_address)


# ---------------------------------------------------------------- requests


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class Ask(Call):
    """Run a prompt; the reply is the `Response`, after all retries (C106)."""

    prompt: str = attrs.field(converter=plain_text, validator=_a(str))
    ref: RequestRef = attrs.field(factory=mint.request, validator=_a(RequestRef))


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class Tell(Call):
    """Run a prompt; the reply is its ref, once admitted; poll, or name a `recipient` (C110, C112)."""

    prompt: str = attrs.field(converter=plain_text, validator=_a(str))
    ref: RequestRef = attrs.field(factory=mint.request, validator=_a(RequestRef))
    recipient: Any = attrs.field(default=None, validator=_maybe_address)
    on_halt: OnHalt = attrs.field(default="queue", converter=plain_text, validator=_on_halt)
    stream_to: Any = attrs.field(default=None, validator=_maybe_address)
    stream_batch: bool = attrs.field(default=False, validator=_a(bool))


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class Submit(Cast):
    """Run a prompt; an `Admission` and then a `Completion` go to `recipient` (C195-C206)."""

    prompt: str = attrs.field(converter=plain_text, validator=_a(str))
    recipient: Any = attrs.field(validator=_address)
    ref: RequestRef = attrs.field(factory=mint.request, validator=_a(RequestRef))
    on_halt: OnHalt = attrs.field(default="queue", converter=plain_text, validator=_on_halt)
    stream_to: Any = attrs.field(default=None, validator=_maybe_address)
    stream_batch: bool = attrs.field(default=False, validator=_a(bool))


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class Poll(Call):
    """The reply is the `Response`, the request's error, or `PENDING` (C117)."""

    ref: RequestRef = attrs.field(validator=_a(RequestRef))


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class CancelRequest(Call):
    """Take a queued request back (C122)."""

    ref: RequestRef = attrs.field(validator=_a(RequestRef))


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class InterruptRequest(Call):
    """Kill the active turn if it is this request's (C120)."""

    ref: RequestRef = attrs.field(validator=_a(RequestRef))


# ---------------------------------------------------------------- notifications and controls


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class Notify(Cast):
    """An event for `handle_event`; raises `Unpicklable` here if it can't be sent (C058)."""

    _event: Any = attrs.field(converter=_event, eq=opened)

    @property
    def event(self) -> Any:
        """The event, opened; an `Undecodable` where it can't be."""
        return opened(self._event)

    @property
    def size(self) -> int:
        """What it counts against the limits: its `payload_size`, without pickling it again."""
        return payload_size(self._event)


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class NotifyAck(Call):
    """An event for `handle_event`; the reply says that it was handled or retained (C059, C155)."""

    _event: Any = attrs.field(converter=_event, eq=opened)

    @property
    def event(self) -> Any:
        """The event, opened; an `Undecodable` where it can't be."""
        return opened(self._event)

    @property
    def size(self) -> int:
        """What it counts against the limits: its `payload_size`, without pickling it again."""
        return payload_size(self._event)


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class Interrupt(Cast):
    """Kill the active turn, whatever it is (C119)."""


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class HaltAgent(Cast):
    """Dispatch nothing after the active turn (C125)."""


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class ResumeAgent(Cast):
    """End the halt, or take back one that is pending (C067, C081)."""


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class Drain(Call):
    """Refuse new work, end after the active turn (C213)."""


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class ResetSession(Call):
    """Begin a new session in an idle agent (C126)."""


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class GetStatus(Call):
    """The reply is a `Status` (C192)."""


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class GetSnapshot(Call):
    """The reply is a `RuntimeSnapshot` (C193)."""


# ---------------------------------------------------------------- lives


def _an_agent(value: Any) -> Any:
    if not (isinstance(value, type) and issubclass(value, Agent)) and not isinstance(value, Sealed):
        raise TypeError(f"agent: a subclass of Agent is needed, not {value!r}")
    return sealed(value, "agent")


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class StartAgent(Call):
    """Start an agent; the reply is its `AgentAddress`.

    `options` are the keywords of `start_agent` besides name and backend; agent, backend and options travel
    sealed. `script` is what the agent's process needs to load the program's own main module. `name` may be
    None, for an agent that nobody looks up, if it is not `supervised`. Raises as `start_agent` does for bad
    options.
    """

    _agent: Any = attrs.field(converter=_an_agent, eq=opened)
    name: Name | None = attrs.field(converter=attrs.converters.optional(checked_name), kw_only=True)
    _backend: Any = attrs.field(kw_only=True, eq=opened)
    _options: Any = attrs.field(factory=dict, kw_only=True, eq=opened)
    script: bytes | None = attrs.field(default=None, kw_only=True)
    restart: Restart = attrs.field(
        default="temporary", kw_only=True, converter=plain_text, validator=restart_policy
    )
    supervised: bool = attrs.field(default=True, kw_only=True, validator=_a(bool))
    _requirements: Any = attrs.field(default=None, init=False, eq=opened)

    def __attrs_post_init__(self) -> None:
        if self.name is None and self.supervised:
            raise TypeError("name: a supervised agent needs one")
        AgentOptions.split(self.name, self.backend, **self.options)
        # Only now, so that a bad option is told before an unpicklable one.
        object.__setattr__(self, "_backend", sealed(plain_text(self._backend), "backend"))
        required = self.options.get("requirements")
        if required:
            # The supervisor has to know them, and may not be able to open the options.
            object.__setattr__(self, "_requirements", sealed(dict(required), "requirements"))
        object.__setattr__(self, "_options", sealed(self.options, "options"))

    @property
    def agent(self) -> type[Agent]:
        """The class; an `Undecodable` where it can't be loaded here."""
        agent: type[Agent] = opened(self._agent)
        return agent

    @property
    def backend(self) -> Any:
        """The backend's name, path or class; an `Undecodable` where a class can't be loaded here."""
        return opened(self._backend)

    @property
    def backend_key(self) -> str | bytes:
        """Equal for equal backends, without loading any: how processes are grouped."""
        return self._backend if isinstance(self._backend, str) else self._backend.data

    @property
    def options(self) -> Mapping[str, Any]:
        """The options; an `Undecodable` where they can't be opened here."""
        options: Mapping[str, Any] = opened(self._options)
        return options

    @property
    def requirements(self) -> Mapping[str, Any]:
        """What the agent's system has to be capable of; an `Undecodable` where that can't be opened here."""
        required: Mapping[str, Any] = {} if self._requirements is None else opened(self._requirements)
        return required

    def split(self) -> tuple[AgentOptions, dict[str, Any]]:
        """The checked options, and what goes to `init_agent`; opens backend and options."""
        return AgentOptions.split(self.name, self.backend, **self.options)


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class StopAgent(Call):
    """Stop an agent in an orderly way; sent to its supervisor, or to itself without a target (C127)."""

    target: Any = attrs.field(default=None, converter=attrs.converters.optional(_target))
    timeout: float | None = None


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class Monitor(Call):
    """Send one `Down` with `ref` to `recipient` (None: the sender) when the target is gone."""

    target: Any = attrs.field(converter=_target)
    ref: MonitorRef = attrs.field(factory=mint.monitor, validator=_a(MonitorRef))
    recipient: Any = attrs.field(default=None, validator=_maybe_address)


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class Demonitor(Call):
    """Forget that monitor: no `Down` of it is sent any more."""

    ref: MonitorRef = attrs.field(validator=_a(MonitorRef))
