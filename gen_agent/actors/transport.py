"""Our transport: how the processes of one actor system speak with each other.

A subclass of Thespian's TCP transport that keeps its interface and replaces its inside: one lane per target,
so order holds and no target holds up another; one direction per connection; every frame sealed with the
system's key; one listening address, the loopback one unless told otherwise; wakeups that come; a death chain
from the guardian down.

The law: what became of a message is told to its intent exactly once, from `run`, never from within a send. A
message is given up only when its target is dead, closes three fresh connections instead of answering, can't
be reached for as long as Thespian lets a transmit take (5 minutes), or finds its lane full. A target that is
merely stopped or busy is waited for without end: its lane is bounded, and its death is noticed. This module
must not know agents.
"""

from __future__ import annotations

import enum
import logging
import os
import pickle
import socket
import weakref
from collections.abc import Mapping
from typing import Any, ClassVar

from thespian.actors import ActorAddress, PoisonMessage
from thespian.system.transport import (
    ExternalInterfaceTransportInit,
    ReceiveEnvelope,
    SendStatus,
    Thespian__UpdateWork,
)
from thespian.system.transport.IPBase import TCPv4ActorAddress, thisSystem
from thespian.system.transport.TCPTransport import DEFAULT_ADMIN_PORT, ExternalTransportCopy, TCPTransport
from thespian.system.utilis import thesplog

from gen_agent.actors.children import strike_out
from gen_agent.actors.deathchain import follow_guardian, follow_parent
from gen_agent.actors.frames import Answer, Seal
from gen_agent.actors.freshness import STAMP_BYTES, Seen, Stamps, sent_from
from gen_agent.actors.inbox import Inbox
from gen_agent.actors.lanes import Result
from gen_agent.actors.letters import Received
from gen_agent.actors.outbox import LaneFull, Outbox
from gen_agent.actors.places import address_at
from gen_agent.actors.sockets import Key, listener, reachable
from gen_agent.actors.upkeep import Upkeep

LANE_MESSAGES = 100_000
LANE_BYTES = 1 << 30
"""How many messages and bytes may wait for one target."""

_STATUS = {
    Result.TAKEN: SendStatus.Sent,
    Result.UNREADABLE: SendStatus.BadPacket,
    Result.DEAD: SendStatus.DeadTarget,
    Result.FAILED: SendStatus.Failed,
}


class Role(enum.Enum):
    """What the process is in its system: a script, the admin, or an actor or the logger."""

    SCRIPT = enum.auto()
    ADMIN = enum.auto()
    ACTOR = enum.auto()


_transports: weakref.WeakSet[GenAgentTransport] = weakref.WeakSet()


