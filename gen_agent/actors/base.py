"""Our system base: what to give to `ActorSystem`, as an object or by its name.

The law: a system has one key, and who has another learns nothing and is told so at once. Where somebody owns
the system, its guardian passes the transport in; a system started by name is nobody's, lives on when its
starter ends, and shares a key file with all processes of the same user. This module must not know agents.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from thespian.actors import ActorSystem, InvalidActorAddress, ThespianGeneration
from thespian.system.messages.admin import QueryAck, QueryExists
from thespian.system.multiprocCommon import get_multiproc_context, multiprocessCommon
from thespian.system.systemBase import MAX_ADMIN_STATUS_REQ_DELAY, ExternalOpsToActors
from thespian.system.transport import ExternalInterfaceTransportInit, ReceiveEnvelope, SendStatus
from thespian.system.transport.TCPTransport import DEFAULT_ADMIN_PORT

from gen_agent.actors.convention import keep_pace
from gen_agent.actors.identity import machine
from gen_agent.actors.keys import shared_key
from gen_agent.actors.posting import Posting, PrivateEndpoint
from gen_agent.actors.runloop import deadline, remaining
from gen_agent.actors.transport import GenAgentTransport, transport_class
from gen_agent.client.protocol import MACHINE_CAPABILITY, VERSION_CAPABILITY
from gen_agent.envelopes import VERSION

BASE_NAME = "genAgentTCPBase"

STARTING_S = 5.0
"""How long to wait for an admin that is just starting or ending, in seconds."""

_LOOK_AGAIN_S = 0.05


def checked_capabilities(capabilities: dict[str, Any]) -> dict[str, Any]:
    """Add what every system on our base can do; raises `ValueError` for what none can."""
    method = capabilities.get("Process Startup Method", "fork")
    if method != "fork":
        raise ValueError(f"Process Startup Method: only 'fork' is possible on {BASE_NAME}, not {method!r}")
    for refused in ("Admin Routing", "Outbound Only"):
        if capabilities.get(refused):
            raise ValueError(
                f"{refused}: not possible on {BASE_NAME}, whose connections carry messages one way only"
            )
    capabilities["Process Startup Method"] = "fork"
    capabilities[VERSION_CAPABILITY] = VERSION
    capabilities[MACHINE_CAPABILITY] = machine()
    capabilities["Thespian ActorSystem Name"] = BASE_NAME
    capabilities["Thespian ActorSystem Version"] = 2
    capabilities["Thespian Watch Supported"] = True
    capabilities["Thespian Generation"] = ThespianGeneration
    capabilities["Thespian Version"] = str(int(time.time() * 1000))
    capabilities["Python Version"] = tuple(sys.version_info)
    return capabilities


class GenAgentBase(Posting, multiprocessCommon):
    """One script's way into one system: `ActorSystem(GenAgentBase(...), transientUnique=True)`.

    With `start_admin` the admin is forked from this process and the system begins; without, one that runs is
    joined. Raises `InvalidActorAddress` if then no admin answers: there is none, or it has another key.
    """

    def __init__(
        self,
        transport: type[GenAgentTransport],
        capabilities: dict[str, Any],
        log_defs: dict[str, Any] | None = None,
        *,
        start_admin: bool,
    ) -> None:
        self._open(transport, dict(capabilities), log_defs)
        try:
            if start_admin:
                self._start(log_defs)
            self._require_admin()
        except BaseException:
            self.transport.close()
            raise

    def _open(
        self,
        transport: type[GenAgentTransport],
        capabilities: dict[str, Any],
        log_defs: dict[str, Any] | None,
    ) -> None:
        self.capabilities = checked_capabilities(capabilities)
        self.transportType = transport
        self.mpcontext = get_multiproc_context(self.capabilities)
        self.transport = transport(
            ExternalInterfaceTransportInit(), self.capabilities, log_defs, self.mpcontext
        )
        ExternalOpsToActors.__init__(self, self.transport.getAdminAddr(self.capabilities))

    def _start(self, log_defs: dict[str, Any] | None) -> None:
        keep_pace(self.capabilities)
        self._startAdmin(self.adminAddr, self.transport.myAddress, self.capabilities, log_defs)

    def _require_admin(self) -> None:
        refused = self._admin_refuses()
        if refused is None:
            return
        if refused:
            raise InvalidActorAddress(
                self.adminAddr,
                "not ours: what listens there has another key, or is no gen_agent; "
                "the port and the key file have to be those of one system",
            )
        raise InvalidActorAddress(
            self.adminAddr,
            "not an actor system: no admin answers there; is it running, on this port, "
            "and bound to an address that this machine reaches?",
        )

    def _admin_refuses(self) -> bool | None:
        """None if the admin answers; else whether somebody is there who refuses what we send."""
        track = self._tx_to_admin(QueryExists())
        response = self._run_transport(MAX_ADMIN_STATUS_REQ_DELAY)
        track.awaited = False
        if isinstance(response, ReceiveEnvelope) and isinstance(response.message, QueryAck):
            return False if response.message.inShutdown else None
        return bool(track.failed and track.failure == SendStatus.Failed)

    def external_clone(self) -> PrivateEndpoint:
        """Another endpoint of this process, for another thread."""
        return PrivateEndpoint(self.adminAddr, self.transport)


class ActorSystemBase(GenAgentBase):
    """What `ActorSystem("genAgentTCPBase")` makes: joins the system on the admin port, or starts it there.

    The key is that of `$GEN_AGENT_KEY_FILE`, else of the port's key file, which is made if there is none.
    Raises `InvalidActorAddress` at once if something with another key listens there.
    """

    def __init__(self, system: ActorSystem, logDefs: dict[str, Any] | None = None) -> None:
        capabilities = system.capabilities
        port = int(capabilities.setdefault("Admin Port", DEFAULT_ADMIN_PORT))
        self._open(transport_class(shared_key(port)), capabilities, logDefs)
        try:
            self._join_or_start(logDefs)
        except BaseException:
            self.transport.close()
            raise

    def _join_or_start(self, log_defs: dict[str, Any] | None) -> None:
        until = deadline(STARTING_S)
        while True:
            if not self.transport.probeAdmin(self.adminAddr):
                self._start(log_defs)
            refused = self._admin_refuses()
            left = remaining(until)
            if refused is None:
                return
            if refused or left is None or not left:
                self._require_admin()
            time.sleep(_LOOK_AGAIN_S)
