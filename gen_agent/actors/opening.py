"""How a script gets an actor system: starts its own, joins a running one, or uses the caller's.

The law: a base that loses messages or that one message can kill is refused with the reason, and so is every
start method but fork. Who starts a system ends it; who joins one leaves it alone. This module must not know
agents.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from typing import Any

import attrs
from thespian.actors import ActorSystem
from thespian.system.messages.status import Thespian_StatusReq
from thespian.system.transport import asyncTransportBase

from gen_agent.actors.base import BASE_NAME, GenAgentBase
from gen_agent.actors.guardian import start_guardian
from gen_agent.actors.keys import read_key
from gen_agent.actors.processes import require_linux
from gen_agent.actors.scripts import loading
from gen_agent.actors.stock import close_properly
from gen_agent.actors.transport import transport_class
from gen_agent.client.protocol import VERSION_CAPABILITY
from gen_agent.envelopes import VERSION

STOCK = "multiprocTCPBase"
SIMPLE = "simpleSystemBase"

REFUSED: Mapping[str, str] = {
    "multiprocUDPBase": "it loses messages to a busy actor, silently",
    "multiprocQueueBase": "one message that can't be unpickled ends the whole system",
}
"""The bases that are refused, and why."""

ANSWER_S = 10.0
"""How long a running system has to say what it is, in seconds."""

_NEEDED_TRANSMITS = 500

_GUARD = (
    "AgentSystem() was made while this script is loaded in an agent's process: "
    'put what starts the program under if __name__ == "__main__":'
)


@attrs.frozen
class Opened:
    """A system to work with, whether it is ours, and how to end it (nothing for one that is not).

    `asks_agents`: its agents have to be asked to end before; a guardian does that itself.
    """

    system: ActorSystem
    owned: bool
    end: Callable[[], None]
    asks_agents: bool = False
    admin_port: int | None = None


def _leave() -> None:
    """A system of somebody else's lives on."""


def check_place() -> None:
    """Raise `RuntimeError` where no system may be made: while a script is being
    loaded in an agent's process.
    """
    if loading():
        raise RuntimeError(_GUARD)


def open_system(
    system: Any,
    *,
    admin_port: int | None,
    bind: str,
    key_file: str | None,
    capabilities: Mapping[str, Any] | None,
    log_defs: Mapping[str, Any] | None,
) -> Opened:
    """Start the system a script asked for, or take the caller's; raises `ValueError` or `TypeError` with the
    reason.
    """
    check_place()
    own = {**(capabilities or {})}
    if isinstance(system, ActorSystem):
        if own or admin_port is not None:
            raise ValueError("system: a live ActorSystem has its port and capabilities already")
        return wrap(system)
    if not (system is None or isinstance(system, str)):
        raise TypeError(
            f"system: None, the name of a base or an ActorSystem is allowed, not {type(system).__name__}"
        )
    name = BASE_NAME if system is None else system
    check_base(name)
    check_start_method(own)
    if name == SIMPLE:
        return _simple(own, log_defs)
    require_linux()
    if name == STOCK:
        return _stock(own, admin_port, log_defs)
    return _guarded(own, admin_port, bind, key_file, log_defs)


def check_base(name: str) -> None:
    """Raise `ValueError` for a base that is refused or unknown."""
    if name in REFUSED:
        raise ValueError(f"system: {name} is refused: {REFUSED[name]}")
    if name not in (BASE_NAME, STOCK, SIMPLE):
        raise ValueError(f"system: {BASE_NAME}, {STOCK} or {SIMPLE} is allowed, not {name!r}")


def check_start_method(capabilities: Mapping[str, Any]) -> None:
    """Raise `ValueError` for a start method other than fork."""
    method = capabilities.get("Process Startup Method", "fork")
    if method != "fork":
        raise ValueError(
            f"capabilities: Process Startup Method {method!r} is refused: "
            "only fork lets an agent and its worker inherit their link"
        )


