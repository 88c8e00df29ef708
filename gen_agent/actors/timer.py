"""A kernel timer that wakes whoever watches its descriptor: exact, cancellable, and free while nothing is
due.

Linux's timerfd, by way of the C library. This module must not know Thespian, actors or messages.
"""

from __future__ import annotations

import ctypes
import os
import time

_CLOCK_MONOTONIC = 1
_LONGEST_S = 10.0**9


class _Spec(ctypes.Structure):
    _fields_ = [(name, ctypes.c_long) for name in ("every_s", "every_ns", "value_s", "value_ns")]


class KernelTimer:
    """One timer, unset at first; its descriptor is readable once it is due, until it is set anew."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._fd: int = self._libc.timerfd_create(_CLOCK_MONOTONIC, os.O_NONBLOCK | os.O_CLOEXEC)
        if self._fd < 0:
            raise OSError(ctypes.get_errno(), "timerfd_create")

    def fileno(self) -> int:
        """The descriptor, -1 when closed."""
        return self._fd

    def set(self, due: float | None) -> None:
        """Be due at `due` on `time.monotonic()`, or never for None. Replaces what was set before."""
        left = 0.0 if due is None else min(_LONGEST_S, max(1e-6, due - time.monotonic()))
        whole = int(left)
        spec = _Spec(0, 0, whole, int((left - whole) * 1e9))
        if self._libc.timerfd_settime(self._fd, 0, ctypes.byref(spec), None) != 0:
            raise OSError(ctypes.get_errno(), "timerfd_settime")

    def close(self) -> None:
        """Give the descriptor back; harmless when done twice."""
        descriptor, self._fd = self._fd, -1
        if descriptor >= 0:
            os.close(descriptor)
