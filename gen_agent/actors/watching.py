"""Many things to wait for behind one descriptor: links, other processes' deaths, a timer.

Thespian's watch knows only "readable" and costs more with every descriptor, so each of our actors watches
exactly one: a nested epoll that becomes readable when anything below it is ready. Level triggered: what is
ready and not dealt with or removed is reported again. This module must not know Thespian, actors or messages.
"""

from __future__ import annotations

import contextlib
import select
from collections.abc import Hashable
from typing import Protocol

import attrs

from gen_agent.actors.processes import ProcessId, Watched

_DEAD = select.EPOLLHUP | select.EPOLLERR


class HasFileno(Protocol):
    """Something with a descriptor."""

    def fileno(self) -> int:
        """The descriptor."""


@attrs.frozen(slots=True)
class Ready:
    """One thing that is ready: its key, and what for. A process that has ended is `readable`."""

    key: Hashable
    readable: bool
    writable: bool


@attrs.define(slots=True)
class _Entry:
    fd: int
    held: Watched | None
    write: bool


class Watcher:
    """Descriptors and processes under keys, all behind one descriptor of its own."""

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._entries: dict[Hashable, _Entry] = {}
        self._keys: dict[int, Hashable] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._entries

    def fileno(self) -> int:
        """What to watch."""
        return self._epoll.fileno()

    def filenos(self) -> tuple[int, ...]:
        """Every descriptor held here: what a forked child must close."""
        return (self.fileno(), *(entry.fd for entry in self._entries.values()))

    def add(self, thing: HasFileno | int, key: Hashable) -> None:
        """Report `key` when `thing` is readable, until it is removed; raises `KeyError` for a key already in
        use.
        """
        self._enter(key, _Entry(thing if isinstance(thing, int) else thing.fileno(), None, write=False))

    def add_process(self, process: ProcessId, key: Hashable) -> bool:
        """Report `key` when exactly that process has ended; False, and nothing is watched, if it is gone
        already.
        """
        try:
            held = Watched(process)
        except ProcessLookupError:
            return False
        self._enter(key, _Entry(held.fileno(), held, write=False))
        return True

    def _enter(self, key: Hashable, entry: _Entry) -> None:
        if key in self._entries:
            raise KeyError(key)
        self._epoll.register(entry.fd, select.EPOLLIN)
        self._entries[key] = entry
        self._keys[entry.fd] = key

    def want_write(self, key: Hashable, wanted: bool) -> None:
        """Also report `key` when it is writable, or no longer."""
        entry = self._entries[key]
        if entry.write != wanted:
            entry.write = wanted
            self._epoll.modify(entry.fd, select.EPOLLIN | (select.EPOLLOUT if wanted else 0))

    def remove(self, key: Hashable) -> None:
        """Forget `key`, if it is there; a descriptor added by the caller stays the caller's to close,
        afterwards.
        """
        entry = self._entries.pop(key, None)
        if entry is None:
            return
        del self._keys[entry.fd]
        # A descriptor that was closed before it was removed has left the epoll by itself.
        with contextlib.suppress(OSError):
            self._epoll.unregister(entry.fd)
        if entry.held is not None:
            entry.held.close()

    def ready(self) -> list[Ready]:
        """What is ready now, without waiting."""
        return [
            Ready(self._keys[fd], bool(mask & (select.EPOLLIN | _DEAD)), bool(mask & select.EPOLLOUT))
            for fd, mask in self._epoll.poll(0)
            if fd in self._keys
        ]

    def wait_for(self, keys: tuple[Hashable, ...], timeout_s: float | None) -> frozenset[Hashable]:
        """Wait for one of `keys` and nothing else, at most `timeout_s` seconds; which of them are ready."""
        poller = select.poll()
        for entry in (self._entries[key] for key in keys if key in self._entries):
            poller.register(entry.fd, select.POLLIN | (select.POLLOUT if entry.write else 0))
        found = poller.poll(None if timeout_s is None else max(0.0, timeout_s) * 1000)
        return frozenset(self._keys[fd] for fd, _ in found)

    def close(self) -> None:
        """Forget everything and give the descriptors back."""
        for key in tuple(self._entries):
            self.remove(key)
        self._epoll.close()
