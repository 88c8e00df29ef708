"""Puts what agents send to one recipient in order, and `Down` last.

The law: for one recipient, `Down` comes after every Admission, event and Completion of that incarnation that
reaches it at all, and nothing of that incarnation comes after it. Numbers count deliveries of one incarnation
to one recipient; where a base keeps the order they only tell `Down` what to wait for, and nothing waits for a
number that is missing: it went to somebody who had the recipient's address before. Nothing is dropped for
being late, except after `Down`. Time comes in as an argument: this module reads no clock, and knows no actor
and no Thespian.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from gen_agent.messages import Admission, Completion, Down, EventBatch, EventMessage
from gen_agent.remembered import Remembered
from gen_agent.values import Incarnation

DOWN_WAIT_S = 0.3
"""How long `Down` waits at most for announced deliveries that have not come."""

KILLED_WAIT_S = 0.05
"""How long `Down` waits for what a killed agent may have sent last: nobody announced it."""

GAP_WAIT_S = 1.0
"""How long deliveries wait for a missing one before they are handed over without it."""

REMEMBERED = 10_000
"""How many ended incarnations are remembered, to drop what is still under way; and how many missing
deliveries of one that lives, to know them when they come late; and of how many that live the numbers are."""

DELIVERIES = (Admission, EventMessage, EventBatch, Completion)


@attrs.define
class _Source:
    """One incarnation as seen by one recipient."""

    next: int = 1
    early: dict[int, Any] = attrs.field(factory=dict)
    early_since: float = 0.0
    skipped: set[int] = attrs.field(factory=set)
    downs: list[Down] = attrs.field(factory=list)
    down_due: float = 0.0
    last: int | None = None

    def accept(self, number: int, message: Any, now: float) -> list[Any]:
        """Take one numbered delivery; return what may go on now, in order."""
        if number in self.skipped:
            self.skipped.discard(number)
            return [message]
        if number < self.next or number in self.early:
            return []
        if not self.early:
            self.early_since = now
        self.early[number] = message
        return self._in_order()

    def skip_to(self, number: int) -> None:
        """What has a lower number and is not here was not for this recipient."""
        self.next = max(self.next, number)

    def _in_order(self) -> list[Any]:
        ready = []
        while self.next in self.early:
            ready.append(self.early.pop(self.next))
            self.next += 1
        return ready

    def give_up_gap(self, now: float) -> list[Any]:
        """Hand over what waits behind the missing ones; those may still come, late."""
        if not self.early:
            return []
        first = min(self.early)
        self.skipped.update(range(max(self.next, first - REMEMBERED), first))
        self.next, self.early_since = first, now
        return self._in_order()

    def close(self) -> list[Any]:
        """Everything left, in order, and the Downs."""
        rest = [self.early[number] for number in sorted(self.early)]
        return [*rest, *self.downs]

    def complete(self) -> bool:
        """Whether all announced deliveries have come."""
        return self.last is not None and self.next > self.last

    def due(self) -> float | None:
        """When something has to be decided without more messages."""
        times = [self.down_due] if self.downs else []
        if self.early:
            times.append(self.early_since + GAP_WAIT_S)
        return min(times, default=None)


def _never() -> bool:
    return False


class Ordering:
    """The order of everything one recipient gets from agents; `keeps_order` says whether the base does."""

    def __init__(self, keeps_order: Callable[[], bool] = _never) -> None:
        self._keeps_order = keeps_order
        self._sources: dict[Incarnation, _Source] = {}
        self._ended: Remembered[None] = Remembered(REMEMBERED)

    def arrived(self, message: Any, now: float) -> list[Any]:
        """Take a message; return what is to be handed over now, in order. What no agent numbered passes at
        once.
        """
        if isinstance(message, Down):
            return self._down(message, now)
        incarnation = message.incarnation if isinstance(message, DELIVERIES) else None
        if incarnation is None:
            return [message]
        if incarnation in self._ended:
            return []
        if message.delivery is None:
            return [message]
        source = self._source(incarnation)
        if self._keeps_order():
            source.skip_to(message.delivery)
        return [*source.accept(message.delivery, message, now), *self._finished(incarnation, source, now)]

    def _source(self, incarnation: Incarnation) -> _Source:
        source = self._sources.get(incarnation)
        if source is None:
            if len(self._sources) >= REMEMBERED:
                self._forget_one()
            source = self._sources[incarnation] = _Source()
        return source

    def _forget_one(self) -> None:
        # Of most agents without a monitor nobody hears that they have ended. The next delivery of one that
        # has not waits for those that came before, once.
        silent = (whom for whom, source in self._sources.items() if source.due() is None)
        oldest = next(silent, None)
        if oldest is not None:
            del self._sources[oldest]

    def _down(self, down: Down, now: float) -> list[Any]:
        incarnation = down.incarnation
        if incarnation is None or incarnation in self._ended:
            return [down]
        source = self._source(incarnation)
        if not source.downs:
            source.last = down.delivery
            source.down_due = now + self._patience(down)
        source.downs.append(down)
        return self._finished(incarnation, source, now)

    @staticmethod
    def _patience(down: Down) -> float:
        if down.reason == "noproc":
            return 0.0
        return KILLED_WAIT_S if down.delivery is None else DOWN_WAIT_S

    def _finished(self, incarnation: Incarnation, source: _Source, now: float) -> list[Any]:
        if not source.downs or not (source.complete() or now >= source.down_due):
            return []
        del self._sources[incarnation]
        self._ended.add(incarnation, None)
        return source.close()

    def due(self, now: float) -> list[Any]:
        """What has waited long enough by `now`, in order."""
        ready = []
        for incarnation, source in list(self._sources.items()):
            if source.early and now >= source.early_since + GAP_WAIT_S:
                ready += source.give_up_gap(now)
            ready += self._finished(incarnation, source, now)
        return ready

    def deadline(self) -> float | None:
        """When `due` should be called next; None when nothing waits."""
        times = (source.due() for source in self._sources.values())
        return min((time for time in times if time is not None), default=None)
