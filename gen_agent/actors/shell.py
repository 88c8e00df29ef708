"""The base of our actors: what a Thespian actor must get right, done once.

The law: nothing leaves `receiveMessage` (Thespian would call it again, send twice and log the message), every
call of it returns the watch, `__init__` does nothing that can fail. A subclass says what to do with a
message, with a watched thing that is ready, with a deadline, and when one of these raises.
"""

from __future__ import annotations

import abc
import functools
import logging
import math
import time
from collections import deque
from collections.abc import Callable, Hashable
from datetime import timedelta
from typing import Any

from thespian.actors import Actor, ThespianWatch, WakeupMessage, WatchMessage

from gen_agent.actors.deadlines import Deadlines
from gen_agent.actors.inner import Again
from gen_agent.actors.letters import Letter
from gen_agent.actors.room import with_room
from gen_agent.actors.timer import KernelTimer
from gen_agent.actors.watching import Ready, Watcher

_TIMER = "the shell's own timer"


class Shell(Actor, abc.ABC):
    """An actor whose messages are handled by `handle`, with watched descriptors and processes, and deadlines.

    Where the base has processes, deadlines are a kernel timer behind the watch; where everything runs in one
    process they are Thespian wakeups, and watched processes are looked at with every message.
    """

    def __init__(self) -> None:
        super().__init__()
        self._watcher: Watcher | None = None
        self._timer: KernelTimer | None = None
        self._timer_due: float | None = math.inf
        self._wakeup_due: float | None = None
        self._deadlines = Deadlines()
        self._put_off: deque[Callable[[], None]] = deque()

    # ---------------------------------------------------------------- for subclasses

    @abc.abstractmethod
    def handle(self, message: Any, sender: Any) -> None:
        """Deal with one message; exit requests and exited children are messages too."""

    def on_ready(self, ready: Ready) -> None:
        """Deal with something watched that is ready."""

    def on_deadline(self, key: Hashable) -> None:
        """Deal with a deadline that is due; it is forgotten already."""

    def on_bug(self, error: Exception) -> None:
        """One of these raised, which is a mistake of ours. Default: log its class; the actor goes on."""
        log_failure(type(self).__name__, error)

    # ---------------------------------------------------------------- what a base can do

    @functools.cached_property
    def has_processes(self) -> bool:
        """Whether actors of this base are processes, and descriptors can be watched."""
        return hasattr(getattr(self._myRef, "transport", None), "set_watch")

    @functools.cached_property
    def sends_at_once(self) -> bool:
        """Whether what is sent leaves at once; on Thespian's own transports it does so after the message."""
        return not self.has_processes or hasattr(self._myRef.transport, "seal")

    @property
    def watcher(self) -> Watcher:
        """What this actor watches; made when first needed."""
        if self._watcher is None:
            self._watcher = Watcher()
            if self._is_attended:
                self._myRef.transport.attend(self._watcher.fileno(), self._look)
        return self._watcher

    def set_deadline(self, key: Hashable, seconds: float) -> None:
        """Call `on_deadline(key)` after `seconds`; replaces an earlier deadline of that key."""
        self._deadlines.set(key, time.monotonic() + seconds)

    def clear_deadline(self, key: Hashable) -> None:
        """Forget that deadline, if there is one."""
        self._deadlines.clear(key)

    def soon(self, call: Callable[[], None]) -> None:
        """Do `call` once the sends of the message being handled have left, before or after other messages."""
        self._put_off.append(call)
        if len(self._put_off) == 1:
            self._come_back()

    def _come_back(self) -> None:
        if self._is_attended:
            self._myRef.transport.call_soon(lambda: self._between_messages(self._do_put_off))
        else:
            Actor.send(self, self.myAddress, Again())

    # ---------------------------------------------------------------- sending, where there are processes

    def post_letter(self, letter: Letter) -> None:
        """Send a letter; its callbacks tell what became of it."""
        # Thespian's throttle, which puts an actor to sleep, is for its own transports.
        manager = self._myRef
        send = manager._send_intent_to_transport if self.sends_at_once else manager._send_intent
        send(letter)

    def hasten(self) -> None:
        """More waits behind a letter: it is to be known at once when that has arrived."""
        if self.has_processes and self.sends_at_once:
            self._myRef.transport.hasten()

    # ---------------------------------------------------------------- the loop

    def receiveMessage(self, message: Any, sender: Any) -> ThespianWatch | None:
        """Thespian's entry: never raises."""
        try:
            if self._room_above:
                self._dispatch(message, sender)
            else:
                with_room(lambda: self._dispatch(message, sender))
        except Exception as error:
            self._report(error)
        return self._watch()

    @functools.cached_property
    def _room_above(self) -> bool:
        # Thespian's own loop has none, so each message makes its own; without processes no stack is deep.
        return self.sends_at_once

    def _dispatch(self, message: Any, sender: Any) -> None:
        if isinstance(message, WatchMessage):
            self._on_watch()
        elif isinstance(message, WakeupMessage) and message.payload is _TIMER:
            self._wakeup_due = None
        elif isinstance(message, Again):
            self._do_put_off()
        else:
            self.handle(message, sender)
            if self._watcher and not self.has_processes:
                self._on_watch()
        self._run_due()

    @functools.cached_property
    def _is_attended(self) -> bool:
        # Thespian's watch has to be set anew with every message, and comes as one.
        return hasattr(getattr(self._myRef, "transport", None), "attend")

    def _look(self) -> None:
        """What our own transport calls when something watched is ready."""
        if getattr(self._myRef, "_exiting", False):
            # Nothing is handled any more, and what is ready would end every wait at once.
            self._myRef.transport.leave_alone(self.watcher.fileno())
            return
        self._between_messages(self._on_watch)

    def _between_messages(self, call: Callable[[], None]) -> None:
        """What `receiveMessage` is for a message, for what our own transport calls by itself."""
        if getattr(self._myRef, "_exiting", False):
            return
        try:
            call()
            self._run_due()
        except Exception as error:
            self._report(error)
        self._watch()

    def _on_watch(self) -> None:
        for ready in self.watcher.ready():
            if ready.key == _TIMER:
                # Readable until it is set anew.
                self._timer_due = None
            elif ready.key in self.watcher:  # One of the others may have removed it meanwhile.
                self._guarded(self.on_ready, ready)

    def _do_put_off(self) -> None:
        for _ in range(len(self._put_off)):
            self._guarded(lambda _: self._put_off.popleft()(), None)
        if self._put_off:
            self._come_back()

    def _run_due(self) -> None:
        now = time.monotonic()
        while (key := self._deadlines.pop_due(now)) is not None:
            self._guarded(self.on_deadline, key)

    def _guarded(self, call: Callable[[Any], None], argument: Any) -> None:
        try:
            call(argument)
        except Exception as error:
            self._report(error)

    def _report(self, error: Exception) -> None:
        try:
            self.on_bug(error)
        except Exception as second:
            log_failure(type(self).__name__, second)

    # ---------------------------------------------------------------- waking

    def _watch(self) -> ThespianWatch | None:
        try:
            self._arm()
            if self._watcher and self.has_processes and not self._is_attended:
                return ThespianWatch([self._watcher.fileno()])
        except Exception as error:
            self._report(error)
        return None

    def _arm(self) -> None:
        due = self._deadlines.next_due()
        if self.has_processes:
            self._arm_timer(due)
        elif due is not None and (self._wakeup_due is None or due < self._wakeup_due):
            self._wakeup_due = due
            self.wakeupAfter(timedelta(seconds=max(0.0, due - time.monotonic())), _TIMER)

    def _arm_timer(self, due: float | None) -> None:
        # A timer that rings too early costs one look in minutes, setting it for every turn two calls in each.
        if self._timer_due is not None and (due is None or self._timer_due <= due):
            return
        if self._timer is None:
            self._timer = KernelTimer()
            self.watcher.add(self._timer, _TIMER)
        self._timer.set(due)
        self._timer_due = math.inf if due is None else due


def log_failure(where: str, error: BaseException) -> None:
    """Log that something of ours raised: the class and the lines of code, never the text (C218)."""
    logging.getLogger("gen_agent").error("%s failed: %s", where, described(error))


def described(error: BaseException) -> str:
    """The class of `error` and the lines of code it went through, innermost first, without any content."""
    places, trace = [], error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        places.append(f"{code.co_filename.rpartition('/')[2]}:{trace.tb_lineno}:{code.co_name}")
        trace = trace.tb_next
    return " ".join((type(error).__name__, *reversed(places)))
