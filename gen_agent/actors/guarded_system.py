"""The Thespian side of the guardian: starts the admin and the first supervisor, and asks whichever supervisor
lives to shut down.

The law: asking never makes a supervisor. The guardian has an endpoint only while it starts the system and
while it ends it, so that nobody ever waits for it to listen. Imported only after the guardian has set
Thespian's environment. This module must not know agents.
"""

from __future__ import annotations

import gc
import importlib
import os
import socket
from collections.abc import Mapping
from typing import Any

from thespian.actors import Actor, ActorSystem
from thespian.system.messages.status import Thespian_StatusReq, Thespian_SystemStatus

from gen_agent.actors.base import GenAgentBase
from gen_agent.actors.posting import Track
from gen_agent.actors.processes import ProcessId, children
from gen_agent.actors.transport import transport_class
from gen_agent.client.protocol import SUPERVISOR, Hello, Shutdown
from gen_agent.messages import Reply

SILENT: Mapping[str, Any] = {"version": 1, "root": {"handlers": [], "level": "CRITICAL"}}
"""Log definitions under which nothing is written: message texts would end up in a log otherwise."""


GREETING_S = 10.0
"""How long the first supervisor may take to say who it is, where it has to be asked; in seconds."""


def _living_children(pid: int) -> frozenset[ProcessId]:
    return frozenset(child for child in children(pid) if child.alive())


def _age(process: ProcessId) -> tuple[int, int]:
    return process.start_time, process.pid


def _asked(system: ActorSystem, supervisor: Any) -> ProcessId:
    """The process that answers a greeting."""
    reply = system.ask(supervisor, Hello(), GREETING_S)
    if not isinstance(reply, Reply):
        raise RuntimeError("the system's supervisor did not say who it is")
    who = reply.result()
    return ProcessId(who.pid, who.start_time)


def _only(found: frozenset[ProcessId], what: str) -> ProcessId:
    if len(found) != 1:
        raise RuntimeError(f"the system's {what} was to be one process, and is {len(found)}")
    return next(iter(found))


def _class_named(dotted: str) -> type[Actor]:
    module, _, name = dotted.rpartition(".")
    found: type[Actor] = getattr(importlib.import_module(module), name)
    return found


def _started(
    key: bytes, listening: socket.socket, capabilities: Mapping[str, Any], log_defs: Mapping[str, Any] | None
) -> GenAgentBase:
    """Fork the admin, which takes the listening socket over."""
    host, port = listening.getsockname()[:2]
    transport = transport_class(
        key, bind_host=host, admin_socket=listening, guardian_pid=os.getpid(), die_with_parent=True
    )
    capabilities = {**capabilities, "Admin Port": port}
    base = GenAgentBase(transport, capabilities, dict(log_defs or SILENT), start_admin=True)
    listening.close()
    return base


class GuardedSystem:
    """A started system: `admin`, `logger` and `supervisor` are its processes, children of the calling one.

    `listening` is the admin's socket, already bound; it is closed here once the admin has it.
    """

    def __init__(
        self,
        key: bytes,
        listening: socket.socket,
        capabilities: Mapping[str, Any],
        log_defs: Mapping[str, Any] | None,
        supervisor: str,
    ) -> None:
        host, self._port = listening.getsockname()[:2]
        supervisor_class = _class_named(supervisor)
        # What is here now is shared by all processes to come, so it is kept away from their collectors.
        gc.collect()
        gc.freeze()
        base = _started(key, listening, capabilities, log_defs)
        try:
            self._create_supervisor(base, supervisor_class)
        finally:
            base.transport.close()
        self._transport = transport_class(key, bind_host=host, die_with_parent=False)

    def _create_supervisor(self, base: GenAgentBase, supervisor_class: type[Actor]) -> None:
        self.admin = _only(_living_children(os.getpid()), "admin")
        # Another system's outpost may be here already; the logger was before anybody could know of us.
        self.logger = _only(frozenset(sorted(_living_children(self.admin.pid), key=_age)[:1]), "logger")
        system = ActorSystem(base, transientUnique=True)
        self._address = system.createActor(supervisor_class, globalName=SUPERVISOR)
        found = _living_children(self.admin.pid) - {self.logger}
        self.supervisor = _only(found, "supervisor") if len(found) < 2 else _asked(system, self._address)

    def farewell(self, *, lost: bool) -> Farewell | FarewellToSuccessor:
        """Ask the supervisor to end all agents, then itself; raises what joining raises if the admin is
        gone.

        `lost`: the first one is dead, and its successor, if there is one, is to be found by its name.
        """
        base = GenAgentBase(self._transport, {"Admin Port": self._port}, start_admin=False)
        if lost:
            return FarewellToSuccessor(base)
        base.post(self._address, Shutdown())
        return Farewell(base, self.supervisor)


class Farewell:
    """The request to shut down on its way to the supervisor."""

    def __init__(self, base: GenAgentBase, supervisor: ProcessId | None) -> None:
        self._base = base
        self.supervisor = supervisor

    def arrived(self, timeout_s: float) -> bool:
        """Whether the supervisor has it, or is dead, within that time."""
        return self._base.flush(timeout_s)

    def close(self) -> None:
        """Give the endpoint up, whose answers nobody reads: those who send some learn so at once."""
        self._base.transport.close()


class FarewellToSuccessor(Farewell):
    """The request to shut down to a supervisor that clients have made since: found, asked who it is, and
    asked."""

    def __init__(self, base: GenAgentBase) -> None:
        super().__init__(base, None)
        self._hello = Hello()
        self._greeting: Track | None = None
        base.post(base.adminAddr, Thespian_StatusReq())

    def arrived(self, timeout_s: float) -> bool:
        """Whether it has it, is dead, or there is none, within that time."""
        message = self._base.listen(timeout_s)
        if isinstance(message, Thespian_SystemStatus):
            address = message.globalActors.get(SUPERVISOR)
            if address is None:
                return True
            self._greeting = self._base._tx_to_actor(address, self._hello, awaited=False)
            self._base.post(address, Shutdown())
        elif isinstance(message, Reply) and message.call == self._hello.call and message.error is None:
            self.supervisor = ProcessId(message.value.pid, message.value.start_time)
        return self.supervisor is not None or (self._greeting is not None and self._greeting.failed)
