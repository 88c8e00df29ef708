"""The supervisor, for a client inside an actor: found by name, greeted, looked after, replaced when lost.

The law: nothing is sent to a supervisor that has not answered a greeting, for one that has just died is still
found by its name for some milliseconds; its death is noticed within `LOOK_S` while anything of it is waited
for; the monitors it kept then go to the next one, and each gives one `Down`. Nothing here blocks. This module
knows no Thespian: an actor is something with `send` and `createActor`.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any

from gen_agent.client.callbook import CallBook
from gen_agent.client.protocol import SUPERVISOR, SUPERVISOR_CLASS, Hello, Inherit
from gen_agent.client.targets import TO_SUPERVISOR
from gen_agent.client.whereabouts import running
from gen_agent.envelopes import Call
from gen_agent.messages import Demonitor, Down, Monitor, Reply
from gen_agent.values import Caller, CallRef, MonitorRef

LOOK_S = 1.0
"""How often it is looked whether the supervisor still runs, and how long it has to answer a greeting; in
seconds."""

REMEMBERED = 10_000
"""How many of the past are remembered, of each kind."""
_MADE = 16


class Bounded(OrderedDict[Any, None]):
    """The last of many."""

    def add(self, key: Any) -> None:
        """Remember one more."""
        self[key] = None
        if len(self) > REMEMBERED:
            self.popitem(last=False)


class Oversight:
    """The supervisor as one actor's client sees it.

    `mine` is told every call whose reply is the client's own. Where there are no processes nobody is greeted
    first, and nobody is lost.
    """

    def __init__(self, actor: Any, book: CallBook, mine: Callable[[CallRef], None], processes: bool) -> None:
        self._actor, self._book, self._mine, self._processes = actor, book, mine, processes
        self._address: Any = None
        self._made: deque[Any] = deque(maxlen=_MADE)
        self._identity: Caller | None = None
        self._hello: CallRef | None = None
        self._look_at = 0.0
        self._held: deque[Call] = deque()
        self._monitors: dict[MonitorRef, Any] = {}
        self._users: set[MonitorRef] = set()
        self._over = Bounded()

    def send(self, message: Call) -> None:
        """Have the supervisor asked: with the next `serve`, or when it has answered the greeting."""
        self._held.append(message)

    def monitor(self, target: Any, *, user: bool) -> MonitorRef:
        """Have one `Down` come when `target` has ended; `user` says that it is for the actor itself."""
        message = Monitor(target)
        self._monitors[message.ref] = target
        if user:
            self._users.add(message.ref)
        self._mine(message.call)
        self.send(message)
        return message.ref

    def demonitor(self, ref: MonitorRef) -> None:
        """Have no `Down` of that monitor come any more."""
        message = Demonitor(ref)
        self._over.add(ref)
        self._forget(ref)
        self._mine(message.call)
        self.send(message)

    def is_new(self, down: Down) -> bool:
        """Whether this `Down` is the first of its monitor, and still wanted; it is the last that is."""
        if down.monitor in self._over:
            return False
        if down.monitor in self._monitors:
            self._over.add(down.monitor)
            self._forget(down.monitor)
        return True

    def _forget(self, ref: MonitorRef) -> None:
        self._monitors.pop(ref, None)
        self._users.discard(ref)

    def greeted(self, reply: Reply) -> bool:
        """Take the answer to the greeting; False for any other reply."""
        if reply.call != self._hello:
            return False
        self._hello = None
        self._identity = reply.value if isinstance(reply.value, Caller) else None
        return True

    def is_exit(self, message: Any) -> bool:
        """Whether this is Thespian's word that a supervisor exited, which whoever found it first gets."""
        child = getattr(message, "childAddress", None)
        return child is not None and any(child == made for made in self._made)

    # ---------------------------------------------------------------- going on

    def look(self, now: float) -> None:
        """Notice the loss of the supervisor: what it left open is put back into the book, or fails there."""
        if not self._is_lost(now):
            return
        self._address = self._identity = self._hello = None
        unsent = {message.ref for message in self._held if isinstance(message, Monitor)}
        self._book.outgoing.extend((TO_SUPERVISOR, message) for message in self._held)
        self._held.clear()
        self._book.supervisor_lost()
        for ref, target in self._monitors.items():
            if ref not in unsent:
                message = Inherit(target, ref, self._actor.myAddress)
                self._mine(message.call)
                self.send(message)

    def _is_lost(self, now: float) -> bool:
        if self._address is None or not self._processes:
            return False
        return now >= self._look_at if self._identity is None else not running(self._identity)

    def serve(self, now: float) -> None:
        """Send what may be sent; find a supervisor if there is none."""
        if self._held and self._address is None:
            self._greet(now)
        while self._held and (self._identity is not None or not self._processes):
            self._actor.send(self._address, self._held.popleft())

    def _greet(self, now: float) -> None:
        # An agent that another system has here is not known to the supervisor that is found by name.
        self._address = getattr(self._actor, "own_supervisor", None)
        if self._address is None:
            self._address = self._actor.createActor(SUPERVISOR_CLASS, globalName=SUPERVISOR)
            self._made.append(self._address)
        hello = Hello()
        self._hello, self._look_at = hello.call, now + LOOK_S
        # A supervisor that is busy may answer when another was greeted already: that is no user's reply.
        self._mine(hello.call)
        self._actor.send(self._address, hello)

    def due(self, now: float) -> float | None:
        """When to look again; None while nothing of the supervisor is waited for."""
        if not self._processes or not (self._held or self._users or self._book.waits()):
            return None
        if self._look_at <= now:
            self._look_at = now + LOOK_S
        return self._look_at
