"""Who a process is, whether it lives, and what runs below it.

The law: a process is (pid, start time), never a pid alone, and no signal leaves towards a pid whose identity
was not checked under a pidfd. This module must not know Thespian, actors or messages.
"""

from __future__ import annotations

import errno
import functools
import os
import select
import signal
from collections.abc import Iterator
from types import TracebackType

import attrs

_GONE = (errno.ENOENT, errno.ESRCH)


@attrs.frozen
class _Stat:
    ppid: int
    start_time: int
    dead: bool


def _stat(pid: int) -> _Stat | None:
    """What the kernel says of `pid`, or None if there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError as failure:
        if failure.errno in _GONE:
            return None
        raise
    # A first thread that has ended shows as a zombie while other threads of its process still run.
    dead = fields[0] in (b"Z", b"X") and int(fields[17]) <= 1
    return _Stat(int(fields[1]), int(fields[19]), dead)


@attrs.frozen
class ProcessId:
    """One process for ever: its pid and the kernel's start time in clock ticks since boot."""

    pid: int
    start_time: int

    @classmethod
    def of(cls, pid: int) -> ProcessId:
        """The identity of the process that has `pid` now, zombies included; raises `ProcessLookupError` if
        none."""
        stat = _stat(pid)
        if stat is None:
            raise ProcessLookupError(errno.ESRCH, f"no process {pid}")
        return cls(pid, stat.start_time)

    def alive(self) -> bool:
        """Whether exactly this process still runs: a zombie and another process under the same pid do not
        count."""
        stat = _stat(self.pid)
        return stat is not None and stat.start_time == self.start_time and not stat.dead

    def signal(self, number: int) -> bool:
        """Send a signal to exactly this process; False if it is gone. Raises `PermissionError` if it is not
        ours."""
        try:
            with Watched(self) as watched:
                return watched.signal(number)
        except ProcessLookupError:
            return False


class Watched:
    """A process held by a pidfd: waitable together with other descriptors, and never mistaken for another.

    Takes a pid (whoever has it now) or a `ProcessId`; raises `ProcessLookupError` if that process is gone.
    The descriptor becomes readable when the process ends, before it is reaped. Close it, or use it in a
    `with` block.
    """

    def __init__(self, process: ProcessId | int) -> None:
        pid = process if isinstance(process, int) else process.pid
        self._fd = os.pidfd_open(pid)
        try:
            self.identity = ProcessId.of(pid)
            if isinstance(process, ProcessId) and process != self.identity:
                raise ProcessLookupError(errno.ESRCH, f"process {pid} is another one by now")
        except BaseException:
            self.close()
            raise

    def fileno(self) -> int:
        """The pidfd, -1 when closed."""
        return self._fd

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until the process has ended (reaped or not), at most `timeout_s`; whether it has."""
        poller = select.poll()
        poller.register(self._fd, select.POLLIN)
        return bool(poller.poll(None if timeout_s is None else max(0.0, timeout_s) * 1000))

    @property
    def ended(self) -> bool:
        """Whether the process has ended, answered at once."""
        return self.wait(0.0)

    def signal(self, number: int) -> bool:
        """Send a signal; False if the process has ended and was reaped."""
        try:
            signal.pidfd_send_signal(self._fd, number)
        except ProcessLookupError:
            return False
        return True

    def close(self) -> None:
        """Give the descriptor back; harmless when done twice."""
        descriptor, self._fd = self._fd, -1
        if descriptor >= 0:
            os.close(descriptor)

    def __enter__(self) -> Watched:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


@functools.cache
def _kernel_lists_children() -> bool:
    return os.path.exists("/proc/thread-self/children")


def _listed_pids(pid: int) -> Iterator[int]:
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError as failure:
        if failure.errno in _GONE:
            return
        raise
    for thread in threads:
        try:
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                yield from map(int, file.read().split())
        except OSError as failure:
            if failure.errno not in _GONE:
                raise


def _all_pids() -> Iterator[int]:
    return (int(name) for name in os.listdir("/proc") if name.isdigit())


def children(pid: int) -> tuple[ProcessId, ...]:
    """The processes whose parent is `pid` now, zombies included; empty if there is no such process.

    The kernel may leave out a sibling of one that ends during the reading: what must be complete is read
    again.
    """
    found = []
    for candidate in _listed_pids(pid) if _kernel_lists_children() else _all_pids():
        stat = _stat(candidate)
        if stat is not None and stat.ppid == pid:
            found.append(ProcessId(candidate, stat.start_time))
    return tuple(found)


def parent_of(pid: int) -> int:
    """The pid of a process' parent; 0 for one that has none here, or is gone."""
    stat = _stat(pid)
    return 0 if stat is None else stat.ppid


def descendants(pid: int) -> tuple[ProcessId, ...]:
    """All that run below `pid`, parents first, without `pid` and without zombies.

    Daemons that left the tree are not below it: they are children of the nearest subreaper above, or of init.
    """
    found: list[ProcessId] = []
    todo = [pid]
    while todo:
        below = children(todo.pop(0))
        found += below
        todo += [child.pid for child in below]
    return tuple(process for process in found if process.alive())


def has_title(process: ProcessId, title: str) -> bool:
    """Whether a process has given itself that title (see `set_title`); False if it is gone."""
    try:
        with open(f"/proc/{process.pid}/comm", "rb") as file:
            return file.read().rstrip(b"\n") == title.encode() and process.alive()
    except OSError:
        return False


def _image(pid: int) -> bytes | None:
    try:
        with open(f"/proc/{pid}/auxv", "rb") as file:
            return file.read() or None
    except OSError:
        return None  # gone, or another user's


def runs_another_program(process: ProcessId) -> bool:
    """Whether a process is known to have come out of this one with an `exec` between, not by forks alone.

    Told by what the kernel hands a program at `exec` and a fork inherits: random addresses, above all. Where
    these are switched off another run of the same program looks like a fork; so does one that is about to be
    dead.
    """
    mine, other = _image(os.getpid()), _image(process.pid)
    return None not in (mine, other) and mine != other and process.alive()
