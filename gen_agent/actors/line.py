"""A client's line into its system: calls that block, casts that do not, and the deaths of those it waits for.

The law: a call ends with its own reply, at its deadline, or as soon as its agent's death is known; it never
takes a stranger's message for its reply and never loses one that comes meanwhile. Any exception that breaks
off a Thespian call costs the endpoint, which is replaced, and nothing else.
"""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any

from gen_agent.actors.batches import Batches
from gen_agent.actors.endpoint import WOKEN, Endpoint
from gen_agent.actors.identity import this_process
from gen_agent.actors.mailbox import Batch, Opened
from gen_agent.actors.reach import QUIET_S, SUPERVISOR_S
from gen_agent.actors.unheard import Unheard
from gen_agent.client.callbook import CallBook, Settled
from gen_agent.client.protocol import SUPERVISOR, WhyDown
from gen_agent.client.targets import TO_SUPERVISOR
from gen_agent.envelopes import Call, Cast, Envelope
from gen_agent.messages import Reply
from gen_agent.soundness import is_sound
from gen_agent.values import AgentAddress, CallRef, Incarnation

FOR_EVER_S = 86_400.0
"""One round of waiting without a limit, in seconds."""

LOOKUP_S = 1.0
"""How long a cast waits for the look-up of its name before it is left to leave later."""

ORDER_S = 0.05
"""How long a call waits for the casts before it to arrive, on a base where it may overtake some; seconds."""


