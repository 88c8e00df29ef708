"""The book of calls that scripts' and actors' clients share: who was asked what, and what came back.

The law: what an earlier holder of a name refused as not its own, or could not get, goes once to the current
holder; nothing an agent may have taken is sent again. A reply that nobody waits for is dropped. Every call is
settled once: by its reply, its deadline, or its agent's death. How messages leave, in which order, is
`postings`. The book sends nothing itself: it fills `outgoing` and `settled`. It reads no clock and knows no
Thespian.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable

from gen_agent.client.postings import Lane, Pending, Postings, Settled
from gen_agent.client.protocol import Lookup
from gen_agent.client.targets import TO_SUPERVISOR
from gen_agent.envelopes import Call
from gen_agent.errors import AgentDown, AgentNotFound, CallTimeout, DrainTimeout, GenAgentError
from gen_agent.messages import Drain, Monitor, Reply
from gen_agent.values import AgentAddress, CallRef, Incarnation, is_address, name_key

__all__ = ["CallBook", "Pending", "Postings", "Settled"]


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
            self._advance(self._bounce(pending))
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
            self._release(lane, reply.value)
        else:
            self._nobody(lane, reply.error)
        return True

    def _nobody(self, lane: Lane, error: GenAgentError | None) -> None:
        del self._lanes[name_key(lane.name)]
        while (parcel := lane.next()) is not None:
            if isinstance(parcel.message, Call):
                self._fail(parcel.message.call, error or AgentNotFound(lane.name))

    @staticmethod
    def _bounces(pending: Pending, error: GenAgentError | None) -> bool:
        by_name = pending.target is not TO_SUPERVISOR and not is_address(pending.target)
        refused = isinstance(error, AgentDown) and error.reason == "noproc"
        return by_name and refused and not pending.bounced

    def _bounce(self, pending: Pending) -> Lane:
        holder, pending.bounced, pending.address = pending.holder, True, None
        return self._return(pending.target, holder, pending.message)

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

    def undelivered(self, tickets: Iterable[CallRef]) -> None:
        """These messages, in the order in which they were entered, found nobody at their address."""
        lanes = [lane for ticket in tickets if (lane := self._come_back(ticket)) is not None]
        for lane in lanes:
            self._advance(lane)

    def _come_back(self, ticket: CallRef) -> Lane | None:
        pending = self._pending.get(ticket)
        if pending is None:
            return self._return_cast(ticket)
        error = AgentDown(pending.asked, "noproc")
        if self._bounces(pending, error):
            return self._bounce(pending)
        if pending.target is not TO_SUPERVISOR:
            self._fail(ticket, error)
        elif pending.bounced:
            self._fail(ticket, AgentDown(pending.asked, "registry_lost"))
        else:
            # It is dead; whether that is known already or not, the next one is asked.
            pending.bounced = True
            self.outgoing.append((TO_SUPERVISOR, pending.message))
        return None

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
        rest, but for what has not left yet.
        """
        unsent = {message.call for target, message in self.outgoing if target is TO_SUPERVISOR}
        for call, pending in list(self._pending.items()):
            if pending.target is not TO_SUPERVISOR or call in unsent:
                continue
            if isinstance(pending.message, (Lookup, Monitor)):
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

    def waits(self) -> bool:
        """Whether any call is not settled."""
        return bool(self._pending)

    def holders(self) -> frozenset[Incarnation]:
        """Whom calls are waiting for."""
        return frozenset(pending.holder for pending in self._pending.values() if pending.holder is not None)
