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

from thespian.actors import ActorSystem
from thespian.system.messages.status import Thespian_StatusReq, Thespian_SystemStatus

from gen_agent.actors.base import GenAgentBase
from gen_agent.actors.posting import Track
from gen_agent.actors.processes import ProcessId, children
from gen_agent.actors.transport import transport_class
from gen_agent.client.protocol import SUPERVISOR, Hello, Shutdown
from gen_agent.messages import Reply

SILENT: Mapping[str, Any] = {"version": 1, "root": {"handlers": [], "level": "CRITICAL"}}
"""Log definitions under which nothing is written: message texts would end up in a log otherwise."""


def _living_children(pid: int) -> frozenset[ProcessId]:
    return frozenset(child for child in children(pid) if child.alive())


def _only(found: frozenset[ProcessId], what: str) -> ProcessId:
    if len(found) != 1:
        raise RuntimeError(f"the system's {what} was to be one process, and is {len(found)}")
    return next(iter(found))


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
        host, port = listening.getsockname()[:2]
        module, _, name = supervisor.rpartition(".")
        supervisor_class = getattr(importlib.import_module(module), name)
        # What is here now is shared by all processes to come, so it is kept away from their collectors.
        gc.collect()
        gc.freeze()
        transport = transport_class(
            key, bind_host=host, admin_socket=listening, guardian_pid=os.getpid(), die_with_parent=True
        )
        base = GenAgentBase(
            transport, {**capabilities, "Admin Port": port}, dict(log_defs or SILENT), start_admin=True
        )
        listening.close()
        try:
            self.admin = _only(_living_children(os.getpid()), "admin")
            self.logger = _only(_living_children(self.admin.pid), "logger")
            system = ActorSystem(base, transientUnique=True)
            self._address = system.createActor(supervisor_class, globalName=SUPERVISOR)
            self.supervisor = _only(_living_children(self.admin.pid) - {self.logger}, "supervisor")
        finally:
            base.transport.close()
        self._transport = transport_class(key, bind_host=host, die_with_parent=False)
        self._port = port

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
