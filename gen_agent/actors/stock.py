"""What scripts and workers have to mend on Thespian's stock TCP transport, each in its own process only.

The law: nothing of Thespian is changed but objects this process made. This module must not know agents.
"""

from __future__ import annotations

import functools
import threading
from datetime import timedelta
from typing import Any

from thespian.system.transport import TransmitOnly

_LEAVING = timedelta(seconds=0.5)
"""How long a worker waits at most for one message to arrive: it may have been killed by the next moment."""


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


def release(transport: Any) -> None:
    """Have an endpoint whose call was broken off let go of what the stock transport holds while it runs."""
    if not hasattr(transport, "seal"):
        transport._aTB_processing = False
        transport._aTB_sending = False


def send_without_loop(transport: Any) -> None:
    """Have everything arrive that is sent from now on, log lines above all, in a process that never returns
    to Thespian's loop.

    Nothing is done to a transport that sends at once by itself.
    """
    if hasattr(transport, "seal"):
        return
    schedule, alone = transport.scheduleTransmit, threading.RLock()

    def send(book: Any, intent: Any, *more: Any, **options: Any) -> None:
        # The loop is for one thread at a time, and a backend may log from any.
        with alone:
            schedule(book, intent, *more, **options)
            transport.run(TransmitOnly, _LEAVING)

    transport.scheduleTransmit = send
