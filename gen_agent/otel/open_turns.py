"""The turns that have begun and not ended: a bounded table of open spans.

Law: an end can get lost (a killed agent, a dropped message), so the oldest turn makes way for a new one when
the table is full. Nothing in here ends a span; whoever is handed one does.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable

import attrs
from opentelemetry.trace import Span


@attrs.frozen(slots=True)
class OpenTurn:
    """A span and when it began, in nanoseconds since the epoch."""

    span: Span
    began_ns: int


class OpenTurns:
    """Open turns by key, the oldest first, at most `limit` of them; for any thread of one process."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._turns: dict[Hashable, OpenTurn] = {}
        self._lock = threading.Lock()

    def put(self, key: Hashable, turn: OpenTurn) -> OpenTurn | None:
        """Keep a turn; return the one that had to make way: of the same key, or the oldest."""
        with self._lock:
            displaced = self._turns.pop(key, None)
            if len(self._turns) >= self._limit:
                displaced = self._turns.pop(next(iter(self._turns)))
            self._turns[key] = turn
            return displaced

    def take(self, key: Hashable) -> OpenTurn | None:
        """Remove and return the turn, None if it is not open."""
        with self._lock:
            return self._turns.pop(key, None)

    def take_all(self) -> tuple[OpenTurn, ...]:
        """Remove and return every turn, the oldest first."""
        with self._lock:
            turns = tuple(self._turns.values())
            self._turns.clear()
            return turns
