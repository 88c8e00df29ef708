"""One thread at a time, in the process that made the client, until it is closed."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from types import TracebackType


class OneThread:
    """Entered around every use of a client: raises `RuntimeError` instead of waiting
    or mixing messages up. `before` is called at the beginning of each.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._lock = threading.RLock()
        self._pid = os.getpid()
        self._depth = 0
        self.before: Callable[[], None] = _nothing
        self.closed = False

    @property
    def is_here(self) -> bool:
        """Whether this is the process that made the client, and no fork of it."""
        return os.getpid() == self._pid

    def check_process(self) -> None:
        """Raise `RuntimeError` in a fork of the process that made the client."""
        if not self.is_here:
            raise RuntimeError(
                f"this {self._what} was made in another process: use AgentSystem.attach(port) here"
            )

    def __enter__(self) -> OneThread:
        if self.closed:
            raise RuntimeError(f"this {self._what} is closed")
        self.check_process()
        if not self._lock.acquire(blocking=False):
            raise RuntimeError(
                f"one thread at a time: another one is using this {self._what}, use private() for yours"
            )
        self._depth += 1
        try:
            if self._depth == 1:
                self.before()
        except BaseException:
            self._leave()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave()

    def _leave(self) -> None:
        self._depth -= 1
        self._lock.release()


def _nothing() -> None:
    """Nothing is to be done before a use."""
