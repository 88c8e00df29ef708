"""What a client inside an actor does with the messages of that actor: its own are swallowed, the rest passed
on.

The law: the actor's own `receiveMessage` sees each user message once, in order, and its last return value is
returned whenever it was not called, so that what it watches stays watched. Where it raises, Thespian calls
again with the same message: then it is called again with exactly what it did not take. Nothing here blocks.
This module knows no Thespian: an actor is something with `send`, `createActor` and `wakeupAfter`.
"""

from __future__ import annotations

import abc
import importlib
import itertools
import time
from collections import OrderedDict, deque
from datetime import timedelta
from typing import Any

import attrs

from gen_agent.client.callbook import CallBook
from gen_agent.client.ordering import DELIVERIES, Ordering
from gen_agent.client.oversight import Bounded, Oversight
from gen_agent.client.placing import Placing
from gen_agent.client.protocol import Abandon
from gen_agent.client.targets import TO_SUPERVISOR
from gen_agent.client.whereabouts import running, this_caller
from gen_agent.envelopes import Call, Cast, Envelope
from gen_agent.errors import CallTimeout
from gen_agent.messages import Down, Reply, StartAgent
from gen_agent.soundness import is_sound
from gen_agent.values import AgentAddress, CallRef, Incarnation, MonitorRef

_RETRIES_KEPT = 16


@attrs.frozen
class _Alarm:
    """The payload of our wakeups."""

    number: int


class Sending(abc.ABC):
    """The sending half of `AgentClient`: the call book, the supervisor, one alarm at a time."""

    _actor: Any
    _original: Any

    def _begin(self, actor: Any) -> None:
        self._actor, self._original = actor, actor.receiveMessage
        self._returned: Any = None
        self._book_: CallBook | None = None
        self._ordering = Ordering(lambda: self._keeps_order)
        self._oversight_: Oversight | None = None
        self._mine = Bounded()
        self._own_monitors: dict[MonitorRef, Incarnation] = {}
        self._dead = Bounded()
        self._monitored: set[Incarnation] = set()
        self._abandoned: dict[CallRef, Reply] = {}
        self._starts: dict[CallRef, StartAgent] = {}
        self._placing = Placing()
        self._retries: OrderedDict[Any, tuple[int, deque[tuple[Any, Any]]]] = OrderedDict()
        self._backlog: deque[tuple[Any, Any]] = deque()
        self._alarms = itertools.count(1)
        self._alarm_due: float | None = None
        actor.receiveMessage = self._receive

    # ---------------------------------------------------------------- what the base can do

    @property
    def _has_processes(self) -> bool:
        return hasattr(getattr(self._actor, "_myRef", None), "transport")

    @property
    def _transport(self) -> Any:
        return getattr(getattr(self._actor, "_myRef", None), "transport", None)

    @property
    def _keeps_order(self) -> bool:
        return hasattr(self._transport, "seal")

    @property
    def _book(self) -> CallBook:
        # Made late: in the actor's `__init__` its place in the system is not known yet.
        if self._book_ is None:
            numbered = self._transport is not None and not self._keeps_order
            self._book_ = CallBook(
                this_caller(),
                self._alive,
                self._watch,
                numbered=numbered,
                returning=self._has_processes,
            )
        return self._book_

    @property
    def _oversight(self) -> Oversight:
        if self._oversight_ is None:
            self._oversight_ = Oversight(self._actor, self._book, self._mine.add, self._has_processes)
        return self._oversight_

    def _alive(self, address: AgentAddress) -> bool:
        return self._has_processes and self._runs(address.incarnation)

    def _runs(self, whom: Incarnation) -> bool:
        return whom not in self._dead and running(whom)

    def _watch(self, address: AgentAddress) -> None:
        if address.incarnation in self._monitored:
            return
        self._monitored.add(address.incarnation)
        self._own_monitors[self._oversight.monitor(address, user=False)] = address.incarnation

    # ---------------------------------------------------------------- sending

    def _call(self, target: Any, message: Call, timeout: float | None, *, asked: Any = None) -> CallRef:
        call = self._book.call(target, message, timeout, time.monotonic(), asked=asked)
        self._mine.add(call)
        self._flush()
        return call

    def _cast(self, target: Any, message: Cast) -> None:
        self._book.cast(target, message)
        self._flush()

    def _flush(self) -> None:
        now = time.monotonic()
        self._oversight.look(now)
        while self._book.outgoing:
            target, message = self._book.outgoing.popleft()
            if isinstance(message, Call):
                self._mine.add(message.call)
            if target is TO_SUPERVISOR:
                self._oversight.send(message)
            else:
                self._send(target, message)
        self._oversight.serve(now)
        self._arm(now)

    def _send(self, target: Any, message: Call | Cast) -> None:
        ticket = self._book.return_ticket(message) if self._has_processes else None
        if ticket is None:
            self._actor.send(target, message)
            return
        # Who knows how messages travel may not be known beforehand here.
        parcels = importlib.import_module("gen_agent.actors.parcels")
        fate = parcels.Fate(lambda: self._book.delivered(ticket), lambda: self._came_back(ticket))
        parcels.send(self._actor, target, message, fate)

    def _came_back(self, ticket: CallRef) -> None:
        self._book.undelivered([ticket])
        self._flush()

    def _arm(self, now: float) -> None:
        dues = (self._book.deadline(), self._ordering.deadline(), self._oversight.due(now))
        times = [due for due in dues if due is not None]
        if self._backlog or self._book.settled:
            times.append(0.0)
        if not times or (self._alarm_due is not None and self._alarm_due <= min(times)):
            return
        self._alarm_due = min(times)
        seconds = max(0.0, self._alarm_due - now)
        self._actor.wakeupAfter(timedelta(seconds=seconds), _Alarm(next(self._alarms)))

    @abc.abstractmethod
    def _receive(self, message: Any, sender: Any) -> Any:
        """What Thespian calls instead of the actor's own `receiveMessage`."""


