"""Whether anybody is at an address: for tables of those who never say goodbye.

The law: only what the kernel of this machine knows counts, which is nearly at once: that a port of its own is
not listened on any more. Who is on another machine, or stopped, is there. This module must not know agents.
"""

from __future__ import annotations

from typing import Any

from thespian.system.transport.IPBase import TCPv4ActorAddress, thisSystem

from gen_agent.actors.sockets import refused
from gen_agent.client.targets import actor_of


def is_gone(recipient: Any) -> bool:
    """Whether nobody is at the address of an actor or agent; False where that can't be known at once."""
    details = getattr(actor_of(recipient), "addressDetails", None)
    if not isinstance(details, TCPv4ActorAddress):
        return False
    host, port = details.connectArgs[0][:2]
    return bool(thisSystem.isLocalAddr(host)) and refused((host, port))
