"""How a worker's log lines leave it: by a transport of its own, made for the first of them.

Most workers never log anything, and a transport costs more than all else that a worker sets up. The law: a
line is on its way when the call that wrote it returns, for nothing runs a loop here; a process forked by the
backend gets a transport of its own with its first line. This module must not know agents.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from thespian.system import logdirector
from thespian.system.transport import TransmitOnly

_LEAVING = timedelta(seconds=0.5)
"""How long one line may take at most to arrive: this process may be killed by the next moment."""


class LogTransport:
    """What Thespian's log handlers send by, as far as they use it: a copy of the transport `pattern`."""

    def __init__(self, pattern: Any) -> None:
        self._pattern = pattern
        self._begin()

    def _begin(self) -> None:
        self._pid, self._own = os.getpid(), None
        # A transport is for one thread at a time, and a backend may log from any.
        self._alone = threading.RLock()

    @contextlib.contextmanager
    def _in_use(self) -> Iterator[Any]:
        if self._pid != os.getpid():
            self._begin()
        with self._alone:
            if self._own is None:
                self._own = self._pattern.external_transport_clone()
            yield self._own

    @property
    def myAddress(self) -> Any:
        """Where a line says that it comes from."""
        with self._in_use() as transport:
            return transport.myAddress

    def scheduleTransmit(self, book: Any, intent: Any) -> None:
        """Send, and wait a little for it to arrive."""
        with self._in_use() as transport:
            transport.scheduleTransmit(book, intent)
            transport.run(TransmitOnly, _LEAVING)


def log_by_itself(inherited: Any) -> None:
    """Have what this process logs leave it, though it runs no loop; `inherited` is its parent's transport."""
    if hasattr(inherited, "seal"):
        inherited.disown()
    logdirector.logTransport = LogTransport(inherited)
