"""A descriptor that wakes a waiting transport, rung from signal handlers and from other threads.

The law: ringing is one system call, never waits, and is not lost if nobody waits yet. This module must not
know transports.
"""

from __future__ import annotations

import contextlib
import os


class Bell:
    """Readable after `ring` until `silence`."""

    def __init__(self) -> None:
        self._descriptor = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)

    def fileno(self) -> int:
        """The descriptor, -1 when closed."""
        return self._descriptor

    def ring(self) -> None:
        """Make the descriptor readable; nothing happens once it is closed."""
        if self._descriptor >= 0:
            os.eventfd_write(self._descriptor, 1)

    def silence(self) -> None:
        """Make it unreadable until the next ring."""
        with contextlib.suppress(BlockingIOError):  # silenced already, which is what was wanted
            os.eventfd_read(self._descriptor)

    def close(self) -> None:
        """Close the descriptor."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)