class Line(Batches):
    """One client's calls and casts. Not for two threads at a time: whoever owns it sees to that."""

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self.strangers: deque[Any] = deque()
        self.unheard = Unheard()
        self.on_supervisor_lost: Callable[[], None] = lambda: None
        self.on_no_supervisor: Callable[[], None] = lambda: None
        self._replies: OrderedDict[CallRef, Settled] = OrderedDict()
        self._may_overtake = False
        self._reasons: dict[CallRef, Incarnation] = {}
        self._afar: dict[Incarnation, Any] = {}
        self._book = CallBook(
            this_process(),
            self._alive,
            self._watch,
            numbered=not endpoint.keeps_order,
            returning=endpoint.has_processes,
        )

    # ---------------------------------------------------------------- calling

    def call(self, target: Any, message: Call, timeout: float | None, *, asked: Any = None) -> Any:
        """Send a call and wait for its answer: returns the value or raises a fresh copy of the error."""
        return self.settle(target, message, timeout, asked=asked).reply.result()

    def settle(self, target: Any, message: Call, timeout: float | None, *, asked: Any = None) -> Settled:
        """Send a call and wait for what becomes of it."""
        self._note_deliveries()
        call = self._book.call(target, message, timeout, time.monotonic(), asked=asked)
        self._awaited.add(call)
        try:
            settled: Settled = self._until(lambda: self._replies.pop(call, None), None, call)
            return settled
        finally:
            self._awaited.discard(call)
            self._lost.discard(call)
            self._book.forget(call)
            self.endpoint.settled(call)

    def ask_supervisor(self, message: Call, timeout: float | None = None, *, asked: Any = None) -> Any:
        """Ask the supervisor, a new one if the last is gone."""
        return self.call(TO_SUPERVISOR, message, timeout, asked=SUPERVISOR if asked is None else asked)

    def cast(self, target: Any, message: Cast, ticket: CallRef | None = None) -> None:
        """Send a cast: at once, or as soon as the pending look-up of its name is answered.

        `ticket`: the number under which `unheard` has noted one to an address.
        """
        self._note_deliveries()
        self._book.cast(target, message, ticket)
        self._flush()
        if self._book.looking():
            end = time.monotonic() + LOOKUP_S
            self._until(lambda: None if self._book.looking() else True, end, None)

    # ---------------------------------------------------------------- waiting

    def _until(self, done: Callable[[], Any], end: float | None, call: CallRef | None) -> Any:
        idle = 0
        while True:
            self._go_on()
            if (found := done()) is not None:
                return found
            now = time.monotonic()
            if end is not None and now >= end:
                return None
            if self._receive(self._seconds(end, now)):
                idle = 0
            elif not self.endpoint.has_processes:
                idle += 1
                if self._stalled(call, idle):
                    return None

    def _go_on(self) -> None:
        """Send and settle until neither leads to more of the other."""
        self._flush()
        self._collect()
        while self._book.outgoing or self._book.settled:
            self._flush()
            self._collect()

    def _seconds(self, end: float | None, now: float) -> float:
        times = [time for time in (end, self._book.deadline()) if time is not None]
        return max(0.0, min(times) - now) if times else FOR_EVER_S

    def _receive(self, seconds: float) -> bool:
        if self._suspects:
            self._ask_why()
            self._flush()
            if self._book.settled:
                # With no supervisor left to ask, that is the answer, and none comes over the wire.
                return True
        message = self._read(seconds)
        # First, for the answer to a look-up lets later messages go.
        self._note_deliveries()
        if message is not None and message is not WOKEN:
            self._route(message)
        return message is not None

    def _note_deliveries(self) -> None:
        for ticket in self.endpoint.delivered():
            self._book.delivered(ticket)
            self.unheard.arrived(ticket)
        if self._failures():
            failed, self._failed = sorted(self._failed, key=lambda ticket: ticket.number), []
            self._undelivered.update(self._awaited.intersection(failed))
            self._book.undelivered(failed)
            self._supervisor_doubted |= any(target is TO_SUPERVISOR for target, _ in self._book.outgoing)
            if [ticket for ticket in failed if self.unheard.returned(ticket)]:
                # Who waits for what was to come of it is to look again.
                self._lost |= self._awaited
        self._undelivered &= self._awaited

    def _route(self, message: Any) -> None:
        if isinstance(message, Envelope) and not is_sound(message):
            return
        if isinstance(message, Reply):
            self.endpoint.settled(message.call)
            self._book.replied(message)
        elif isinstance(message, (Batch, Opened)):
            self._from_mailbox(message)
        else:
            self.strangers.append(message)

    def _collect(self) -> None:
        self._book.expire(time.monotonic())
        while self._book.settled:
            settled = self._book.settled.popleft()
            call = settled.reply.call
            self.endpoint.settled(call)
            if call in self._reasons:
                self._learned(self._reasons.pop(call), settled.reply)
            elif call in self._awaited:
                self._replies[call] = settled

    def _stalled(self, call: CallRef | None, idle: int) -> bool:
        """Nothing is left to do in this process: whoever is asked is gone, or will never answer."""
        if call is None:
            return True
        holder = self._book.holder(call)
        if idle == 1 and holder is not None:
            self._suspects.append(holder)
        elif idle > 1 or holder is None:
            self._book.give_up(call)
        return False

    # ---------------------------------------------------------------- sending

    def _flush(self) -> None:
        while self._book.outgoing:
            target, message = self._book.outgoing[0]
            address = self._find_supervisor() if target is TO_SUPERVISOR else target
            if address is None:
                self._no_supervisor()
            else:
                self._book.outgoing.popleft()
                self._send(address, message)

    def _send(self, address: Any, message: Any) -> None:
        ticket = self._book.ticket(message)
        if isinstance(message, Call):
            if self._may_overtake:
                # What a supervisor is asked to do to an agent is not to come before what the agent was sent.
                self._may_overtake = False
                self._guarded(lambda: self.endpoint.flush(ORDER_S))
            self._post(address, message, ticket)
        elif ticket is None and self.endpoint.keeps_order:
            self._post(address, message, None)
        else:
            self._may_overtake = not self.endpoint.keeps_order
            self._guarded(lambda: self.endpoint.post_parcel(address, message, ticket))

    def order_of_nobody(self, target: Any, message: Call, timeout: float) -> None:
        """Send a call whose answer nobody waits for; it is forgotten after `timeout`."""
        self._book.call(target, message, timeout, time.monotonic())
        self._flush()

    def tell_next_supervisor(self, message: Call) -> None:
        """Have the next supervisor told, when anything is sent or waited for; nobody waits for its answer."""
        self._book.call(TO_SUPERVISOR, message, None, time.monotonic())

    # ---------------------------------------------------------------- deaths

    def _supervisor_gone(self) -> None:
        self._book.supervisor_lost()
        self.on_supervisor_lost()

    def _no_supervisor(self) -> None:
        self._book.no_supervisor()
        self.on_no_supervisor()
        self._lost |= self._awaited

    def _resend(self) -> None:
        self._book.forget_casts()
        self._book.resend_lookups()
        for call in [call for call, whom in self._reasons.items() if whom in self._afar]:
            self._book.forget(call)
            self._ask_end(self._reasons.pop(call), None)

    def _holders(self) -> frozenset[Incarnation]:
        return self._book.holders()

    def _is_asked_about(self, incarnation: Incarnation) -> bool:
        return incarnation in self._reasons.values()

    def _ask_why(self) -> None:
        while self._suspects:
            incarnation = self._suspects.popleft()
            self._remember_dead(incarnation)
            if incarnation in self._book.holders() and not self._is_asked_about(incarnation):
                self._ask_end(incarnation, SUPERVISOR_S)

    def _ask_end(self, incarnation: Incarnation, timeout: float | None) -> None:
        question = WhyDown(incarnation, self._afar.get(incarnation))
        call = self._book.call(TO_SUPERVISOR, question, timeout, time.monotonic())
        self._reasons[call] = incarnation

    def _watch_afar(self, address: AgentAddress) -> None:
        # Answered when it has ended, however long that takes.
        self._afar[address.incarnation] = address.actor
        self._ask_end(address.incarnation, None)

    def _learned(self, incarnation: Incarnation, reply: Reply) -> None:
        reason, detail = (self._lost_reason, ()) if reply.error is not None else reply.value
        self._remember_dead(incarnation)
        # What it sent before it ended is here already, but may not have been read yet.
        while (message := self._read(QUIET_S)) is not None:
            if message is not WOKEN:
                self._route(message)
        # What it never got goes to whoever has its name now, and does not end with it.
        self._note_deliveries()
        self._book.down(incarnation, reason, tuple(detail))
        if (afar := self._afar.pop(incarnation, None)) is not None:
            # Its machine may not be reached for long, and nobody waits any more for what is on its way there.
            self.endpoint.give_up(afar)

    # ---------------------------------------------------------------- the end

    def flush(self, seconds: float) -> bool:
        """Wait until what was sent has left, at most `seconds`; whether it has."""
        end = time.monotonic() + seconds
        self._until(lambda: None if self._book.looking() else True, end, None)
        left = max(0.0, end - time.monotonic())
        return self._retired.flush(left) & self.endpoint.flush(max(0.0, end - time.monotonic()))

    def close(self) -> None:
        """Give everything back; nothing can be sent any more."""
        self._retired.close()
        self.endpoint.close()
        self._watcher.close()
        # What knows us must not keep us until a collection, which comes late where many objects live.
        self.on_supervisor_lost = self.on_no_supervisor = _nothing
        del self._book


def _nothing() -> None:
    """Nobody waits any more."""
