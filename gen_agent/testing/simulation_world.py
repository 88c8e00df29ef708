"""Virtual time: what happens next, in which order, and a trace of it. No clock, no thread, no process.

Law: everything random comes out of one seeded generator, and nothing here depends on addresses, hashes or the
environment, so that the same seed gives the same trace to the letter.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable

Action = Callable[[], None]


class InvariantBroken(AssertionError):
    """What a simulation found to be wrong, and the last lines of its trace."""

    def __init__(self, what: str, trace: tuple[str, ...] = ()) -> None:
        super().__init__("\n".join((what, *trace[-30:])))


class World:
    """The clock and what is due. `now` is in seconds and starts at 0."""

    def __init__(self, seed: int) -> None:
        self.now = 0.0
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self._due: list[tuple[float, int, Action]] = []
        self._count = 0

    def after(self, seconds: float, action: Action) -> None:
        """Do `action` in `seconds`; what is due at one time happens in the order it was asked for."""
        self._count += 1
        heapq.heappush(self._due, (self.now + seconds, self._count, action))

    def advance(self) -> bool:
        """Do the next thing that is due; False when nothing is."""
        if not self._due:
            return False
        self.now, _, action = heapq.heappop(self._due)
        action()
        return True

    def settle(self, seconds: float | None = None, steps: int = 100_000) -> bool:
        """Go on until nothing is due, at most `seconds` (None: no limit) and `steps`; whether it came to
        rest."""
        until = None if seconds is None else self.now + seconds
        for _ in range(steps):
            if not self._due:
                break
            if until is not None and self._due[0][0] > until:
                self.now = until
                return False
            self.advance()
        return not self._due

    def note(self, who: str, what: str) -> None:
        """Add a line to the trace."""
        self.lines.append(f"{self.now:.6f} {who}: {what}")

    def chance(self, probability: float) -> bool:
        """Whether something of this probability happens now."""
        return probability > 0 and self.random.random() < probability

    def broken(self, what: str) -> InvariantBroken:
        """The error to raise for a broken invariant."""
        return InvariantBroken(f"at {self.now:.6f}: {what}", tuple(self.lines))


class Wire:
    """Messages on their way: late by a random delay, in order for one sender and receiver, and no further
    (C239)."""

    def __init__(self, world: World, delay_s: float) -> None:
        self._world = world
        self._delay_s = delay_s
        self._last: dict[tuple[str, str], float] = {}

    def send(self, sender: str, receiver: str, deliver: Action) -> None:
        """Have `deliver` called when the message arrives; whether anybody is still there is its own
        business."""
        delay = self._delay_s * self._world.random.random()
        arrival = max(self._world.now + delay, self._last.get((sender, receiver), 0.0))
        self._last[sender, receiver] = arrival
        self._world.after(arrival - self._world.now, deliver)
