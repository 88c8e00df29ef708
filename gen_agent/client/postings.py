"""The sending half of a call book: one queue per name, look-ups, numbers, and what came back undelivered.

The law: nothing overtakes an earlier message under the same name or its pending look-up. What could not be
delivered to a dead holder of a name goes once to the current one, before anything later under that name;
nothing an agent may have taken is sent again. This module sends nothing itself: it fills `outgoing`. It reads
no clock and knows no Thespian.
"""

from __future__ import annotations

import heapq
import itertools
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any

import attrs

from gen_agent.client.protocol import Lookup
from gen_agent.client.targets import TO_SUPERVISOR, actor_of, incarnation_of
from gen_agent.envelopes import Call, Cast
from gen_agent.messages import Drain, GetSnapshot, Reply
from gen_agent.remembered import Tidying
from gen_agent.values import AgentAddress, Caller, CallRef, Incarnation, Name, is_address, mint, name_key
from gen_agent.wire import changed

UNDER_WAY = 100_000
"""How many casts under names are remembered until it is known whether they were delivered."""


@attrs.define
class Pending:
    """One call that is not settled. `address` is whom it was sent to, `asked` the
    target to name in errors.
    """

    message: Call
    target: Any
    asked: Any
    deadline: float | None = None
    timeout: float | None = None
    address: Any = None
    bounced: bool = False
    admitted: bool = False
    barrier_of: CallRef | None = None

    @property
    def holder(self) -> Incarnation | None:
        """The incarnation it was sent to, if that is known."""
        return incarnation_of(self.address)


@attrs.frozen
class Settled:
    """A call that has its one answer, and the address it was sent to (None: nobody, or the supervisor)."""

    reply: Reply
    address: Any


@attrs.frozen(eq=False)
class Parcel:
    """One message under a name; `ticket` is the number under which it may come back, None for never again."""

    ticket: CallRef | None
    message: Call | Cast


@attrs.define
class Lane:
    """What is known and waiting under one name; what came back goes first."""

    name: Name
    address: AgentAddress | None = None
    looking: CallRef | None = None
    returned: deque[Parcel] = attrs.field(factory=deque)
    waiting: deque[Parcel] = attrs.field(factory=deque)

    @property
    def idle(self) -> bool:
        """Whether nothing waits here, for a look-up or to leave."""
        return self.looking is None and not self.returned and not self.waiting

    def next(self) -> Parcel | None:
        """Take out what leaves next."""
        queue = self.returned or self.waiting
        return queue.popleft() if queue else None


