"""What is over and kept for late questions: the last of many, in little memory.

The law: it never holds more than `most` entries, the oldest go first, and of a key only its hash is kept, for
whoever is remembered by thousands is never listed. This module must not know what is remembered.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

V = TypeVar("V")


class Remembered(Generic[V]):
    """The values of the last `most` keys."""

    __slots__ = ("_most", "_values")

    def __init__(self, most: int) -> None:
        self._most = most
        # A key may be forty times as large as its hash of 61 bits, of which no two in thousands are equal.
        self._values: dict[int, V] = {}

    def add(self, key: Hashable, value: V) -> None:
        """Remember one more; a key that is there already keeps its place."""
        self._values[hash(key)] = value
        if len(self._values) > self._most:
            del self._values[next(iter(self._values))]

    def get(self, key: Hashable) -> V | None:
        """The value of that key, if it is still known."""
        return self._values.get(hash(key))

    def __contains__(self, key: Hashable) -> bool:
        return hash(key) in self._values

    def __len__(self) -> int:
        return len(self._values)


class Tidying:
    """When to go through a table that nothing else shrinks: each time it has doubled since the last time.

    So each new entry costs one look at another, however large the table is.
    """

    __slots__ = ("_due", "_least")

    def __init__(self, least: int = 64) -> None:
        self._least = self._due = least

    def is_due(self, size: int) -> bool:
        """Whether a table of that size is to be gone through."""
        return size >= self._due

    def done(self, size: int) -> None:
        """It has that size now."""
        self._due = max(self._least, 2 * size)
