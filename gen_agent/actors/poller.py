"""One epoll for all descriptors of a transport, and one for the descriptors its actor watches.

The law: a descriptor costs a system call when it is registered and when it is ready, never once per round; it
is unregistered before it is closed, because a forked process may still hold the same open file. This module
must not know Thespian, frames or messages.
"""

from __future__ import annotations

import contextlib
import select
from collections.abc import Callable, Iterable

READ = select.EPOLLIN
WRITE = select.EPOLLOUT

LONGEST_WAIT_S = 86_400.0
"""No single wait is longer, in seconds: the kernel counts in int milliseconds, which end at 24.8 days."""


class Poller:
    """Descriptors and what to call when one is ready."""

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._calls: dict[int, Callable[[], None]] = {}

    def fileno(self) -> int:
        """The descriptor of the epoll itself, -1 when closed."""
        return self._epoll.fileno()

    def add(self, descriptor: int, events: int, call: Callable[[], None]) -> None:
        """Have `call` made when `descriptor` is ready for `events`; raises `OSError` as the kernel does."""
        self._epoll.register(descriptor, events)
        self._calls[descriptor] = call

    def change(self, descriptor: int, events: int) -> None:
        """Wait for other events."""
        self._epoll.modify(descriptor, events)

    def remove(self, descriptor: int) -> None:
        """Forget a descriptor, which must still be open; one never added is no error."""
        if self._calls.pop(descriptor, None) is not None:
            self._epoll.unregister(descriptor)

    def wait(self, timeout_s: float) -> list[int]:
        """The descriptors ready within `timeout_s`; the only call here that may be made without the lock."""
        if not 0.0 <= timeout_s <= LONGEST_WAIT_S:
            timeout_s = 0.0 if timeout_s < 0.0 else LONGEST_WAIT_S
        return [descriptor for descriptor, _ in self._epoll.poll(timeout_s)]

    def dispatch(self, ready: Iterable[int]) -> None:
        """Make the calls for descriptors that `wait` found ready.

        One may have been closed, and its number taken by another, meanwhile: calls must bear not being ready.
        """
        for descriptor in ready:
            call = self._calls.get(descriptor)
            if call is not None:
                call()

    def close(self) -> None:
        """Close the epoll; the registered descriptors stay open, and another process' copy stays as it is."""
        self._calls.clear()
        self._epoll.close()


class Nested(Poller):
    """A poller behind another one, which need not heed it all the time."""

    def __init__(self, outer: Poller) -> None:
        super().__init__()
        self._outer = outer
        self.heeded = False
        self.heed(True)

    def heed(self, heeded: bool) -> None:
        """Have the outer poller's wait ended by what is ready in here, or not."""
        if heeded == self.heeded:
            return
        self.heeded = heeded
        if heeded:
            self._outer.add(self.fileno(), READ, self.look)
        else:
            self._outer.remove(self.fileno())

    def look(self) -> None:
        """Make the calls for what is ready now."""
        self.dispatch(self.wait(0.0))


class Watches:
    """The descriptors an actor asked to be told about, behind one epoll that can be registered as a whole."""

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._watched: frozenset[int] = frozenset()

    def fileno(self) -> int:
        """The descriptor of the epoll itself, readable when a watched one is."""
        return self._epoll.fileno()

    @property
    def any(self) -> bool:
        """Whether anything is watched."""
        return bool(self._watched)

    def set(self, descriptors: Iterable[object]) -> None:
        """Watch exactly these from now on.

        What can't be watched (closed, a regular file, not a descriptor) is left out, twice the same is once.
        """
        wanted = frozenset(fd for fd in descriptors if isinstance(fd, int) and fd >= 0)
        for descriptor in self._watched - wanted:
            with contextlib.suppress(OSError):  # closed since: the kernel has forgotten it already
                self._epoll.unregister(descriptor)
        self._watched = frozenset(fd for fd in wanted if self._register(fd))

    def _register(self, descriptor: int) -> bool:
        try:
            self._epoll.modify(descriptor, READ)
        except OSError:
            try:
                self._epoll.register(descriptor, READ)
            except OSError:
                return False
        return True

    def ready(self) -> list[int]:
        """The watched descriptors that are readable or hung up now."""
        return [fd for fd, _ in self._epoll.poll(0) if fd in self._watched]

    def close(self) -> None:
        """Stop watching."""
        self._watched = frozenset()
        self._epoll.close()
