"""What an agent sends, per recipient: in order, one transmission at a time (two to a mailbox), the rest put
together meanwhile.

The law: completions, admissions and replies are never dropped. Stream events are, above `max_relay_events`
(or `RELAY_BYTES`) waiting for one recipient; they are counted and told with the completion. Nothing here
waits for a recipient, and a dead one costs its own messages only. This module must not know Thespian: it is
given a function that transmits.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from typing import Any

import attrs

from gen_agent.actors.inner import Bundle
from gen_agent.actors.linkframes import bodies, first_events
from gen_agent.actors.numbers import Numbers
from gen_agent.client.targets import actor_of, incarnation_of
from gen_agent.messages import Admission, Completion, EventBatch, EventMessage
from gen_agent.sealed import Sealed, SealedRun
from gen_agent.values import Incarnation, Name, RequestRef

RELAY_BYTES = 64 << 20
"""How many bytes of stream events wait for one recipient at most."""

BATCH_BYTES = 1 << 20
"""An `EventBatch` takes in runs until it has that many bytes."""

BUNDLE = 32
"""So many deliveries leave for a mailbox in one message at most, if they have to wait anyway."""

_REMEMBERED_REFS = 64

Transmit = Callable[[Any, object, Callable[[], None]], None]
"""Send a message to a Thespian address, and call back once it is delivered or given up: at once or later."""


@attrs.define(slots=True, eq=False)
class _Events:
    """Waiting events of one attempt: whole runs, the first of them perhaps begun."""

    ref: RequestRef
    attempt: int
    batch: bool
    to: Incarnation | None
    runs: deque[SealedRun] = attrs.field(factory=deque)
    begun: Iterator[Sealed] | None = None
    left: int = 0

    def take_one(self) -> Sealed:
        """The next event."""
        if self.begun is None or self.left == 0:
            run = self.runs.popleft()
            self.begun, self.left = bodies(run), run.count
        self.left -= 1
        return next(self.begun)

    def take_batch(self) -> SealedRun:
        """As many runs as a batch takes."""
        taken, size = [], 0
        while self.runs and size < BATCH_BYTES:
            taken.append(self.runs.popleft())
            size += len(taken[-1].raw)
        return SealedRun(b"".join(run.raw for run in taken), sum(run.count for run in taken))

    def is_of(self, other: _Events) -> bool:
        """Whether both are of the same attempt, for the same recipient."""
        mine = (self.ref, self.attempt, self.batch, self.to)
        return mine == (other.ref, other.attempt, other.batch, other.to)

    def empty(self) -> bool:
        return not self.left and not self.runs


@attrs.frozen(slots=True, eq=False)
class _Numbered:
    """A delivery that gets its number when it leaves."""

    build: Callable[[int], object]
    size: int = 0


@attrs.define(slots=True, eq=False)
class _Lane:
    """One recipient: what waits for it, and whether something is on its way."""

    key: str
    actor: Any
    waiting: deque[Any] = attrs.field(factory=deque)
    events: int = 0
    bytes: int = 0
    busy: int = 0
    pumping: bool = False


class Courier:
    """The outgoing messages of one agent.

    `max_relay_events` is per recipient; `hasten` is called while something waits for a transmission to land;
    `is_gone` says whether a recipient is there no more.
    """

    def __init__(
        self,
        transmit: Transmit,
        name: Name | None,
        incarnation: Incarnation,
        max_relay_events: int,
        hasten: Callable[[], None] | None = None,
        is_gone: Callable[[Any], bool] | None = None,
    ) -> None:
        self._transmit, self._name, self._incarnation = transmit, name, incarnation
        self._limit, self._hasten = max_relay_events, hasten or _nothing
        self._lanes: dict[str, _Lane] = {}
        self._numbers = Numbers(is_gone or _never)
        self._dropped: OrderedDict[RequestRef, int] = OrderedDict()
        self._on_empty: Callable[[], None] = _nothing

    # ---------------------------------------------------------------- what to send

    def send(self, recipient: Any, message: object) -> None:
        """Send a message as it is: a reply, telemetry, a user's own."""
        self._queue(recipient, message)

    def admit(self, recipient: Any, ref: RequestRef, error: object) -> None:
        """Send an `Admission`."""
        to = incarnation_of(recipient)
        self._queue(
            recipient,
            _Numbered(lambda number: Admission(self._name, ref, error, **self._stamp(number, to))),
        )

    def complete(self, recipient: Any, ref: RequestRef, outcome: object) -> None:
        """Send the `Completion`, with the number of this request's events that were dropped."""
        dropped, to = self._dropped.pop(ref, 0), incarnation_of(recipient)

        def build(number: int) -> Completion:
            return Completion(self._name, ref, outcome, dropped, **self._stamp(number, to))

        self._queue(recipient, _Numbered(build, len(outcome) if isinstance(outcome, Sealed) else 0))

    def relay(self, recipient: Any, ref: RequestRef, attempt: int, run: SealedRun, batch: bool) -> None:
        """Send a run of events, or as much of it as there is room for."""
        lane = self._lane(recipient)
        kept = run
        if lane.events + run.count > self._limit or lane.bytes + len(run.raw) > RELAY_BYTES:
            kept = self._what_fits(lane, run)
            self._drop(ref, run.count - kept.count)
        if kept.count:
            self._append_events(lane, _Events(ref, attempt, batch, incarnation_of(recipient)), kept)
        self._pump(lane)

    @property
    def idle(self) -> bool:
        """Whether the transport has everything."""
        return not any(lane.waiting for lane in self._lanes.values())

    def once_empty(self, call: Callable[[], None]) -> None:
        """Call once nothing waits and nothing is on its way; forgets an earlier such call."""
        self._on_empty = call
        self._settle()

    def _settle(self) -> None:
        if not self._lanes:
            call, self._on_empty = self._on_empty, _nothing
            call()

    def take_back(self, recipient: Any, wanted: Callable[[object], bool]) -> list[object]:
        """Take out the messages as they are that wait for that recipient and are wanted, in order."""
        lane = self._lanes.get(_key(recipient))
        if lane is None:
            return []
        whole = [item for item in lane.waiting if not isinstance(item, (_Events, _Numbered)) and wanted(item)]
        taken = {id(item) for item in whole}
        lane.waiting = deque(item for item in lane.waiting if id(item) not in taken)
        return whole

    # ---------------------------------------------------------------- the end

    def last_numbers(self) -> tuple[tuple[str, int], ...]:
        """The number of the last delivery to each recipient; ask after `flush`."""
        return self._numbers.last()

    def flush(self) -> None:
        """Hand everything that waits to the transport, in order: nobody will be there to send it later."""
        for lane in list(self._lanes.values()):
            while lane.waiting:
                self._transmit(lane.actor, self._next(lane), _nothing)

    # ---------------------------------------------------------------- how

    def _stamp(self, number: int, to: Incarnation | None) -> dict[str, Any]:
        return {"incarnation": self._incarnation, "delivery": number, "to": to}

    def _lane(self, recipient: Any) -> _Lane:
        key = _key(recipient)
        lane = self._lanes.get(key)
        if lane is None:
            lane = self._lanes[key] = _Lane(key, actor_of(recipient))
        return lane

    def _queue(self, recipient: Any, item: object) -> None:
        lane = self._lane(recipient)
        lane.waiting.append(item)
        self._pump(lane)

    def _what_fits(self, lane: _Lane, run: SealedRun) -> SealedRun:
        if lane.bytes + len(run.raw) > RELAY_BYTES:
            return SealedRun(b"", 0)
        return first_events(run, max(0, self._limit - lane.events))

    def _drop(self, ref: RequestRef, count: int) -> None:
        self._dropped[ref] = self._dropped.pop(ref, 0) + count
        if len(self._dropped) > _REMEMBERED_REFS:
            self._dropped.popitem(last=False)

    def _append_events(self, lane: _Lane, fresh: _Events, run: SealedRun) -> None:
        lane.events += run.count
        lane.bytes += len(run.raw)
        last = lane.waiting[-1] if lane.waiting else None
        if not isinstance(last, _Events) or not last.is_of(fresh):
            last = fresh
            lane.waiting.append(last)
        last.runs.append(run)

    def _pump(self, lane: _Lane) -> None:
        # A transmission may be over before `transmit` returns: a loop, or 10,000 events would recurse as
        # deep.
        if lane.pumping:
            return
        lane.pumping = True
        try:
            while lane.waiting and lane.busy < _at_a_time(lane):
                lane.busy += 1
                self._transmit(lane.actor, self._next(lane), lambda: self._landed(lane))
        finally:
            lane.pumping = False
        if lane.waiting:
            self._hasten()
        if not lane.waiting and not lane.busy and self._lanes.get(lane.key) is lane:
            del self._lanes[lane.key]
            self._settle()

    def _landed(self, lane: _Lane) -> None:
        lane.busy -= 1
        self._pump(lane)

    def _next(self, lane: _Lane) -> object:
        if len(lane.waiting) == 1 or not getattr(lane.actor, "takes_bundles", False):
            return self._next_one(lane)
        bundle: list[Any] = []
        size = 0
        while lane.waiting and len(bundle) < BUNDLE and size < BATCH_BYTES:
            item = lane.waiting[0]
            if not isinstance(item, (_Events, _Numbered)):
                # What a user wrote travels alone: nothing else is lost if it can't be read over there.
                break
            size += BATCH_BYTES if isinstance(item, _Events) and item.batch else getattr(item, "size", 0)
            bundle.append(self._next_one(lane))
        return Bundle(tuple(bundle)) if bundle else self._next_one(lane)

    def _next_one(self, lane: _Lane) -> object:
        item = lane.waiting[0]
        if isinstance(item, _Events):
            message = self._next_events(lane, item)
            if item.empty():
                lane.waiting.popleft()
            return message
        lane.waiting.popleft()
        return item.build(self._numbers.next(lane.key, lane.actor)) if isinstance(item, _Numbered) else item

    def _next_events(self, lane: _Lane, events: _Events) -> object:
        stamp = self._stamp(self._numbers.next(lane.key, lane.actor), events.to)
        if events.batch:
            run = events.take_batch()
            lane.events -= run.count
            lane.bytes -= len(run.raw)
            return EventBatch(self._name, events.ref, events.attempt, run, **stamp)
        event = events.take_one()
        lane.events -= 1
        lane.bytes -= len(event) + SealedRun.HEADER.size
        return EventMessage(self._name, events.ref, events.attempt, event, **stamp)


def _at_a_time(lane: _Lane) -> int:
    # The completion of a short turn need not wait for its admission to be taken. Events form batches instead.
    bundles = getattr(lane.actor, "takes_bundles", False)
    return 2 if bundles and not isinstance(lane.waiting[0], _Events) else 1


def _key(recipient: Any) -> str:
    return str(actor_of(recipient))


def _nothing() -> None:
    """Nobody waits for this."""


def _never(recipient: Any) -> bool:
    """Nobody can tell."""
    return False
