"""Deadlines under keys: the next one due in O(log n), any of them replaced or cleared.

Reads no clock: times come in. This module must not know Thespian, actors or messages.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Hashable

_SWEEP_FROM = 64


class Deadlines:
    """At most one deadline per key."""

    def __init__(self) -> None:
        self._due: dict[Hashable, tuple[float, int]] = {}
        self._heap: list[tuple[float, int, Hashable]] = []
        self._numbers = itertools.count()

    def __len__(self) -> int:
        return len(self._due)

    def set(self, key: Hashable, due: float) -> None:
        """Let `key` be due at `due`; replaces an earlier deadline of that key."""
        entry = (due, next(self._numbers))
        self._due[key] = entry
        heapq.heappush(self._heap, (*entry, key))
        if len(self._heap) > _SWEEP_FROM + 2 * len(self._due):
            self._heap = [(*entry, key) for key, entry in self._due.items()]
            heapq.heapify(self._heap)

    def clear(self, key: Hashable) -> None:
        """Forget the deadline of `key`, if it has one."""
        self._due.pop(key, None)

    def next_due(self) -> float | None:
        """When the earliest deadline is due; None without any."""
        while self._heap:
            due, number, key = self._heap[0]
            if self._due.get(key) == (due, number):
                return due
            heapq.heappop(self._heap)
        return None

    def pop_due(self, now: float) -> Hashable | None:
        """Take out the key of the earliest deadline that is due at `now`, in order of their times; None
        without any.
        """
        due = self.next_due()
        if due is None or due > now:
            return None
        key = heapq.heappop(self._heap)[2]
        del self._due[key]
        return key
