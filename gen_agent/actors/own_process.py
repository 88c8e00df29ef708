"""What a process sets about itself: whose death it follows, its orphans, its signals, its descriptors.

The law: every function here changes the calling process only, is safe to call twice, and says what it needs.
Most of it is undone by `exec` or by `fork` in ways the docstrings name. This module must not know Thespian,
actors or messages. Linux >= 5.3; elsewhere `require_linux` raises before anything is changed.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import resource
import signal
from collections.abc import Iterable

PR_SET_PDEATHSIG = 1
PR_SET_NAME = 15
PR_SET_CHILD_SUBREAPER = 36

ENDING = "gen_agent ends"
"""The title of a process that ends by itself and has had the kernel bound the time it takes."""

MAX_DESCRIPTORS = 65_536
"""The soft limit `raise_descriptor_limit` stops at: tools that walk every possible descriptor stay usable."""

_NEEDS_LINUX = "gen_agent's processes need Linux >= 5.3 (pidfd); elsewhere use simpleSystemBase"
_IGNORED_BY_PYTHON = frozenset({signal.SIGPIPE, signal.SIGXFSZ})


def require_linux() -> None:
    """Raise `RuntimeError` saying what is missing, where processes can't be watched and killed for
    certain."""
    if not hasattr(os, "pidfd_open") or not hasattr(signal, "pidfd_send_signal"):
        raise RuntimeError(_NEEDS_LINUX)
    try:
        os.close(os.pidfd_open(os.getpid()))
    except OSError as refused:
        raise RuntimeError(f"{_NEEDS_LINUX}; this kernel refuses pidfd_open") from refused


@functools.cache
def _libc() -> ctypes.CDLL:
    # Looked up by whoever forks first: it costs as much as all that is set by it.
    return ctypes.CDLL(None, use_errno=True)


def _prctl(option: int, value: int | bytes) -> None:
    argument = ctypes.c_char_p(value) if isinstance(value, bytes) else ctypes.c_ulong(value)
    if _libc().prctl(option, argument, 0, 0, 0) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def die_with_parent(death_signal: int, expected_ppid: int) -> None:
    """Have the kernel send `death_signal` to this process when its parent dies; exit at once if it is dead
    already.

    `expected_ppid` is the parent's pid as the parent told it: if `os.getppid()` differs afterwards, the
    parent died before the request was made, nobody will ever send the signal, and the process ends here with
    status 1. The setting survives `exec`, not `fork`. The "parent" is the thread that forked us: never fork
    from one that may end.
    """
    _prctl(PR_SET_PDEATHSIG, death_signal)
    if os.getppid() != expected_ppid:
        os._exit(1)


def become_subreaper() -> None:
    """Make this process the parent of every orphan below it, daemons with a session of their own included.

    Such orphans must be reaped here (`kill_children` does). The setting survives `exec`, not `fork`.
    """
    _prctl(PR_SET_CHILD_SUBREAPER, 1)


def reset_signals() -> None:
    """Put every signal that has a handler back to its default, except SIGCHLD.

    For a worker: under a Python handler a segfault spins for ever, and SIGTERM or SIGALRM does not end
    blocked C code. SIGINT ends the process as well. SIGCHLD keeps its handler, by which Thespian learns of
    dead children. Ignored signals stay ignored, SIGPIPE and SIGXFSZ are again, as in any Python, and nothing
    stays blocked. Main thread only.
    """
    for number in _handled():
        if number != signal.SIGCHLD:
            signal.signal(number, signal.SIG_IGN if number in _IGNORED_BY_PYTHON else signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _handled() -> tuple[int, ...]:
    """The signals that have a handler. Asked of the kernel: Python needs a millisecond to name them all."""
    with open("/proc/self/status") as status:
        caught = next(int(line.split()[1], 16) for line in status if line.startswith("SigCgt:"))
    numbers = (*range(1, signal.SIGSYS + 1), *range(signal.SIGRTMIN, signal.SIGRTMAX + 1))
    return tuple(number for number in numbers if caught >> (number - 1) & 1)


def open_descriptors() -> frozenset[int]:
    """The descriptors this process has open now."""
    found = set()
    for name in os.listdir("/proc/self/fd"):
        # The one the listing itself was read from is closed again.
        with contextlib.suppress(OSError):
            os.fstat(int(name))
            found.add(int(name))
    return frozenset(found)


def close_descriptors(keep: Iterable[int]) -> int:
    """Close every descriptor but 0, 1, 2 and those in `keep`; return how many were closed.

    For a forked actor, which inherits what its siblings' parent had open. Objects that own a closed
    descriptor must not be used or closed afterwards: the number may belong to someone else by then.
    """
    victims = open_descriptors() - {0, 1, 2} - frozenset(keep)
    for descriptor in victims:
        os.close(descriptor)
    return len(victims)


def raise_descriptor_limit() -> int:
    """Raise the soft limit of open descriptors to the hard one, at most to `MAX_DESCRIPTORS`; return the soft
    limit.

    Never lowers it. Inherited by every child.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, MAX_DESCRIPTORS)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return soft
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return wanted


def set_title(title: str) -> None:
    """Name the process as `ps -o comm` and `top` show it: the first 15 bytes of `title`, readable by
    everybody."""
    _prctl(PR_SET_NAME, title.encode("utf-8", "replace")[:15])
