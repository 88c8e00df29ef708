"""What a script may say about the system it opens, and which kind of system can make use of it.

The law: a value that is wrong, or that this system could only ignore, is refused in the caller, under its
option's name and with the reason. This module starts nothing and knows no Thespian.
"""

from __future__ import annotations

import enum
import os
from collections.abc import Mapping
from typing import Any

import attrs

LOOPBACK = "127.0.0.1"
"""Where a system listens unless it is told otherwise."""


class Kind(enum.Enum):
    """What kind of system is opened: `refused` are the options of which it can make no use, for `reason`."""

    OWN = ((), "")
    STOCK = (("bind", "key_file"), "multiprocTCPBase chooses its addresses itself and checks no key")
    SIMPLE = (("admin_port", "bind", "key_file"), "simpleSystemBase listens nowhere: it has no processes")
    LIVE = (
        ("admin_port", "bind", "key_file", "capabilities", "log_defs"),
        "a live ActorSystem runs already and has its own",
    )

    def __init__(self, refused: tuple[str, ...], reason: str) -> None:
        self.refused, self.reason = refused, reason


def checked_port(port: object) -> int:
    """Return `port`; raises `TypeError` for what is no int, `ValueError` for what is no port."""
    if isinstance(port, bool) or not isinstance(port, int):
        raise TypeError(f"admin_port: an int from 1 to 65535 is needed, not {type(port).__name__}")
    if not 0 < port < 65_536:
        raise ValueError(f"admin_port: 1 to 65535 is allowed, not {port}")
    return port


def _port_or_none(_: object, __: attrs.Attribute[Any], port: int | None) -> None:
    if port is not None:
        checked_port(port)


def _one_of(what: str, *types: type) -> Any:
    def check(_: object, field: attrs.Attribute[Any], value: object) -> None:
        if not isinstance(value, types):
            raise TypeError(f"{field.name}: {what} is needed, not {type(value).__name__}")

    return check


_MAPPING = _one_of("a mapping or None", Mapping, type(None))


@attrs.frozen(kw_only=True, repr=False)
class SystemOptions:
    """The options of `AgentSystem`; raises `TypeError` or `ValueError` naming the option and what is
    allowed.
    """

    admin_port: int | None = attrs.field(validator=_port_or_none)
    bind: str = attrs.field(validator=_one_of("an address of this machine", str))
    key_file: str | os.PathLike[str] | None = attrs.field(
        validator=_one_of("a path or None", str, os.PathLike, type(None))
    )
    capabilities: Mapping[str, Any] | None = attrs.field(validator=_MAPPING)
    log_defs: Mapping[str, Any] | None = attrs.field(validator=_MAPPING)

    def check_use(self, kind: Kind) -> None:
        """Raise `ValueError` if something is given of which that kind of system can make no use."""
        for name in kind.refused:
            if getattr(self, name) not in (None, LOOPBACK, {}):
                raise ValueError(f"{name}: not for this system: {kind.reason}")
