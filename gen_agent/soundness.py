"""Whether an envelope that arrived is one that its constructor would have made.

Unpickling checks nothing: a peer of another version, or one that means harm, may put anything into any
field. The law: whoever receives envelopes asks here before it looks into one, so that behind the door every
field is what it is declared to be. It costs about a microsecond, for fields are told by their names. This
module knows no envelope in particular.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from gen_agent.envelopes import Call, Envelope
from gen_agent.errors import GenAgentError
from gen_agent.sealed import Sealed, SealedRun
from gen_agent.values import (
    AgentAddress,
    Caller,
    CallRef,
    Incarnation,
    MonitorRef,
    RequestRef,
    checked_name,
    is_address,
)
from gen_agent.wire import slots

__all__ = ["is_sound", "sound_call"]

_Check = Callable[[Any], bool]


def _is_number(value: object) -> bool:
    return type(value) is int


def _is_flag(value: object) -> bool:
    return type(value) is bool


def _is_text(value: object) -> bool:
    return type(value) is str


def _is_ref(*kinds: type) -> _Check:
    def check(value: Any) -> bool:
        return type(value) in kinds and type(value.issuer) is str and type(value.number) is int

    return check


def _is_caller(value: Any) -> bool:
    return (
        type(value) is Caller
        and type(value.host) is str
        and type(value.pid) is int
        and type(value.start_time) is int
    )


def _is_incarnation(value: Any) -> bool:
    return (
        type(value) is Incarnation
        and type(value.host) is str
        and type(value.pid) is int
        and type(value.start_time) is int
        and type(value.nonce) is str
    )


def _is_name(value: object) -> bool:
    try:
        checked_name(value)
    except TypeError:
        return False
    return True


def _is_sound_address(value: Any) -> bool:
    if type(value) is not AgentAddress:
        return is_address(value)
    named = value.name is None or _is_name(value.name)
    return named and _is_incarnation(value.incarnation) and is_address(value.actor)


def _is_target(value: object) -> bool:
    return _is_sound_address(value) if is_address(value) else _is_name(value)


def _is_words(value: Any) -> bool:
    return type(value) is tuple and all(map(_is_text, value))


def _is_any(*kinds: type) -> _Check:
    return lambda value: isinstance(value, kinds)


_CHECKS: Mapping[str, _Check] = {
    "call": _is_ref(CallRef),
    "caller": _is_caller,
    "incarnation": _is_incarnation,
    "sequence": _is_number,
    "delivery": _is_number,
    "to": _is_incarnation,
    "prompt": lambda value: isinstance(value, str),
    "ref": _is_ref(RequestRef, MonitorRef),
    "monitor": _is_ref(MonitorRef),
    "recipient": _is_sound_address,
    "where": _is_sound_address,
    "stream_to": _is_sound_address,
    "supervisor": _is_sound_address,
    "on_halt": lambda value: value in ("queue", "fail"),
    "stream_batch": _is_flag,
    "supervised": _is_flag,
    "target": _is_target,
    "name": _is_name,
    "attempt": _is_number,
    "acked": _is_number,
    "dropped_events": _is_number,
    "reason": _is_text,
    "detail": _is_words,
    "start": _is_ref(CallRef),
    "whom": _is_incarnation,
    "script": _is_any(bytes),
    "_agent": _is_any(Sealed),
    "_backend": _is_any(str, Sealed),
    "_options": _is_any(Mapping, Sealed),
    "_requirements": _is_any(Sealed),
    "_error": _is_any(GenAgentError, Sealed),
    "_outcome": _is_any(GenAgentError, Sealed),
    "_events": _is_any(SealedRun),
}
"""What a field has to be, by its name; a field that is not here may be anything."""

_MAY_BE_NONE = frozenset(
    {
        "caller", "incarnation", "sequence", "delivery", "to", "recipient", "where", "stream_to",
        "supervisor", "target", "name", "script", "_requirements", "_error",
    }
)  # fmt: skip


@functools.cache
def _checks(cls: type) -> tuple[tuple[str, bool, _Check], ...]:
    # "name" of telemetry is no agent's, and what has a ref of another kind is refused by its handler.
    return tuple((name, name in _MAY_BE_NONE, _CHECKS[name]) for name in slots(cls) if name in _CHECKS)


def is_sound(message: Envelope) -> bool:
    """Whether every field is what it is declared to be; one that the sender never wrote is not."""
    cls: Any = type(message)
    try:
        for name, may_be_none, check in _checks(cls):
            value = getattr(message, name)
            if not ((may_be_none and value is None) or check(value)):
                return False
        return True
    except (AttributeError, TypeError):
        return False


def sound_call(message: Envelope) -> CallRef | None:
    """The number to answer an unsound message under; None if it is no call, or has no number that serves."""
    call = getattr(message, "call", None) if isinstance(message, Call) else None
    return call if _CHECKS["call"](call) else None
