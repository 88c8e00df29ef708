"""What all messages share: a version, one cheap way onto the wire, a `repr` without content, and sealing.

Thespian logs the `repr` of messages, so an envelope shows its class and nothing else. User values in it are
sealed when it is made, so that `Unpicklable` is raised in the sender before anything is sent, and opened when
they are asked for, so that processes in between need none of the user's classes.
"""

from __future__ import annotations

from typing import Any

import attrs

from gen_agent import errors
from gen_agent.errors import GenAgentError
from gen_agent.sealed import Sealed
from gen_agent.values import (
    AgentAddress,
    Caller,
    CallRef,
    Incarnation,
    MonitorRef,
    Pending,
    RequestRef,
    RuntimeSnapshot,
    mint,
)
from gen_agent.wire import Wire

VERSION = 1
"""What this release writes into every envelope; a receiver refuses any other."""

# Values of these classes need nothing of the user's to be unpickled, so they travel as they are.
_SCALARS = (type(None), bool, int, float, str, bytes)
_PLAIN = frozenset(
    (*_SCALARS, RequestRef, CallRef, MonitorRef, AgentAddress, Incarnation, Pending, RuntimeSnapshot, Sealed)
)
_OWN_ERRORS = frozenset(
    cls for cls in vars(errors).values() if isinstance(cls, type) and issubclass(cls, GenAgentError)
)


def _is_plain(value: object) -> bool:
    if type(value) in _OWN_ERRORS:
        return all(type(part) in _PLAIN for part in value.args)  # type: ignore[attr-defined]
    return type(value) in _PLAIN


def sealed(value: object, what: str) -> Any:
    """Return `value` as it may travel: itself, or a `Sealed`; raises `Unpicklable(what, type)`."""
    return value if _is_plain(value) else Sealed.of(value, what)


def opened(value: Any) -> Any:
    """Return what `sealed` was given, or an `Undecodable` in its place."""
    return value.open() if type(value) is Sealed else value


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class Envelope(Wire):
    """Base of every message; `version` comes first on the wire, where every release finds it."""

    version: int = attrs.field(default=VERSION, kw_only=True, eq=False)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __str__(self) -> str:
        return f"<{type(self).__name__}>"


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class Call(Envelope):
    """Base of what is answered by a `Reply` with the same `call`.

    `caller` is the process whose death drops a queued ask (C108); `incarnation` None is answered by whoever
    is there, another incarnation by `AgentDown`.
    """

    call: CallRef = attrs.field(factory=mint.call, kw_only=True)
    caller: Caller | None = attrs.field(default=None, kw_only=True)
    incarnation: Incarnation | None = attrs.field(default=None, kw_only=True)


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class Cast(Envelope):
    """Base of what is never answered; dropped by another `incarnation`; `sequence` numbers a sender's."""

    incarnation: Incarnation | None = attrs.field(default=None, kw_only=True)
    sequence: int | None = attrs.field(default=None, kw_only=True, eq=False)


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class Delivery(Envelope):
    """Base of what goes to recipients; `delivery` counts what one incarnation sends to one recipient.

    `to` is the recipient's incarnation, where it was given by an `AgentAddress`: another one drops it (C211).
    """

    incarnation: Incarnation | None = attrs.field(default=None, kw_only=True, eq=False)
    delivery: int | None = attrs.field(default=None, kw_only=True, eq=False)
    to: Incarnation | None = attrs.field(default=None, kw_only=True, eq=False)
