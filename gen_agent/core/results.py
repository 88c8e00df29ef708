"""The cache of finished tells: what `poll` and `cancel_request` still know of them (C117, C158-C161).

Bounded in count and bytes, oldest out first; reading changes nothing.
"""

from __future__ import annotations

from collections import OrderedDict

import attrs

from gen_agent.core.signals import Outcome
from gen_agent.sealed import Sealed
from gen_agent.values import RequestRef


@attrs.define(slots=True, eq=False)
class Result:
    """One outcome, its pickle where there is one, and its size in bytes. Made once, and never changed."""

    outcome: Outcome
    sealed: Sealed | None
    size: int


class ResultCache:
    """Outcomes by ref."""

    __slots__ = ("_max_bytes", "_max_count", "entries", "size")

    entries: OrderedDict[RequestRef, Result]
    """What is kept, by ref, the oldest first; to be read only."""

    size: int

    def __init__(self, max_count: int, max_bytes: int) -> None:
        self.entries = OrderedDict()
        self._max_count = max_count
        self._max_bytes = max_bytes
        self.size = 0

    def __len__(self) -> int:
        return len(self.entries)

    def __contains__(self, ref: RequestRef) -> bool:
        return ref in self.entries

    def get(self, ref: RequestRef) -> Result | None:
        """What `ref` ended with, if it is still known."""
        return self.entries.get(ref)

    def put(self, ref: RequestRef, result: Result) -> None:
        """Keep `result`, then evict the oldest until both bounds hold: one huge leaves nothing (C161)."""
        self.entries[ref] = result
        self.size += result.size
        while self.entries and (
            len(self.entries) > self._max_count or self.size > self._max_bytes or not self._max_bytes
        ):
            _, evicted = self.entries.popitem(last=False)
            self.size -= evicted.size
