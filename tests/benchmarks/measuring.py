"""What a measurement is: a function that gives rows, and what a row is to reach.

Floor and ours are measured by turns, so that whatever else the computer does falls on both, and what counts
is the median. A rate is per second, everything else says its unit. Nothing in here measures by itself.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Literal, TypeAlias

import attrs

LONGEST_S = 40.0
"""After so many seconds a measure begins no more rounds."""

Of = Literal["ratio", "ours", "difference"]


@attrs.frozen
class Goal:
    """What is to be reached: `ours / floor`, `ours` or `ours - floor`, at least or at most some limit."""

    limit: float
    of: Of = "ratio"
    most: bool = False

    def met(self, floor: float | None, ours: float) -> bool:
        """Whether these figures reach it; a floor that is missing or zero has no ratio and reaches none."""
        value = self.value(floor, ours)
        if value is None:
            return False
        return value <= self.limit if self.most else value >= self.limit

    def value(self, floor: float | None, ours: float) -> float | None:
        """The figure that counts."""
        if self.of == "ours":
            return ours
        if floor is None:
            return None
        if self.of == "difference":
            return ours - floor
        return ours / floor if floor else None

    def __str__(self) -> str:
        sign = "<=" if self.most else ">="
        number = f"{self.limit:,.2f}".rstrip("0").rstrip(".")
        return {"ratio": f"{sign} {number} x", "ours": f"{sign} {number}", "difference": f"+ {number}"}[
            self.of
        ]


def at_least(limit: float, of: Of = "ratio") -> Goal:
    """More is better."""
    return Goal(limit, of)


def at_most(limit: float, of: Of = "ratio") -> Goal:
    """Less is better."""
    return Goal(limit, of, most=True)


@attrs.frozen
class Row:
    """One line of the table; `floor` is what `ours` is compared with, None where there is nothing."""

    title: str
    unit: str
    floor: float | None
    ours: float
    goal: Goal | None = None
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """`ours / floor`."""
        return self.ours / self.floor if self.floor else None

    @property
    def met(self) -> bool | None:
        """Whether the goal is reached; None without one."""
        return None if self.goal is None else self.goal.met(self.floor, self.ours)


@attrs.frozen
class Scale:
    """How much is done: rounds of everything, seconds of what is counted by time, and sizes."""

    rounds: int = 5
    seconds: float = 0.5
    submissions: int = 1_000
    agents: int = 50
    turns: int = 20
    events: int = 10_000
    slow_events: int = 1_000
    queued: tuple[int, ...] = (10, 1_000, 100_000)
    idle: tuple[int, ...] = (10, 100, 300)
    histories: tuple[int, ...] = (10, 1_000, 10_000)
    megabytes: tuple[int, ...] = (1, 10)


FULL = Scale()
QUICK = Scale(
    rounds=3,
    seconds=0.2,
    submissions=300,
    agents=10,
    turns=10,
    slow_events=300,
    queued=(10, 1_000, 5_000),
    idle=(10, 30, 60),
)

Measure: TypeAlias = Callable[[Scale], list[Row]]


def by_turns(rounds: int, *contenders: Callable[[], float]) -> tuple[float, ...]:
    """The median of each contender, measured in rounds of all: one after the other, then again.

    No round is begun after `LONGEST_S`: a busy computer gets fewer of them, at least one.
    """
    end = time.monotonic() + LONGEST_S
    taken: list[list[float]] = []
    while not taken or (len(taken) < rounds and time.monotonic() < end):
        taken.append([contender() for contender in contenders])
    return tuple(statistics.median(values) for values in zip(*taken, strict=True))
