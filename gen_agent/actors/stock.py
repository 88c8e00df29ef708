"""What scripts have to mend on Thespian's stock TCP transport, each in its own process only.

The law: nothing of Thespian is changed but objects this process made. This module must not know agents.
"""

from __future__ import annotations

import contextlib
import functools
import socket
from typing import Any

from gen_agent.actors.sockets import hang_up


def close_properly(transport: Any) -> None:
    """Have `transport.close()` close its sockets, which the stock transport leaves to the garbage collector.

    Endpoints it is asked for are given the same. Nothing is done to a transport that closes by itself.
    """
    if hasattr(transport, "seal") or "close" in vars(transport):
        return
    clone = transport.external_transport_clone
    transport.close = functools.partial(_close, transport)
    transport.external_transport_clone = lambda: _with_proper_close(clone())


def _with_proper_close(transport: Any) -> Any:
    close_properly(transport)
    return transport


def _close(transport: Any) -> None:
    sockets = [getattr(transport, "socket", None)]
    for table in ("_openSockets", "_incomingSockets", "_transmitIntents"):
        sockets += [getattr(one, "socket", None) for one in getattr(transport, table, {}).values()]
    type(transport).close(transport)
    for sock in sockets:
        if sock is not None:
            sock.close()
    # Calling itself by way of these would keep it alive until the collector comes.
    for name in ("close", "external_transport_clone", "_next_XMIT_1", "_finishIntent"):
        vars(transport).pop(name, None)


def refuse(transport: Any) -> None:
    """Have whoever sends to this endpoint find nobody from now on; what it sends still leaves."""
    hang_up(transport.socket)
    for table in (transport._incomingSockets, transport._openSockets):
        for one in table.values():
            if one.socket is not None:
                hang_up(one.socket)
        table.clear()
    for intent in transport._transmitIntents.values():
        if intent.stage == transport._XMITStepWaitForAck:
            # Its target would answer over the same connection, and wait until that is read.
            with contextlib.suppress(OSError):
                intent.socket.shutdown(socket.SHUT_WR)


def release(transport: Any) -> None:
    """Have an endpoint whose call was broken off let go of what the stock transport holds while it runs."""
    if not hasattr(transport, "seal"):
        transport._aTB_processing = False
        transport._aTB_sending = False
