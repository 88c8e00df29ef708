"""One thread at a time, in the process that made the client, until it is closed."""

from __future__ import annotations

import os
import threading
from types import TracebackType


class OneThread:
    """Entered around every use of a client: raises `RuntimeError` instead of waiting
    or mixing messages up.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._lock = threading.RLock()
        self._pid = os.getpid()
        self.closed = False

    def __enter__(self) -> OneThread:
        if self.closed:
            raise RuntimeError(f"this {self._what} is closed")
        if os.getpid() != self._pid:
            raise RuntimeError(
                f"this {self._what} was made in another process: use AgentSystem.attach(port) here"
            )
        if not self._lock.acquire(blocking=False):
            raise RuntimeError(
                f"one thread at a time: another one is using this {self._what}, use private() for yours"
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()
