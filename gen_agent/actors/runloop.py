"""The loop of a transport: what is done when, while a process waits for messages or for its sends.

The law: one pass completes finished sends, hands over due wakeups and the messages that are there, and then
waits once; a handler is never called under the lock, nor while only transmitting. Every call makes at least
one pass, so a duration of zero still gets on with everything. This module must not know how messages travel.
"""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from typing import Any

from thespian.actors import ActorExitRequest, WakeupMessage, WatchMessage
from thespian.system.messages.multiproc import ChildMayHaveDied
from thespian.system.timing import currentTime
from thespian.system.transport import (
    ReceiveEnvelope,
    Thespian__Run_Expired,
    Thespian__Run_HandlerResult,
    Thespian__Run_Terminated,
    TransmitOnly,
)

from gen_agent.actors.bell import Bell
from gen_agent.actors.inbox import Inbox
from gen_agent.actors.outbox import Outbox
from gen_agent.actors.poller import LONGEST_WAIT_S, READ, Poller, Watches
from gen_agent.actors.room import with_room
from gen_agent.actors.wakeups import Wakeups

Handler = Callable[[Any], Any]

_BACKLOG = 16


def deadline(duration: timedelta | float | None) -> float | None:
    """The moment `duration` from now on the transport's clock; None stays None."""
    if duration is None:
        return None
    now: float = currentTime()
    return now + (duration.total_seconds() if isinstance(duration, timedelta) else duration)


def remaining(until: float | None) -> timedelta | None:
    """How long it is until a moment of `deadline`, never less than nothing; None stays None."""
    return None if until is None else timedelta(seconds=max(0.0, until - currentTime()))