def _simple(capabilities: dict[str, Any], log_defs: Any) -> Opened:
    # Without definitions of its own this base would reconfigure the logging of the whole program.
    system = ActorSystem(SIMPLE, capabilities, logDefs=log_defs or False, transientUnique=True)
    return Opened(system, True, system.shutdown, asks_agents=True)


def _stock(capabilities: dict[str, Any], port: int | None, log_defs: Any) -> Opened:
    # Twenty slots for all targets together freeze an actor as soon as one recipient is busy.
    asyncTransportBase.MAX_PENDING_TRANSMITS = max(
        _NEEDED_TRANSMITS, asyncTransportBase.MAX_PENDING_TRANSMITS
    )
    capabilities["Admin Port"] = free_port() if port is None else port
    system = ActorSystem(STOCK, capabilities, logDefs=log_defs, transientUnique=True)
    close_properly(system._systemBase.transport)
    return Opened(system, True, system.shutdown, True, capabilities["Admin Port"])


def free_port() -> int:
    """A port nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _guarded(
    capabilities: dict[str, Any], port: int | None, bind: str, key_file: str | None, log_defs: Any
) -> Opened:
    guardian = start_guardian(
        admin_port=port, bind=bind, key_file=key_file, capabilities=capabilities, log_defs=log_defs
    )
    try:
        system = _join(guardian.port, bind, guardian.key)
    except BaseException:
        guardian.close()
        raise

    def end() -> None:
        """End the system, and this process' own way into it."""
        try:
            system._systemBase.transport.close()
        finally:
            guardian.close()

    return Opened(system, True, end, admin_port=guardian.port)


def _join(port: int, host: str, key: bytes) -> ActorSystem:
    transport = transport_class(key, bind_host=host, die_with_parent=False)
    base = GenAgentBase(transport, {"Admin Port": port}, start_admin=False)
    return ActorSystem(base, transientUnique=True)


def attach(admin_port: int, host: str, key_file: str | None) -> Opened:
    """Join the running system on that port; raises what says what is missing: the key file, the key, the
    system, or that it runs another version.
    """
    check_place()
    require_linux()
    if isinstance(admin_port, bool) or not isinstance(admin_port, int):
        raise TypeError(f"admin_port: an int is needed, not {type(admin_port).__name__}")
    system = _join(admin_port, host, read_key(admin_port, key_file))
    try:
        _check_version(system._systemBase, admin_port)
    except BaseException:
        system._systemBase.transport.close()
        raise
    return Opened(system, False, system._systemBase.transport.close, admin_port=admin_port)


def _check_version(base: GenAgentBase, admin_port: int) -> None:
    """Raise `RuntimeError` where the running system would take our messages for something else."""
    status = base.ask(base.adminAddr, Thespian_StatusReq(), ANSWER_S)
    if status is None:
        raise RuntimeError(f"the actor system on port {admin_port} does not answer within {ANSWER_S:.0f} s")
    theirs = status.capabilities.get(VERSION_CAPABILITY)
    if theirs != VERSION:
        found = "no version" if theirs is None else f"version {theirs}"
        raise RuntimeError(
            f"the actor system on port {admin_port} speaks {found} of gen_agent's messages, this program "
            f"version {VERSION}: end that system and start it anew with this gen_agent, or use its gen_agent"
        )


def wrap(system: ActorSystem) -> Opened:
    """Use the caller's system as it is; raises `ValueError` for one that is refused or has been shut down."""
    base = system._systemBase
    if base is None:
        raise ValueError("system: this ActorSystem has been shut down")
    for refused in REFUSED:
        if any(cls.__module__.endswith(refused) for cls in type(base).__mro__):
            check_base(refused)
    check_start_method(getattr(system, "capabilities", {}))
    return Opened(system, False, _leave, admin_port=_port_of(system))


def _port_of(system: ActorSystem) -> int | None:
    port = getattr(system, "capabilities", {}).get("Admin Port")
    return port if isinstance(port, int) else None
