"""Where a process listens, in six bytes: how addresses are written by those who have one transport.

Thespian's address of an actor holds nothing but that, and takes longer to pickle than most messages: of our
own messages its place alone travels, and who receives it makes the address once. An address that is more
than a place travels as it is. This module must not know agents or connections.
"""

from __future__ import annotations

import functools
import socket
import struct
from typing import Any

from thespian.actors import ActorAddress
from thespian.system.transport.IPBase import TCPv4ActorAddress

from gen_agent.actors.mailboxes import MailboxAddress
from gen_agent.actors.sockets import Key
from gen_agent.wire import travels

_PLACE = struct.Struct(">4sH")
PLACE_BYTES = _PLACE.size

_KEPT = 16
"""How many addresses are kept for the next message that holds them."""


@functools.lru_cache(_KEPT)
def packed(key: Key) -> bytes:
    """The six bytes of a place; raises `OSError` for a host that is no IPv4 address."""
    return _PLACE.pack(socket.inet_aton(key[0]), key[1])


@functools.lru_cache(_KEPT)
def address_at(place: bytes) -> ActorAddress:
    """The address of whoever listens there; raises `struct.error` for anything but six bytes."""
    return ActorAddress(_details(place))


@functools.lru_cache(_KEPT)
def mailbox_at(place: bytes) -> MailboxAddress:
    """The same of a mailbox."""
    return MailboxAddress(_details(place))


def _details(place: bytes) -> TCPv4ActorAddress:
    host, port = _PLACE.unpack(place)
    return TCPv4ActorAddress(socket.inet_ntoa(host), port, external=True)


def place_of(address: Any) -> bytes | None:
    """The place that is all there is to an address, or None."""
    details = address.addressDetails
    if type(details) is not TCPv4ActorAddress or details.bindname[0] != "":
        return None
    return packed(details.sockname)


travels(ActorAddress, "actors.places.ActorAddress", place_of, address_at)
travels(MailboxAddress, "actors.places.MailboxAddress", place_of, mailbox_at)
