"""Whose children these are: an agent's process has its worker, what callbacks started, and what workers left
behind.

The agent is a subreaper: a daemon that a worker's tool left behind becomes the agent's child and must die
with the next kill, while a program that a callback started must live. Callbacks never run during a turn, so
what appears while one runs is the callback's, and what appeared before it is a worker's. Reads the kernel's
list of children and changes nothing but to reap. This module must not know Thespian, actors or messages.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable

from gen_agent.actors.processes import ProcessId, children

_LONGEST = 1 << 20
_CHANGED = b"?"


class Household:
    """The children of this process, sorted by whose they are. `read` and `list_` are what it looks at."""

    def __init__(
        self,
        read: Callable[[], bytes] | None = None,
        list_: Callable[[], tuple[ProcessId, ...]] | None = None,
    ) -> None:
        self._read = read or _KernelList()
        self._list = list_ or _children
        self._seen = b""
        self._callbacks: frozenset[ProcessId] = frozenset()
        self._others: frozenset[ProcessId] = frozenset()
        self._inside = False

    @property
    def of_callbacks(self) -> frozenset[ProcessId]:
        """What callbacks started and still runs: to be spared by a kill."""
        return self._callbacks

    def enter(self) -> None:
        """A callback is about to run: all that is new was a worker's doing. Harmless when already inside."""
        if self._inside:
            return
        self._inside = True
        fresh = self._fresh()
        self._others |= fresh
        for process in fresh:
            _reap_if_dead(process)

    def leave(self) -> None:
        """The callbacks of this step have run: all that is new is theirs. Harmless when not inside.

        To be called before a turn is handed over: a worker's first daemon may come home within microseconds.
        """
        if self._inside:
            self._inside = False
            self._callbacks |= self._fresh()

    def close(self) -> None:
        """Give back the descriptors the kernel's list is read by."""
        if isinstance(self._read, _KernelList):
            self._read.close()

    def workers_child(self, process: ProcessId) -> None:
        """This child is a worker, whenever it was made."""
        self._others |= {process}
        # The list may be the same when this one is gone again, which must be forgotten then.
        self._seen = _CHANGED

    def _fresh(self) -> frozenset[ProcessId]:
        raw = self._read()
        if raw == self._seen:
            return frozenset()
        self._seen = raw
        now = frozenset(self._list())
        self._callbacks &= now
        self._others &= now
        return now - self._callbacks - self._others


def _children() -> tuple[ProcessId, ...]:
    return children(os.getpid())


class _KernelList:
    """The kernel's list of this process' children, as bytes: cheap to read again and again."""

    def __init__(self) -> None:
        self._files: dict[str, int] = {}

    def __call__(self) -> bytes:
        # The kernel keeps a list per thread, and gives orphans to the first. Threads of C code fork nothing.
        alone = threading.active_count() == 1 and threading.current_thread() is threading.main_thread()
        threads = [str(os.getpid())] if alone else os.listdir("/proc/self/task")
        for gone in self._files.keys() - set(threads):
            os.close(self._files.pop(gone))
        return b"".join(self._read(thread) for thread in threads)

    def close(self) -> None:
        """Give the descriptors back."""
        while self._files:
            os.close(self._files.popitem()[1])

    def _read(self, thread: str) -> bytes:
        try:
            if thread not in self._files:
                self._files[thread] = os.open(f"/proc/self/task/{thread}/children", os.O_RDONLY)
            return os.pread(self._files[thread], _LONGEST, 0)
        except OSError:
            # That thread has just ended; its children are another thread's now.
            return b""


def _reap_if_dead(process: ProcessId) -> None:
    if not process.alive():
        with contextlib.suppress(ChildProcessError):
            os.waitpid(process.pid, os.WNOHANG)
