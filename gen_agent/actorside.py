"""What a client inside an actor does with the messages of that actor: its own are swallowed, the rest passed
on.

The law: the actor's own `receiveMessage` sees each user message once, in order, and its last return value is
returned whenever it was not called, so that what it watches stays watched. Where it raises, Thespian calls
again with the same message: then it is called again with exactly what it did not take. Nothing here blocks.
This module knows no Thespian: an actor is something with `send`, `createActor` and `wakeupAfter`.
"""

from __future__ import annotations

import itertools
import os
import socket
import time
from collections import OrderedDict, deque
from datetime import timedelta
from typing import Any

import attrs

from gen_agent.callbook import CallBook
from gen_agent.envelopes import Call, Cast
from gen_agent.errors import CallTimeout
from gen_agent.messages import Down, Monitor, Reply, StartAgent
from gen_agent.ordering import DELIVERIES, Ordering
from gen_agent.protocol import SUPERVISOR, SUPERVISOR_CLASS, Abandon, Hello
from gen_agent.targets import TO_SUPERVISOR
from gen_agent.values import AgentAddress, Caller, CallRef, Incarnation, MonitorRef

_REMEMBERED = 10_000
_RETRIES_KEPT = 16


@attrs.frozen
class _Alarm:
    """The payload of our wakeups."""

    number: int


class _Bounded(OrderedDict[Any, None]):
    """The last of many."""

    def add(self, key: Any) -> None:
        """Remember one more."""
        self[key] = None
        if len(self) > _REMEMBERED:
            self.popitem(last=False)


def running(who: Caller | Incarnation) -> bool:
    """Whether that process runs, as far as this machine can tell: processes of other machines do."""
    if who.host != socket.gethostname() or not who.pid:
        return True
    try:
        with open(f"/proc/{who.pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return not os.path.isdir("/proc/self")
    return int(fields[19]) == who.start_time and fields[0] not in (b"Z", b"X")


def _this_process() -> Caller:
    pid = os.getpid()
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            started = int(file.read().rpartition(b")")[2].split()[19])
    except FileNotFoundError:
        started = 0
    return Caller(socket.gethostname(), pid, started)


class Sending:
    """The sending half of `AgentClient`: the call book, the supervisor, one alarm at a time."""

    _actor: Any
    _original: Any

    def _begin(self, actor: Any) -> None:
        self._actor, self._original = actor, actor.receiveMessage
        self._returned: Any = None
        self._book_: CallBook | None = None
        self._ordering = Ordering()
        self._mine = _Bounded()
        self._own_monitors: dict[MonitorRef, Incarnation] = {}
        self._monitored: set[Incarnation] = set()
        self._demonitored = _Bounded()
        self._abandoned: dict[CallRef, Reply] = {}
        self._starts: dict[CallRef, StartAgent] = {}
        self._retries: OrderedDict[Any, tuple[int, deque[tuple[Any, Any]]]] = OrderedDict()
        self._backlog: deque[tuple[Any, Any]] = deque()
        self._supervisor: Any = None
        self._identity: Caller | None = None
        self._hello: CallRef | None = None
        self._alarms = itertools.count(1)
        self._alarm_due: float | None = None
        actor.receiveMessage = self._receive

    # ---------------------------------------------------------------- what the base can do

    @property
    def _has_processes(self) -> bool:
        return hasattr(getattr(self._actor, "_myRef", None), "transport")

    @property
    def _book(self) -> CallBook:
        # Made late: in the actor's `__init__` its place in the system is not known yet.
        if self._book_ is None:
            transport = getattr(getattr(self._actor, "_myRef", None), "transport", None)
            numbered = transport is not None and not hasattr(transport, "seal")
            self._book_ = CallBook(_this_process(), self._alive, self._watch, numbered=numbered)
        return self._book_

    def _alive(self, address: AgentAddress) -> bool:
        return self._has_processes and running(address.incarnation)

    def _watch(self, address: AgentAddress) -> None:
        if address.incarnation in self._monitored:
            return
        self._monitored.add(address.incarnation)
        monitor = Monitor(address)
        self._own_monitors[monitor.ref] = address.incarnation
        self._mine.add(monitor.call)
        self._book.outgoing.append((TO_SUPERVISOR, monitor))

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
        while self._book.outgoing:
            target, message = self._book.outgoing.popleft()
            if isinstance(message, Call):
                self._mine.add(message.call)
            self._actor.send(self._find_supervisor() if target is TO_SUPERVISOR else target, message)
        self._arm()

    def _find_supervisor(self) -> Any:
        if self._supervisor is not None and self._identity is not None and not running(self._identity):
            self._supervisor, self._identity = None, None
            self._book.supervisor_lost()
        if self._supervisor is None:
            self._supervisor = self._actor.createActor(SUPERVISOR_CLASS, globalName=SUPERVISOR)
            hello = Hello()
            self._hello = hello.call
            self._actor.send(self._supervisor, hello)
        return self._supervisor

    def _arm(self) -> None:
        times = [due for due in (self._book.deadline(), self._ordering.deadline()) if due is not None]
        if self._backlog:
            times.append(0.0)
        if not times or (self._alarm_due is not None and self._alarm_due <= min(times)):
            return
        self._alarm_due = min(times)
        seconds = max(0.0, self._alarm_due - time.monotonic())
        self._actor.wakeupAfter(timedelta(seconds=seconds), _Alarm(next(self._alarms)))

    def _receive(self, message: Any, sender: Any) -> Any:
        raise NotImplementedError


class ActorSide(Sending):
    """The mechanics of `AgentClient`: what it sends, and what it swallows, orders and times out."""

    def _receive(self, message: Any, sender: Any) -> Any:
        """What Thespian calls instead of the actor's own `receiveMessage`."""
        key = _key(message)
        if key is None and not isinstance(getattr(message, "payload", None), _Alarm):
            self._hand_over_backlog()
            self._returned = self._original(message, sender)
        else:
            self._receive_ours(key, message, sender)
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
        self._arm()

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
        elif isinstance(message, Reply):
            found = self._on_reply(message)
        else:
            found = self._for_user(self._ordering.arrived(message, now))
        return [*found, *self._settled()]

    def _on_reply(self, reply: Reply) -> list[Any]:
        if reply.call == self._hello:
            self._identity = reply.value if isinstance(reply.value, Caller) else None
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
        incarnation = self._own_monitors.pop(down.monitor, None)
        if incarnation is None:
            return down.monitor in self._demonitored
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