class GenAgentTransport(Upkeep, TCPTransport):
    """The transport of one process; made by `transport_class`, never used by itself.

    Sends may come from any thread, `run` from one at a time. A process that was forked closes its copies of
    its parent's sockets when it makes its own transport.
    """

    seal: ClassVar[Seal]
    bind_host: ClassVar[str] = "127.0.0.1"
    admin_host: ClassVar[str] = "127.0.0.1"
    admin_socket: ClassVar[socket.socket | None] = None
    guardian_pid: ClassVar[int | None] = None
    die_with_parent: ClassVar[bool] = True
    lane_messages: ClassVar[int] = LANE_MESSAGES
    lane_bytes: ClassVar[int] = LANE_BYTES

    def __init__(self, initType: Any, *args: Any) -> None:
        super(TCPTransport, self).__init__()
        self._pid = os.getpid()
        sock = self._take_place(initType, args)
        for inherited in [other for other in _transports if other._pid != self._pid]:
            inherited._abandon()
        self.socket = sock
        self._key: Key = sock.getsockname()
        self.myAddress = ActorAddress(TCPv4ActorAddress(*self._key, external=True))
        self._stamps, self._seen = Stamps(self._key), Seen(self._key)
        self._init_loop()
        bounds = {"max_count": self.lane_messages, "max_bytes": self.lane_bytes}
        self._outbox = Outbox(self._poller, self.seal, self._done, **bounds)
        self._inbox = Inbox(self._poller, self.seal, sock, self._take)
        _transports.add(self)

    def _take_place(self, initType: Any, args: tuple[Any, ...]) -> socket.socket:
        """Find out what this process is, bind its life to its parent's, and return its listening socket."""
        self.txOnly, self._parentAddr, self.role = False, None, Role.SCRIPT
        if isinstance(initType, ExternalInterfaceTransportInit):
            self._adminAddr = self.getAdminAddr(args[0])
        elif isinstance(initType, ExternalTransportCopy):
            self._adminAddr = args[0]
        else:
            _, assigned, self._parentAddr, self._adminAddr, *_ = initType.args
            self.role = Role.ACTOR if assigned is None else Role.ADMIN
            self._join_death_chain(initType.gen_agent_parent)
        if self.role is not Role.ADMIN:
            return listener(self.bind_host, 0)
        return self.admin_socket or listener(self.bind_host, self._adminAddr.addressDetails.connectArgs[0][1])

    def _join_death_chain(self, parent: int) -> None:
        if not self.die_with_parent:
            return
        if self.role is Role.ACTOR:
            follow_parent(parent)
        elif self.guardian_pid is not None:
            follow_guardian(self.guardian_pid)

    # Addresses and endpoints

    @classmethod
    def getAdminAddr(cls, capabilities: Mapping[str, Any]) -> ActorAddress:
        """The address of the admin that a system with these capabilities has, or would have."""
        port = int(capabilities.get("Admin Port", DEFAULT_ADMIN_PORT))
        return ActorAddress(TCPv4ActorAddress(cls.admin_host, port, external=True))

    @staticmethod
    def probeAdmin(addr: ActorAddress) -> bool:
        """Whether anybody listens at that address, at once."""
        return reachable(addr.addressDetails.connectArgs[0])

    def external_transport_clone(self) -> GenAgentTransport:
        """Another transport of this process into the same system, with an address of its own."""
        return type(self)(ExternalTransportCopy(), self._adminAddr)

    def prepEndpoint(self, assignedLocalAddr: ActorAddress, capabilities: Mapping[str, Any]) -> Any:
        """What a process about to be forked needs to know to make its transport."""
        endpoint = super().prepEndpoint(assignedLocalAddr, capabilities)
        endpoint.gen_agent_parent = os.getpid()
        return endpoint

    # Sending and receiving

    def serializer(self, intent: Any) -> bytes:
        """What is to be sealed of an intent; raises what pickling its message raises."""
        return pickle.dumps(intent.message, pickle.HIGHEST_PROTOCOL)

    def _schedulePreparedIntent(self, transmitIntent: Any, has_exclusive_flag: bool = False) -> None:
        key = _key_of(transmitIntent.targetAddr)
        if self._closed:
            transmitIntent.tx_done(SendStatus.Failed)
        elif key is None:
            self._finished.append((transmitIntent, SendStatus.Failed))
        elif isinstance(transmitIntent.message, Thespian__UpdateWork):
            self._finished.append((transmitIntent, SendStatus.Sent))
        elif key == self._key or (key[1] == self._key[1] and transmitIntent.targetAddr == self.myAddress):
            self._arrived.append(ReceiveEnvelope(self.myAddress, transmitIntent.message))
            self._finished.append((transmitIntent, SendStatus.Sent))
            self._bell.ring()
        else:
            self._submit(key, transmitIntent)
        self._call_runner()

    def _submit(self, key: Key, intent: Any) -> None:
        try:
            with self._lock:
                # Numbered where it is queued, for that is the order in which it arrives.
                intent.serMsg = self.seal.frame(intent.serMsg, self._stamps.stamp(key))
                self._outbox.submit(key, intent)
        except LaneFull:
            if self.role is Role.SCRIPT:
                raise
            thesplog("A lane is full: %s refused", type(intent.message).__name__, level=logging.WARNING)
            self._finished.append((intent, SendStatus.Failed))
            # An actor's send can't raise, so the message comes back, as one that can't be pickled does. A log
            # record must not come back: logging would become a message nobody expects.
            if not isinstance(intent.message, (PoisonMessage, logging.LogRecord)):
                poison = PoisonMessage(intent.message, "too many messages wait for this target")
                self._arrived.append(ReceiveEnvelope(intent.targetAddr, poison))

    def _done(self, intent: Any, result: Result) -> None:
        if result is Result.FAILED:
            thesplog("Gave up sending a %s", type(intent.message).__name__, level=logging.WARNING)
        self._finished.append((intent, _STATUS[result]))

    def _take(self, body: bytearray) -> Answer:
        try:
            if not self._seen.is_fresh(body):
                # Sent again because our answer was lost, or by somebody who had listened.
                return Answer.TAKEN
            message = pickle.loads(memoryview(body)[STAMP_BYTES:])
            sender = address_at(sent_from(body))
        except Exception as unreadable:
            thesplog("Can't unpickle a message: %s", type(unreadable).__name__, level=logging.WARNING)
            return Answer.UNREADABLE
        self._arrived.append(Received(sender, message))
        return Answer.TAKEN

    def deadAddress(self, addressManager: Any, childAddr: ActorAddress) -> None:
        """Give up what is queued for a child that has exited; the admin, which sends it nothing more, forgets
        it.
        """
        if self.role is Role.ADMIN:
            strike_out(addressManager, childAddr)
        key = _key_of(childAddr)
        if key is not None and not self._closed:
            with self._lock:
                self._outbox.target_died(key)


def _key_of(address: ActorAddress) -> Key | None:
    details = getattr(address, "addressDetails", None)
    if not isinstance(details, TCPv4ActorAddress):
        return None
    host, port = details.connectArgs[0][:2]
    return host, port


def transport_class(
    key: bytes,
    *,
    bind_host: str = "127.0.0.1",
    admin_host: str | None = None,
    admin_socket: socket.socket | None = None,
    guardian_pid: int | None = None,
    die_with_parent: bool = True,
) -> type[GenAgentTransport]:
    """The transport of the system with this key (16 to 64 bytes).

    `bind_host` is the one IPv4 address all its processes listen on and are known by; `admin_host` is where
    the admin listens, for who joins from another machine (None: `bind_host`). `admin_socket` is a listening
    socket for the admin, which is forked with it. With `die_with_parent` every process dies with the one that
    forked it, and the admin with the process `guardian_pid`, if given. Raises `ValueError` for a key or host
    that can't work.
    """
    parts = bind_host.split(".")
    if len(parts) != 4 or not all(part.isdigit() for part in parts) or bind_host == "0.0.0.0":
        raise ValueError(f"bind_host: one IPv4 address that others can reach is allowed, not {bind_host!r}")
    thisSystem.add_local_addr(bind_host)
    return type(
        "GenAgentTransport",
        (GenAgentTransport,),
        {
            "seal": Seal(key),
            "bind_host": bind_host,
            "admin_host": bind_host if admin_host is None else admin_host,
            "admin_socket": admin_socket,
            "guardian_pid": guardian_pid,
            "die_with_parent": die_with_parent,
        },
    )
