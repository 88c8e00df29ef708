"""The book of calls that scripts' and actors' clients share: who was asked what, and what came back.

The law: per name there is one queue, so that nothing overtakes an earlier message under that name or its
pending look-up. What an earlier holder of a name refused as not its own goes once to the current holder;
nothing an agent may have taken is sent again. A reply that nobody waits for is dropped. Every call is settled
once: by its reply, its deadline, or its agent's death. The book sends nothing itself: it fills `outgoing` and
`settled`. It reads no clock and knows no Thespian.
"""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from collections.abc import Callable
from typing import Any

import attrs

from gen_agent.envelopes import Call, Cast
from gen_agent.errors import AgentDown, AgentNotFound, CallTimeout, DrainTimeout, GenAgentError
from gen_agent.messages import Drain, GetSnapshot, Reply
from gen_agent.protocol import Lookup
from gen_agent.targets import TO_SUPERVISOR, actor_of, incarnation_of
from gen_agent.values import AgentAddress, Caller, CallRef, Incarnation, is_address, name_key


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


@attrs.define
class _Lane:
    """What is known and waiting under one name."""

    name: Any
    address: AgentAddress | None = None
    looking: CallRef | None = None
    waiting: deque[Call | Cast] = attrs.field(factory=deque)


class Postings:
    """The sending half of a call book: lanes of names, look-ups, numbers.

    `alive(address)` says whether a cached holder may still be used; `watch(address)` is called before a call
    leaves for it, so that its death becomes known. `numbered` puts a sequence on casts, for bases that lose
    the order.
    """

    def __init__(
        self,
        caller: Caller | None,
        alive: Callable[[AgentAddress], bool],
        watch: Callable[[AgentAddress], None],
        *,
        numbered: bool = False,
    ) -> None:
        self.outgoing: deque[tuple[Any, Any]] = deque()
        self.settled: deque[Settled] = deque()
        self._caller = caller
        self._alive = alive
        self._watch = watch
        self._numbered = numbered
        self._pending: dict[CallRef, Pending] = {}
        self._lanes: dict[Any, _Lane] = {}
        self._deadlines: list[tuple[float, int, CallRef]] = []
        self._order = itertools.count()
        self._sequences: dict[Any, itertools.count[int]] = {}

    def call(
        self, target: Any, message: Call, timeout: float | None, now: float, *, asked: Any = None
    ) -> CallRef:
        """Enter a call; its one `Reply` will be in `settled`. Returns its number."""
        message = attrs.evolve(message, caller=self._caller)
        pending = Pending(message, target, target if asked is None else asked, timeout=timeout)
        self._pending[message.call] = pending
        if timeout is not None:
            pending.deadline = now + timeout
            heapq.heappush(self._deadlines, (pending.deadline, next(self._order), message.call))
        self._post(target, message)
        if isinstance(message, Drain):
            self._barrier(target, message.call)
        return message.call

    def _barrier(self, target: Any, drain: CallRef) -> None:
        # Answered after the drain was taken: that tells a drain that takes its time from one that never
        # arrived.
        probe = GetSnapshot(caller=self._caller)
        self._pending[probe.call] = Pending(probe, target, target, barrier_of=drain)
        self._post(target, probe)

    def cast(self, target: Any, message: Cast) -> None:
        """Enter a cast; nobody is told what becomes of it."""
        self._post(target, message)

    def _post(self, target: Any, message: Call | Cast) -> None:
        if target is TO_SUPERVISOR:
            self.outgoing.append((TO_SUPERVISOR, message))
        elif is_address(target):
            self._send(target, message)
        else:
            lane = self._lanes.setdefault(name_key(target), _Lane(target))
            lane.waiting.append(message)
            self._advance(lane)

    def _advance(self, lane: _Lane) -> None:
        if lane.looking is not None:
            return
        if lane.address is None or not self._alive(lane.address):
            lane.address = None
            question = Lookup(lane.name)
            lane.looking = question.call
            self.outgoing.append((TO_SUPERVISOR, question))
            self._pending[question.call] = Pending(question, TO_SUPERVISOR, lane.name)
            return
        while lane.waiting:
            self._send(lane.address, lane.waiting.popleft())

    def _send(self, address: Any, message: Call | Cast) -> None:
        holder = incarnation_of(address)
        if isinstance(message, Call):
            pending = self._pending.get(message.call)
            if pending is None:
                return
            pending.address = address
            if holder is not None:
                self._watch(address)
            message = attrs.evolve(message, incarnation=holder)
        else:
            message = attrs.evolve(message, incarnation=holder, sequence=self._number(address, holder))
        self.outgoing.append((actor_of(address), message))

    def _number(self, address: Any, holder: Incarnation | None) -> int | None:
        if not self._numbered or holder is None:
            return None
        return next(self._sequences.setdefault(holder, itertools.count(1)))