class ActorSide(Sending):
    """The mechanics of `AgentClient`: what it sends, and what it swallows, orders and times out."""

    def _receive(self, message: Any, sender: Any) -> Any:
        """What Thespian calls instead of the actor's own `receiveMessage`."""
        message = self._placing.unplaced(message) or message
        ended = None if self._has_processes else self._placing.ended(message)
        if ended is not None:
            self._book.replied(ended)
        key = _key(message)
        if key is not None or isinstance(getattr(message, "payload", None), _Alarm):
            self._receive_ours(key, message, sender)
        elif not self._oversight.is_exit(message):
            self._hand_over_backlog()
            self._returned = self._original(message, sender)
        self._flush()
        return self._returned

    def _receive_ours(self, key: Any, message: Any, sender: Any) -> None:
        if key in self._retries:
            tries, left = self._retries.pop(key)
        else:
            tries, left = 0, deque((found, sender) for found in self._sorted(message))
        left.extendleft(reversed(self._backlog))
        self._backlog.clear()
        while left:
            found = left.popleft()
            try:
                self._returned = self._original(*found)
            except BaseException:
                self._remember(key, tries + 1, found, left)
                raise

    def _remember(self, key: Any, tries: int, failed: tuple[Any, Any], left: deque[tuple[Any, Any]]) -> None:
        if tries < (2 if self._has_processes else 3) and key is not None:
            left.appendleft(failed)
            self._retries[key] = (tries, left)
            if len(self._retries) > _RETRIES_KEPT:
                self._backlog.extend(self._retries.popitem(last=False)[1][1])
        else:
            # It was offered as often as Thespian offers a message; those behind it are not to blame.
            self._backlog.extend(left)
        self._arm(time.monotonic())

    def _hand_over_backlog(self) -> None:
        while self._backlog:
            self._returned = self._original(*self._backlog.popleft())

    def _sorted(self, message: Any) -> list[Any]:
        """The user messages that this one brings, in order."""
        now = time.monotonic()
        if isinstance(getattr(message, "payload", None), _Alarm):
            self._alarm_due = None
            self._book.expire(now)
            found = self._for_user(self._ordering.due(now))
        elif isinstance(message, Envelope) and not is_sound(message):
            found = []
        elif isinstance(message, Reply):
            found = self._on_reply(message)
        else:
            found = self._for_user(self._ordering.arrived(message, now))
        return [*found, *self._settled()]

    def _on_reply(self, reply: Reply) -> list[Any]:
        if self._oversight.greeted(reply):
            return []
        if self._book.replied(reply) or reply.call in self._mine:
            return []
        return [reply]

    def _settled(self) -> list[Reply]:
        found = []
        while self._book.settled:
            reply = self._book.settled.popleft().reply
            if reply.call in self._abandoned:
                found.append(self._abandoned.pop(reply.call))
            elif self._undo(reply):
                continue
            else:
                found.append(reply)
        return found

    def _undo(self, reply: Reply) -> bool:
        """A start that took too long is undone before anybody is told."""
        start = self._starts.pop(reply.call, None)
        if start is None or not isinstance(reply.error, CallTimeout):
            return False
        undo = Abandon(reply.call)
        self._abandoned[undo.call] = reply
        self._call(TO_SUPERVISOR, undo, None)
        return True

    def _for_user(self, messages: list[Any]) -> list[Any]:
        return [
            message for message in messages if not (isinstance(message, Down) and self._swallowed(message))
        ]

    def _swallowed(self, down: Down) -> bool:
        if not self._oversight.is_new(down):
            return True
        if self._has_processes and down.incarnation is not None:
            # The only way to know it of a process on another machine.
            self._dead.add(down.incarnation)
        incarnation = self._own_monitors.pop(down.monitor, None)
        if incarnation is None:
            return False
        self._monitored.discard(incarnation)
        self._book.down(incarnation, down.reason, down.detail)
        return True


def _key(message: Any) -> Any:
    """What tells a message of ours from all others, and from itself come again; None for a user's own."""
    if isinstance(message, Reply):
        return (Reply, message.call)
    if isinstance(message, Down):
        return (Down, message.monitor)
    if isinstance(message, DELIVERIES):
        return (type(message), message.incarnation, message.delivery, message.ref)
    return None
