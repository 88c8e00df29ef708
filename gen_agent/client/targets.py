"""Whom a call is for and how long it may take: checked in the caller, before anything is sent.

A target is a name or an address; an address is an `AgentAddress` or a plain Thespian `ActorAddress`, and
never a name. This module knows no message, actor or Thespian.
"""

from __future__ import annotations

import sys
from typing import Any

from gen_agent.values import AgentAddress, Incarnation, checked_name, is_address

ADDRESS_TIMEOUT_S = 5.0
"""How long `poll`, `cancel_request` and `interrupt_request` wait on an address unless told otherwise (C207).
"""


class _Default:
    def __repr__(self) -> str:
        return "5.0 for an address, None for a name"


DEFAULT_TIMEOUT: Any = _Default()
"""Stands in a signature for "5 seconds on an address, no limit on a name"."""


class _ToSupervisor:
    def __repr__(self) -> str:
        return "TO_SUPERVISOR"


TO_SUPERVISOR: Any = _ToSupervisor()
"""The target of what is for the supervisor, whose address only the client knows."""


def checked_target(target: object) -> Any:
    """The address, or the plain name (C011), that `target` is; raises `TypeError` naming what is allowed."""
    if is_address(target):
        return target
    try:
        # An address is no part of a name: what is looked up is never taken for what is captured.
        return checked_name(target)
    except TypeError:
        raise TypeError(
            f"target: a name (str, bytes, int or a tuple of these) or an address, not {type(target).__name__}"
        ) from None


def checked_address(address: object) -> Any:
    """Return `address`; raises `TypeError` for anything else, names included (C197)."""
    if is_address(address):
        return address
    raise TypeError(f"address: an AgentAddress or an ActorAddress is allowed, not {type(address).__name__}")


def checked_timeout(timeout: object) -> float | None:
    """Return `timeout` in seconds, None for no limit; raises `TypeError` or `ValueError` naming what is
    allowed.
    """
    if timeout is None:
        return None
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
        raise TypeError(f"timeout: a number of seconds >= 0 or None is allowed, not {type(timeout).__name__}")
    if not timeout >= 0:  # NaN is not either
        raise ValueError(f"timeout: a number of seconds >= 0 or None is allowed, not {timeout!r}")
    return None if timeout > sys.float_info.max else float(timeout)


def timeout_on(target: object, timeout: object) -> float | None:
    """The timeout of an exact-request control: what was given, else the default of C207."""
    if timeout is DEFAULT_TIMEOUT:
        return ADDRESS_TIMEOUT_S if is_address(target) else None
    return checked_timeout(timeout)


def incarnation_of(target: object) -> Incarnation | None:
    """Whom exactly an address promises: None for a plain Thespian one."""
    return target.incarnation if isinstance(target, AgentAddress) else None


def actor_of(address: Any) -> Any:
    """The Thespian address behind an address."""
    return address.actor if isinstance(address, AgentAddress) else address
