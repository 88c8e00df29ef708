"""Pending wakeups of one actor: a heap by due time.

The law: none is lost, those due at once come in the order in which they were asked for, and ten thousand
pending cost what their logarithm says. Times are those of `thespian.system.timing.currentTime`, in seconds.
This module must not know transports.
"""

from __future__ import annotations

import heapq
import itertools
from datetime import timedelta
from typing import Any

import attrs
from thespian.system.timing import ExpirationTimer, currentTime


@attrs.frozen
class Wakeup:
    """One wakeup: after how long, with which payload, and the timer that says when."""

    period: timedelta
    payload: Any = attrs.field(repr=False)
    timer: Any = attrs.field(repr=False)


class Wakeups:
    """The pending ones."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Wakeup]] = []
        self._numbers = itertools.count()

    def add(self, period: timedelta, payload: Any) -> None:
        """Ask for a wakeup after `period`; zero and less is due at once."""
        timer = ExpirationTimer(period)
        due = currentTime() + period.total_seconds()
        heapq.heappush(self._heap, (due, next(self._numbers), Wakeup(period, payload, timer)))

    def next_due(self) -> float | None:
        """When the next one is due, or None."""
        return self._heap[0][0] if self._heap else None

    def take_due(self) -> list[Wakeup]:
        """Those due by now, in order; they are pending no longer."""
        if not self._heap:
            return []
        now, due = currentTime(), []
        while self._heap and self._heap[0][0] <= now:
            due.append(heapq.heappop(self._heap)[2])
        return due

    def pending(self) -> list[Wakeup]:
        """All pending ones, in order."""
        return [entry[2] for entry in sorted(self._heap, key=lambda entry: entry[:2])]