class RunLoop:
    """Half of the transport: waiting, waking, watching; `_outbox` and `_inbox` come from the other half."""

    myAddress: Any
    _outbox: Outbox
    _inbox: Inbox

    def _init_loop(self) -> None:
        self._lock = threading.RLock()
        self._closed = False
        self._poller = Poller()
        self._bell = Bell()
        self._watched = Watches()
        self._wakeups = Wakeups()
        self._arrived: deque[Any] = deque()
        self._finished: deque[tuple[Any, Any]] = deque()
        self._watch_message: Any = None
        self._attended: dict[int, Callable[[], None]] = {}
        self._calls: deque[Callable[[], None]] = deque()
        self._abort_drains: bool | None = None
        self._runner: int | None = None
        self._child_died = self._exit_asked = False
        self._poller.add(self._bell.fileno(), READ, self._hear_bell)
        self._poller.add(self._watched.fileno(), READ, self._see_watched)

    def run(self, incomingHandler: Handler | Any, maximumDuration: timedelta | float | None = None) -> Any:
        """Hand arriving messages and wakeups to the handler until it returns something false, or the time is
        over.

        With None as handler the first message is returned; with `TransmitOnly` nothing is received, and the
        number of sends still pending is returned as soon as one has finished, 0 if there are none.
        """
        self._abort_drains = None
        outer, self._runner = self._runner, threading.get_ident()
        until = deadline(maximumDuration)
        try:
            if incomingHandler is TransmitOnly or isinstance(incomingHandler, TransmitOnly):
                return self._run_transmits(until)
            if until is None and incomingHandler is not None:
                # An actor's own loop, which ends with its process.
                return with_room(lambda: self._run_messages(incomingHandler, None))
            return self._run_messages(incomingHandler, until)
        finally:
            self._runner = outer

    def _run_messages(self, handler: Handler | None, until: float | None) -> Any:
        waited = False
        while not self._leaving():
            result = self._deliver(handler)
            if result is not None:
                return result
            if waited and until is not None and until <= currentTime():
                return Thespian__Run_Expired()
            if self._leaving():
                break
            now = self._arrived or self._finished or self._calls
            self._wait(0.0 if now else self._patience(until, self._wakeups.next_due()))
            waited = True
        return Thespian__Run_Terminated()

    def _run_transmits(self, until: float | None) -> Any:
        before = self._outbox.pending
        waited = False
        with self._not_watching():
            while not self._leaving():
                self._complete()
                pending = self._outbox.pending
                if pending < before or not pending:
                    return pending
                if self._outbox.may_end():
                    return 0
                if waited and until is not None and until <= currentTime():
                    return Thespian__Run_Expired()
                self._wait(0.0 if self._finished else self._patience(until, hurry=True))
                waited = True
        return Thespian__Run_Terminated()

    def _leaving(self) -> bool:
        if self._closed:
            return True
        if self._abort_drains is None:
            return False
        # What has finished is still to be told, and who is told may send more.
        return not (self._abort_drains and (self._finished or not self._outbox.may_end()))

    def _deliver(self, handler: Handler | None) -> Any:
        self._complete()
        for wakeup in self._wakeups.take_due():
            self._arrived.append(
                ReceiveEnvelope(self.myAddress, WakeupMessage(wakeup.period, wakeup.payload))
            )
        # Only what is there now: a handler that keeps sending to itself must not keep the sockets waiting.
        for _ in range(len(self._arrived)):
            envelope = self._arrived.popleft()
            if envelope is self._watch_message:
                self._watch_message = None
            if handler is None:
                return envelope
            result = Thespian__Run_HandlerResult(handler(envelope))
            if not result:
                return result
        # After the messages: who sent one and then let a worker go on may count on this order.
        for _ in range(len(self._calls)):
            self._calls.popleft()()
        return None

    def _complete(self) -> None:
        for _ in range(len(self._finished)):
            intent, status = self._finished.popleft()
            intent.tx_done(status)

    def _patience(self, *moments: float | None, hurry: bool = False) -> float:
        with self._lock:
            self._outbox.mind(hurry or self._abort_drains is not None)
            moments = (*moments, self._outbox.next_due(), self._inbox.next_due())
        known = [moment for moment in moments if moment is not None]
        return min(known) - currentTime() if known else LONGEST_WAIT_S

    def _wait(self, timeout_s: float) -> None:
        ready = self._poller.wait(timeout_s)
        with self._lock:
            self._poller.dispatch(ready)
            self._outbox.run_due()
            self._inbox.run_due()

    def _hear_bell(self) -> None:
        self._bell.silence()
        if self._child_died:
            self._child_died = False
            self._arrived.append(ReceiveEnvelope(self.myAddress, ChildMayHaveDied()))
        if self._exit_asked:
            self._exit_asked = False
            self._arrived.append(ReceiveEnvelope(self.myAddress, ActorExitRequest()))

    def _see_watched(self) -> None:
        ready = self._watched.ready()
        if ready and self._watch_message is None:
            self._watch_message = ReceiveEnvelope(self.myAddress, WatchMessage(ready))
            self._arrived.append(self._watch_message)

    @contextlib.contextmanager
    def _not_watching(self) -> Iterator[None]:
        # Nobody takes what a watched descriptor holds meanwhile: it would end every wait at once.
        aside = dict(self._attended)
        if self._watched.any:
            aside[self._watched.fileno()] = self._see_watched
        for descriptor in aside:
            self._poller.remove(descriptor)
        try:
            yield
        finally:
            if not self._closed:
                for descriptor, call in aside.items():
                    self._poller.add(descriptor, READ, call)

    @property
    def behind(self) -> bool:
        """Whether it is time to make a pass, for somebody who sends a lot and receives nothing."""
        return bool(self._finished) or self._outbox.pending >= _BACKLOG

    def set_watch(self, watchlist: Iterable[object]) -> None:
        """Have a `WatchMessage` come when one of these descriptors is readable, until the next call."""
        self._watched.set(watchlist)

    def attend(self, descriptor: int, call: Callable[[], None]) -> None:
        """Have `call` made between two messages whenever `descriptor` is readable, until `leave_alone`.

        For an actor, whose loop never ends: cheaper than `set_watch`, which costs a message each time.
        """
        self._attended[descriptor] = lambda: self._calls.append(call)
        self._poller.add(descriptor, READ, self._attended[descriptor])

    def call_soon(self, call: Callable[[], None]) -> None:
        """Have `call` made in the next round, after what arrives until then was read; for an actor's loop."""
        self._calls.append(call)

    def leave_alone(self, descriptor: int) -> None:
        """Attend to that descriptor no more; one that is not attended to is no error."""
        if self._attended.pop(descriptor, None) is not None:
            self._poller.remove(descriptor)

    def addWakeup(self, timePeriod: timedelta, payload: Any) -> None:
        """Have a `WakeupMessage` come after `timePeriod`, however long; from any thread."""
        with self._lock:
            self._wakeups.add(timePeriod, payload)
        self._call_runner()

    def interrupt_wait(self, signal_shutdown: bool = False, check_children: bool = False) -> None:
        """Wake the loop, to exit or to look for dead children; safe in a signal handler."""
        self._exit_asked |= signal_shutdown
        self._child_died |= check_children
        self._bell.ring()

    def hasten(self) -> None:
        """Somebody waits for what is under way, patient or not: have its answers end the next wait."""
        with self._lock:
            self._outbox.hasten()
        self._call_runner()

    def abort_run(self, drain: bool = False) -> None:
        """End the current `run`, with `drain` after everything queued has left: then this process ends."""
        self._abort_drains = drain
        if drain:
            self._outbox.end()

    def _call_runner(self) -> None:
        """Wake the loop if it is another thread's: what was just done may change how long it has to wait."""
        if self._runner not in (None, threading.get_ident()):
            self._bell.ring()
