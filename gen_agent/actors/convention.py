"""Systems of several machines that work together: who leads, who listens where, who can have an agent.

Thespian calls it a convention: every system names the same leader, the leader is the one whose own admin
listens there, and an actor with requirements is made in a system whose capabilities meet them. The law: names
of machines become addresses here, once, before anything is started; a system that the others could not reach
is refused with the reason. This module must not know agents.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from thespian.system.admin import convention
from thespian.system.messages.convention import CONV_ADDR_IPV4_CAPABILITY

from gen_agent.actors.sockets import reachable

LEADER = CONV_ADDR_IPV4_CAPABILITY
"""The capability that names the leader: ("host", port), or a list of these, the first of which leads."""

CHECK_IN_S = 2.0
"""How often a member tells its leader that it is there, in seconds; after three times it is forgotten."""

_PACES = ("CONVENTION_REREGISTRATION_PERIOD", "CONVENTION_RESTART_PERIOD")


def meets(capabilities: Mapping[str, Any], requirements: Mapping[str, Any]) -> bool:
    """Whether a system has every capability that is required, with the value required."""
    return all(name in capabilities and capabilities[name] == value for name, value in requirements.items())


def address_of(host: str, what: str) -> str:
    """The IPv4 address of a machine's name; raises `ValueError`, naming `what` it was given for."""
    try:
        return socket.gethostbyname(host)
    except OSError as unknown:
        raise ValueError(f"{what}: no IPv4 address is known for {host!r} ({unknown.strerror})") from None


def own_address_towards(host: str) -> str:
    """The address under which this machine is known to `host`; raises `OSError` where there is no way."""
    if host.startswith("127."):
        return host
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        # Nothing is sent: the kernel only says which way it would go.
        probe.connect((host, 9))
        return str(probe.getsockname()[0])


def with_leader(capabilities: Mapping[str, Any], bind: str) -> dict[str, Any]:
    """The capabilities with the leader's name resolved; raises `ValueError` or `TypeError` for a leader that
    is none, or that could not reach a system on `bind`.
    """
    named = dict(capabilities)
    if named.get(LEADER) is None:
        return named
    given = named[LEADER]
    leaders = [_place(one) for one in (given if isinstance(given, list) else [given])]
    away = [host for host, _ in leaders if not host.startswith("127.")]
    if away and bind.startswith("127."):
        raise ValueError(
            f"bind: the leader at {away[0]} can't reach {bind}: "
            "give this machine's own address in that network, bind=\"...\""
        )
    named[LEADER] = leaders if isinstance(given, list) else leaders[0]
    return named


def leading_port(capabilities: Mapping[str, Any], bind: str) -> int | None:
    """The admin port of a system that is to lead: the one named for the leader on `bind`, if it is free."""
    leader = capabilities.get(LEADER)
    place: tuple[str, int] | None = leader[0] if isinstance(leader, list) else leader
    if place is None or place[0] != bind or reachable(place):
        return None
    return place[1]


def _place(given: Any) -> tuple[str, int]:
    parts = given.rpartition(":")[::2] if isinstance(given, str) else given
    try:
        host, port = parts
        number = int(port)
    except (TypeError, ValueError):
        raise TypeError(f'capabilities: {LEADER}: ("host", port) is allowed, not {given!r}') from None
    if not isinstance(host, str) or not host or not 0 < number < 65_536:
        raise ValueError(f'capabilities: {LEADER}: ("host", port) is allowed, not {given!r}')
    return address_of(host, f"capabilities: {LEADER}"), number


def keep_pace(capabilities: Mapping[str, Any]) -> None:
    """Before an admin of a convention is forked: have members check in, and look for a leader that is not
    there yet, every `CHECK_IN_S`, not every few minutes, unless the environment says otherwise. A system by
    itself is left alone.
    """
    if capabilities.get(LEADER) is None:
        return
    for period in _PACES:
        if not os.environ.get(period):
            setattr(convention, period, timedelta(seconds=CHECK_IN_S))
