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
from gen_agent.actors.convention import address_of, leading_port, own_address_towards, with_leader
from gen_agent.actors.guardian import start_guardian
from gen_agent.actors.identity import same_named
from gen_agent.actors.keys import read_key
from gen_agent.actors.processes import require_linux
from gen_agent.actors.scripts import loading
from gen_agent.actors.stock import close_properly
from gen_agent.actors.system_options import Kind, SystemOptions, checked_port
from gen_agent.actors.transport import transport_class
from gen_agent.client.protocol import MACHINE_CAPABILITY, VERSION_CAPABILITY
from gen_agent.envelopes import VERSION

STOCK = "multiprocTCPBase"
SIMPLE = "simpleSystemBase"

REFUSED: Mapping[str, str] = {
    "multiprocUDPBase": "it loses messages to a busy actor, silently",
    "multiprocQueueBase": "one message that can't be unpickled ends the whole system",
}
"""The bases that are refused, and why."""

_KINDS = {BASE_NAME: Kind.OWN, STOCK: Kind.STOCK, SIMPLE: Kind.SIMPLE}

ANSWER_S = 5.0
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


def open_system(system: Any, options: SystemOptions) -> Opened:
    """Start the system a script asked for, or take the caller's; raises `ValueError` or `TypeError` with the
    reason.
    """
    check_place()
    if isinstance(system, ActorSystem):
        options.check_use(Kind.LIVE)
        return wrap(system)
    if not (system is None or isinstance(system, str)):
        raise TypeError(
            f"system: None, the name of a base or an ActorSystem is allowed, not {type(system).__name__}"
        )
    name = BASE_NAME if system is None else system
    check_base(name)
    options.check_use(_KINDS[name])
    check_start_method(options.capabilities or {})
    if name == SIMPLE:
        return _simple(options)
    require_linux()
    return _stock(options) if name == STOCK else _guarded(options)


def check_base(name: str) -> None:
    """Raise `ValueError` for a base that is refused or unknown."""
    if name in REFUSED:
        raise ValueError(f"system: {name} is refused: {REFUSED[name]}")
    if name not in _KINDS:
        raise ValueError(f"system: {BASE_NAME}, {STOCK} or {SIMPLE} is allowed, not {name!r}")


def check_start_method(capabilities: Mapping[str, Any]) -> None:
    """Raise `ValueError` for a start method other than fork."""
    method = capabilities.get("Process Startup Method", "fork")
    if method != "fork":
        raise ValueError(
            f"capabilities: Process Startup Method {method!r} is refused: "
            "only fork lets an agent and its worker inherit their link"
        )


def _simple(options: SystemOptions) -> Opened:
    capabilities = dict(options.capabilities or {})
    # Without definitions of its own this base would reconfigure the logging of the whole program.
    system = ActorSystem(SIMPLE, capabilities, logDefs=options.log_defs or False, transientUnique=True)
    return Opened(system, True, system.shutdown, asks_agents=True)


def _stock(options: SystemOptions) -> Opened:
    # Twenty slots for all targets together freeze an actor as soon as one recipient is busy.
    asyncTransportBase.MAX_PENDING_TRANSMITS = max(
        _NEEDED_TRANSMITS, asyncTransportBase.MAX_PENDING_TRANSMITS
    )
    port = options.admin_port or free_port()
    capabilities = {**(options.capabilities or {}), "Admin Port": port}
    system = ActorSystem(STOCK, capabilities, logDefs=options.log_defs, transientUnique=True)
    close_properly(system._systemBase.transport)
    return Opened(system, True, system.shutdown, True, port)


def free_port() -> int:
    """A port nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _guarded(options: SystemOptions) -> Opened:
    place, port = _checked_bind(options.bind), options.admin_port
    capabilities = with_leader(options.capabilities or {}, place)
    guardian = start_guardian(
        admin_port=leading_port(capabilities, place) if port is None else port,
        bind=place,
        key_file=options.key_file,
        capabilities=capabilities,
        log_defs=options.log_defs,
    )
    try:
        system = _join(guardian.port, place, guardian.key)
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


def _checked_bind(bind: str) -> str:
    if bind in ("", "0.0.0.0", "::"):
        raise ValueError(
            f"bind: {bind!r} is every address at once; name the one by which others are to reach this system"
        )
    return address_of(bind, "bind")


def _join(port: int, host: str, key: bytes) -> ActorSystem:
    own = own_address_towards(host)
    transport = transport_class(key, bind_host=own, admin_host=host, die_with_parent=False)
    base = GenAgentBase(transport, {"Admin Port": port}, start_admin=False)
    return ActorSystem(base, transientUnique=True)


def attach(admin_port: int, host: str, key_file: str | None) -> Opened:
    """Join the running system on that port; raises what says what is missing: the key file, the key, the
    system, or that it runs another version.
    """
    check_place()
    require_linux()
    port = checked_port(admin_port)
    place = address_of(host, "host")
    system = _join(port, place, read_key(port, key_file))
    try:
        _check_system(system._systemBase, f"on port {admin_port} of {host}")
    except BaseException:
        system._systemBase.transport.close()
        raise
    return Opened(system, False, system._systemBase.transport.close, admin_port=admin_port)


def _check_system(base: GenAgentBase, where: str) -> None:
    """Raise `RuntimeError` where the running system would take our messages for something else, or our
    processes for its own.
    """
    status = base.ask(base.adminAddr, Thespian_StatusReq(), ANSWER_S)
    if status is None:
        raise RuntimeError(f"the actor system {where} does not answer within {ANSWER_S:.0f} s")
    theirs = status.capabilities.get(VERSION_CAPABILITY)
    if theirs != VERSION:
        found = "no version" if theirs is None else f"version {theirs}"
        raise RuntimeError(
            f"the actor system {where} speaks {found} of gen_agent's messages, this program "
            f"version {VERSION}: end that system and start it anew with this gen_agent, or use its gen_agent"
        )
    same_name = same_named(status.capabilities.get(MACHINE_CAPABILITY))
    if same_name is not None:
        raise RuntimeError(
            f"the actor system {where} runs on another machine that is called {same_name} too: "
            "give every machine a host name of its own"
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