class CallBook(Postings):
    """Calls, casts and look-ups of one client, and what becomes of them; made as `Postings` is."""

    def replied(self, reply: Reply) -> bool:
        """Take a reply; False if nobody waits for it."""
        pending = self._pending.get(reply.call)
        if pending is None:
            return False
        if isinstance(pending.message, Lookup) and self._looked_up(reply):
            return True
        if pending.barrier_of is not None:
            self._admitted(reply, pending.barrier_of)
        elif self._bounces(pending, reply.error):
            self._bounce(pending)
        else:
            self._settle(reply)
        return True

    def _admitted(self, reply: Reply, drain: CallRef) -> None:
        del self._pending[reply.call]
        pending = self._pending.get(drain)
        if pending is not None and reply.error is None:
            pending.admitted = True

    def _looked_up(self, reply: Reply) -> bool:
        lane = next((lane for lane in self._lanes.values() if lane.looking == reply.call), None)
        if lane is None:
            return False
        del self._pending[reply.call]
        lane.looking = None
        if isinstance(reply.value, AgentAddress):
            lane.address = reply.value
            while lane.waiting:
                self._send(lane.address, lane.waiting.popleft())
        else:
            self._nobody(lane, reply.error)
        return True

    def _nobody(self, lane: _Lane, error: GenAgentError | None) -> None:
        del self._lanes[name_key(lane.name)]
        for message in lane.waiting:
            if isinstance(message, Call):
                self._fail(message.call, error or AgentNotFound(lane.name))

    @staticmethod
    def _bounces(pending: Pending, error: GenAgentError | None) -> bool:
        by_name = pending.target is not TO_SUPERVISOR and not is_address(pending.target)
        refused = isinstance(error, AgentDown) and error.reason == "noproc"
        return by_name and refused and not pending.bounced

    def _bounce(self, pending: Pending) -> None:
        pending.bounced = True
        lane = self._lanes.get(name_key(pending.target))
        if lane is not None and lane.address is not None and lane.address.incarnation == pending.holder:
            lane.address = None
        pending.address = None
        self._post(pending.target, pending.message)

    def _fail(self, call: CallRef, error: GenAgentError) -> None:
        pending = self._pending.get(call)
        if pending is not None and pending.barrier_of is not None:
            del self._pending[call]
        elif pending is not None:
            self._settle(Reply(call, error=error))

    def _settle(self, reply: Reply) -> None:
        pending = self._pending.pop(reply.call)
        self.settled.append(Settled(reply, pending.address))

    # ---------------------------------------------------------------- deaths and deadlines

    def down(self, holder: Incarnation, reason: str, detail: tuple[str, ...] = ()) -> None:
        """An agent has ended and what it sent has been read: its calls end with `AgentDown`, a drain as it
        should.
        """
        self._sequences.pop(holder, None)
        for lane in self._lanes.values():
            if lane.address is not None and lane.address.incarnation == holder:
                lane.address = None
        for call, pending in list(self._pending.items()):
            if pending.holder != holder:
                continue
            if isinstance(pending.message, Drain) and reason == "normal":
                self._settle(Reply(call))
            else:
                self._fail(call, AgentDown(pending.asked, reason, detail))

    def unreachable(self, call: CallRef) -> None:
        """The message of this call could not be delivered: nobody is at that address."""
        pending = self._pending.get(call)
        if pending is None:
            return
        error = AgentDown(pending.asked, "noproc")
        if self._bounces(pending, error):
            self._bounce(pending)
        else:
            self._fail(call, error)

    def give_up(self, call: CallRef) -> None:
        """No answer can come any more to this call: settle it as expired."""
        pending = self._pending.get(call)
        if pending is not None:
            self._fail(call, CallTimeout(pending.asked, pending.timeout))

    def resend_lookups(self) -> None:
        """The replies to what was asked so far will not come here: look up anew."""
        for lane in self._lanes.values():
            if lane.looking is not None:
                self._pending.pop(lane.looking, None)
                lane.looking = None
                self._advance(lane)

    def supervisor_lost(self) -> None:
        """Ask the next supervisor what the last one left open, where asking twice changes nothing; fail the
        rest.
        """
        for call, pending in list(self._pending.items()):
            if pending.target is not TO_SUPERVISOR:
                continue
            if isinstance(pending.message, Lookup):
                self.outgoing.append((TO_SUPERVISOR, pending.message))
            else:
                self._fail(call, AgentDown(pending.asked, "registry_lost"))

    def no_supervisor(self) -> None:
        """There is no supervisor and there will be none: what was asked of it, and under names, fails."""
        self.outgoing = deque(item for item in self.outgoing if item[0] is not TO_SUPERVISOR)
        for lane in list(self._lanes.values()):
            if lane.looking is not None:
                self._pending.pop(lane.looking, None)
                self._nobody(lane, AgentDown(lane.name, "registry_lost"))
        for call, pending in list(self._pending.items()):
            if pending.target is TO_SUPERVISOR:
                self._fail(call, AgentDown(pending.asked, "registry_lost"))

    def expire(self, now: float) -> None:
        """Settle every call whose deadline has passed; what was asked may still happen (C107)."""
        while self._deadlines and self._deadlines[0][0] <= now:
            call = heapq.heappop(self._deadlines)[2]
            pending = self._pending.get(call)
            if pending is not None:
                drained = isinstance(pending.message, Drain) and pending.admitted
                self._fail(call, DrainTimeout() if drained else CallTimeout(pending.asked, pending.timeout))

    def deadline(self) -> float | None:
        """When the next call expires."""
        while self._deadlines and self._deadlines[0][2] not in self._pending:
            heapq.heappop(self._deadlines)
        return self._deadlines[0][0] if self._deadlines else None

    def forget(self, call: CallRef) -> None:
        """Nobody waits for that call any more; its reply will be dropped, and it
        leaves a queue it waits in.
        """
        self._pending.pop(call, None)

    def holder(self, call: CallRef) -> Incarnation | None:
        """Whom a pending call was sent to."""
        pending = self._pending.get(call)
        return None if pending is None else pending.holder

    def looking(self) -> bool:
        """Whether a look-up is under way that messages wait for."""
        return any(lane.looking is not None for lane in self._lanes.values())

    def holders(self) -> frozenset[Incarnation]:
        """Whom calls are waiting for."""
        return frozenset(pending.holder for pending in self._pending.values() if pending.holder is not None)
