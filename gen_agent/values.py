"""The small values everything else is made of: who, where, which request, how big.

Frozen, hashable, picklable, equal by value. This module must not know messages, agents, actors or Thespian.
"""

from __future__ import annotations

import enum
import itertools
import os
from typing import Any, Union

import attrs

from gen_agent.sealed import Sealed, dump
from gen_agent.wire import flat

Name = Union[str, bytes, int, "tuple[Name, ...]"]
"""What an agent is called: a str, bytes, int, or a tuple of these, compared together with its type (C011)."""


def checked_name(name: object) -> Name:
    """Return `name`, of a subclass (an enum's member) the plain value; or raise `TypeError` in the caller
    naming what is allowed (C011).
    """
    kind = type(name)
    if kind is str or kind is bytes or kind is int:
        return name  # type: ignore[return-value]
    if kind is tuple and name:
        return tuple(checked_name(part) for part in name)  # type: ignore[attr-defined]
    # Whoever keeps names may not have the classes of whoever gives them.
    if isinstance(name, str):
        return str.__str__(name)
    if isinstance(name, bytes):
        return bytes(memoryview(name))
    if isinstance(name, int) and kind is not bool:
        return int.__index__(name)
    raise TypeError(f"name: a str, bytes, int or non-empty tuple of these is allowed, not {kind.__name__}")


def plain_text(value: Any) -> Any:
    """Of an instance of a subclass of `str` the plain string; anything else as it is."""
    return str.__str__(value) if isinstance(value, str) else value


def name_key(name: Name) -> tuple[Any, ...]:
    """The key under which a name is stored: 1 and "1" and b"1" differ, and so do 1 and True (C011)."""
    if isinstance(name, tuple):
        return ("tuple", *(name_key(part) for part in name))
    return (type(name).__name__, name)


def payload_size(value: object) -> int:
    """The size in bytes by which queues, caches and captures are bounded.

    UTF-8 length of a `str`, length of `bytes`, else the length of the value's pickle (protocol 5). Of a
    `Sealed` it is the size of what is inside. Raises `Unpicklable`. A byte limit of 0 refuses everything.
    """
    if isinstance(value, str):
        return len(value.encode("utf-8", "surrogatepass"))
    if isinstance(value, (bytes, bytearray, memoryview)):
        return len(value)
    if isinstance(value, Sealed):
        inside = value.open()
        return payload_size(inside) if isinstance(inside, (str, bytes, bytearray)) else len(value)
    return len(dump(value))


@attrs.frozen(slots=True, order=False)
class _Minted:
    issuer: str
    number: int

    def __hash__(self) -> int:
        # Used a dozen times per call: the number alone tells most of them apart.
        return self.number

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self.number == other.number and self.issuer == other.issuer

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.issuer, self.number)

    def __str__(self) -> str:
        return f"{self.issuer}-{self.number}"


class RequestRef(_Minted):
    """The identity of one request for ever: never reused, also not by a replacement agent (C111)."""

    __slots__ = ()


class CallRef(_Minted):
    """The number under which a call's `Reply` comes back."""

    __slots__ = ()


class MonitorRef(_Minted):
    """The identity of one monitor; its `Down` carries it."""

    __slots__ = ()


for _kind in (RequestRef, CallRef, MonitorRef):
    flat(_kind, "issuer", "number")


class Mint:
    """Issues numbers that no other process and no other mint ever issues; safe across fork."""

    __slots__ = ("_counter", "_issuer", "_pid")

    def __init__(self) -> None:
        self._pid = 0

    def _next(self) -> tuple[str, int]:
        if self._pid != os.getpid():
            self._pid, self._issuer, self._counter = os.getpid(), os.urandom(6).hex(), itertools.count(1)
        return self._issuer, next(self._counter)

    def request(self) -> RequestRef:
        """A new `RequestRef`."""
        return RequestRef(*self._next())

    def call(self) -> CallRef:
        """A new `CallRef`."""
        return CallRef(*self._next())

    def monitor(self) -> MonitorRef:
        """A new `MonitorRef`."""
        return MonitorRef(*self._next())


mint = Mint()
"""The mint of this process."""


@attrs.frozen(slots=True)
class Incarnation:
    """The captured identity of exactly one agent process: never looked up, never retargeted (C211).

    `start_time` is the kernel's start time of the process in clock ticks since boot, so that a reused pid
    differs.
    """

    host: str
    pid: int
    start_time: int
    nonce: str

    def __reduce__(self) -> tuple[Any, ...]:
        return Incarnation, (self.host, self.pid, self.start_time, self.nonce)


flat(Incarnation, "host", "pid", "start_time", "nonce")


@attrs.frozen(slots=True)
class AgentAddress:
    """One agent process, equal by name and incarnation; `actor` is the Thespian `ActorAddress`."""

    name: Any = attrs.field(eq=name_key)
    incarnation: Incarnation
    actor: Any = attrs.field(eq=False, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return AgentAddress, (self.name, self.incarnation, self.actor)


@attrs.frozen(slots=True)
class Caller:
    """Who calls: the process that dies with its queued asks (C108). Host, pid and kernel start time."""

    host: str
    pid: int
    start_time: int

    def __hash__(self) -> int:
        # As of the refs: the number alone tells most of them apart.
        return hash(self.pid)

    def __reduce__(self) -> tuple[Any, ...]:
        return Caller, (self.host, self.pid, self.start_time)


flat(Caller, "host", "pid", "start_time")


def is_address(value: object) -> bool:
    """Whether `value` is an `AgentAddress` or, told by its shape, a Thespian `ActorAddress`."""
    if isinstance(value, AgentAddress):
        return True
    named = any(base.__name__ == "ActorAddress" for base in type(value).__mro__)
    return named and hasattr(value, "addressDetails")


REASONS = (
    "normal", "shutdown", "killed", "callback_failed", "pre_run_failed", "pre_run_crashed", "pre_run_invalid",
    "registry_lost", "noproc", "unreachable",
)  # fmt: skip
"""Why an agent may be gone: the reasons of `Down` and `AgentDown` (C255)."""


class Pending(enum.Enum):
    """The one value `poll` answers for a request that has no outcome yet (C117)."""

    PENDING = "pending"

    def __repr__(self) -> str:
        return "PENDING"


PENDING = Pending.PENDING


@attrs.frozen(slots=True)
class Status:
    """What `status` answers (C192). `agent_state` is the last retained state and is not redacted (C217)."""

    state: str
    name: Any
    queued: int
    current_request: RequestRef | None
    halted: bool
    halt_pending: bool
    draining: bool
    agent_state: Any = attrs.field(repr=False)


@attrs.frozen(slots=True)
class CurrentRequest:
    """The active request in a `RuntimeSnapshot`; `elapsed_s` is an observation, not a countdown (C184)."""

    ref: RequestRef
    origin: str
    attempt: int
    elapsed_s: float
    watchdog_s: float | None


@attrs.frozen(slots=True)
class RuntimeSnapshot:
    """What `runtime_snapshot` answers: no prompt, caller, state, session or event (C193)."""

    phase: str
    halted: bool
    halt_pending: bool
    draining: bool
    pending_prompts: int
    pending_notifications: int
    self_chain_pending: bool
    current_request: CurrentRequest | None