class Postings:
    """Lanes of names, look-ups, numbers.

    `alive(address)` says whether a cached holder may still be used; `watch(address)` is called before a call
    leaves for it, so that its death becomes known. `numbered` puts a sequence on casts, for bases that lose
    the order. With `returning` casts under names have tickets, for senders that learn what was not delivered.
    """

    def __init__(
        self,
        caller: Caller | None,
        alive: Callable[[AgentAddress], bool],
        watch: Callable[[AgentAddress], None],
        *,
        numbered: bool = False,
        returning: bool = False,
    ) -> None:
        self.outgoing: deque[tuple[Any, Any]] = deque()
        self.settled: deque[Settled] = deque()
        self._caller = caller
        self._alive = alive
        self._watch = watch
        self._numbered = numbered
        self._returning = returning
        self._pending: dict[CallRef, Pending] = {}
        self._lanes: dict[Any, Lane] = {}
        self._tidying = Tidying()
        self._deadlines: list[tuple[float, int, CallRef]] = []
        self._order = itertools.count()
        self._sequences: dict[Any, itertools.count[int]] = {}
        self._tickets: dict[int, CallRef] = {}
        self._under_way: OrderedDict[CallRef, tuple[Name, Incarnation, Cast]] = OrderedDict()

    def call(
        self, target: Any, message: Call, timeout: float | None, now: float, *, asked: Any = None
    ) -> CallRef:
        """Enter a call; its one `Reply` will be in `settled`. Returns its number."""
        message = changed(message, caller=self._caller)
        pending = Pending(message, target, target if asked is None else asked, timeout=timeout)
        self._pending[message.call] = pending
        if timeout is not None:
            pending.deadline = now + timeout
            heapq.heappush(self._deadlines, (pending.deadline, next(self._order), message.call))
        self._post(target, message, message.call)
        if isinstance(message, Drain):
            self._barrier(target, message.call)
        return message.call

    def _barrier(self, target: Any, drain: CallRef) -> None:
        # Answered after the drain was taken: that tells a drain that takes its time from one that never
        # arrived.
        probe = GetSnapshot(caller=self._caller)
        self._pending[probe.call] = Pending(probe, target, target, barrier_of=drain)
        self._post(target, probe, probe.call)

    def cast(self, target: Any, message: Cast, ticket: CallRef | None = None) -> None:
        """Enter a cast; nobody is told what becomes of it, but of one to an address under `ticket`."""
        by_name = target is not TO_SUPERVISOR and not is_address(target)
        self._post(target, message, mint.call() if by_name and self._returning else ticket)

    def _post(self, target: Any, message: Call | Cast, ticket: CallRef | None) -> None:
        if target is TO_SUPERVISOR:
            self.outgoing.append((TO_SUPERVISOR, message))
        elif is_address(target):
            self._send(target, message)
            if ticket is not None and isinstance(message, Cast):
                self._tickets[id(self.outgoing[-1][1])] = ticket
        else:
            lane = self._lane(target)
            lane.waiting.append(Parcel(ticket, message))
            self._advance(lane)

    def _lane(self, name: Name) -> Lane:
        key = name_key(name)
        if key not in self._lanes:
            if self._tidying.is_due(len(self._lanes)):
                self._tidy()
            self._lanes[key] = Lane(name)
        return self._lanes[key]

    def _tidy(self) -> None:
        # An idle lane knows an address, nothing else: of the dead not even that is of use.
        for key, lane in tuple(self._lanes.items()):
            if lane.idle and (lane.address is None or not self._alive(lane.address)):
                del self._lanes[key]
        self._tidying.done(len(self._lanes))

    def _advance(self, lane: Lane) -> None:
        if lane.looking is not None:
            return
        if lane.address is None or not self._alive(lane.address):
            lane.address = None
            question = Lookup(lane.name)
            lane.looking = question.call
            self.outgoing.append((TO_SUPERVISOR, question))
            self._pending[question.call] = Pending(question, TO_SUPERVISOR, lane.name)
            return
        self._release(lane, lane.address)

    def _release(self, lane: Lane, holder: AgentAddress) -> None:
        while (parcel := lane.next()) is not None:
            self._send(holder, parcel.message)
            if parcel.ticket is not None and isinstance(parcel.message, Cast):
                self._tickets[id(self.outgoing[-1][1])] = parcel.ticket
                self._under_way[parcel.ticket] = (lane.name, holder.incarnation, parcel.message)
                if len(self._under_way) > UNDER_WAY:
                    self._under_way.popitem(last=False)

    def _send(self, address: Any, message: Call | Cast) -> None:
        holder = incarnation_of(address)
        if isinstance(message, Call):
            pending = self._pending.get(message.call)
            if pending is None:
                return
            pending.address = address
            if holder is not None:
                self._watch(address)
            message = changed(message, incarnation=holder)
        else:
            message = changed(message, incarnation=holder, sequence=self._number(address, holder))
        self.outgoing.append((actor_of(address), message))

    def _number(self, address: Any, holder: Incarnation | None) -> int | None:
        if not self._numbered or holder is None:
            return None
        return next(self._sequences.setdefault(holder, itertools.count(1)))

    # ---------------------------------------------------------------- what becomes of it

    def ticket(self, message: Call | Cast) -> CallRef | None:
        """The number to name in `undelivered` for a message just taken out of `outgoing`; None for none."""
        return message.call if isinstance(message, Call) else self._tickets.pop(id(message), None)

    def return_ticket(self, message: Call | Cast) -> CallRef | None:
        """`ticket` of what goes to somebody else if it comes back: of what was sent under a name."""
        ticket = self.ticket(message)
        pending = None if ticket is None else self._pending.get(ticket)
        return None if pending is not None and is_address(pending.target) else ticket

    def delivered(self, ticket: CallRef) -> None:
        """The cast with that number has arrived."""
        self._under_way.pop(ticket, None)

    def forget_casts(self) -> None:
        """What becomes of the casts under way will not be known."""
        self._under_way.clear()

    def _return_cast(self, ticket: CallRef) -> Lane | None:
        """Queue a cast that was not delivered, before all later ones under its name."""
        found = self._under_way.pop(ticket, None)
        return None if found is None else self._return(found[0], found[1], found[2])

    def _return(self, name: Name, holder: Incarnation | None, message: Call | Cast) -> Lane:
        lane = self._lane(name)
        if lane.address is not None and lane.address.incarnation == holder:
            lane.address = None
        lane.returned.append(Parcel(None, message))
        return lane
