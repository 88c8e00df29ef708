"""The numbers of an agent's deliveries: for each recipient 1, 2, 3 and so on.

The law: as long as a recipient is there, its numbers go on. A recipient that is gone is forgotten, or a
service that is asked by ever new clients would remember each of them. This module must not know Thespian.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from gen_agent.remembered import Tidying


@attrs.define(slots=True, eq=False)
class _Count:
    """One recipient, and the number of the last delivery to it."""

    recipient: Any
    last: int = 0


class Numbers:
    """The last numbers by recipient; `is_gone` says which recipient is there no more."""

    def __init__(self, is_gone: Callable[[Any], bool]) -> None:
        self._is_gone = is_gone
        self._counts: dict[str, _Count] = {}
        self._tidying = Tidying()

    def next(self, key: str, recipient: Any) -> int:
        """The number of the next delivery to the recipient with that key."""
        count = self._counts.get(key)
        if count is None:
            if self._tidying.is_due(len(self._counts)):
                self._tidy()
            count = self._counts[key] = _Count(recipient)
        count.last += 1
        return count.last

    def _tidy(self) -> None:
        self._counts = {
            key: count for key, count in self._counts.items() if not self._is_gone(count.recipient)
        }
        self._tidying.done(len(self._counts))

    def last(self) -> tuple[tuple[str, int], ...]:
        """The number of the last delivery to each recipient."""
        return tuple((key, count.last) for key, count in self._counts.items())
