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

from thespian.actors import ActorSystemException

from gen_agent.actors.endpoint import WOKEN, Endpoint
from gen_agent.actors.identity import local_process, this_process
from gen_agent.actors.mailbox import Batch
from gen_agent.actors.processes import ProcessId
from gen_agent.actors.watching import Watcher
from gen_agent.callbook import TO_SUPERVISOR, CallBook, Settled
from gen_agent.envelopes import Call, Cast
from gen_agent.messages import Reply
from gen_agent.protocol import SUPERVISOR, SUPERVISOR_CLASS, Hello, WhyDown
from gen_agent.values import AgentAddress, CallRef, Incarnation

FOR_EVER_S = 86_400.0
"""One round of waiting without a limit, in seconds."""

SUPERVISOR_S = 10.0
"""How long a supervisor has to answer, a new one included."""

LOOKUP_S = 1.0
"""How long a cast waits for the look-up of its name before it is left to leave later."""

_QUIET_S = 0.01
_WATCHED = 256
_REMEMBERED = 10_000
_SUPERVISOR_KEY = "the supervisor"


class MailboxGone(RuntimeError):
    """The script's mailbox has ended, with what was in it."""


class Line:
    """One client's calls and casts. Not for two threads at a time: whoever owns it sees to that."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.strangers: deque[Any] = deque()
        self.on_supervisor_lost: Callable[[], None] = lambda: None
        self._retired: list[Endpoint] = []
        self._watcher = Watcher()
        self._watched: OrderedDict[Incarnation, None] = OrderedDict()
        self._supervisor: Any = None
        self._replies: OrderedDict[CallRef, Settled] = OrderedDict()
        self._batches: dict[CallRef, Batch] = {}
        self._awaited: set[CallRef] = set()
        self._undelivered: set[CallRef] = set()
        self._lost: set[CallRef] = set()
        self._reasons: dict[CallRef, Incarnation] = {}
        self._dead: OrderedDict[Incarnation, None] = OrderedDict()
        self._suspects: deque[Incarnation] = deque()
        self._book = CallBook(this_process(), self._alive, self._watch, numbered=not endpoint.keeps_order)

    # ---------------------------------------------------------------- calling

    def call(self, target: Any, message: Call, timeout: float | None, *, asked: Any = None) -> Any:
        """Send a call and wait for its answer: returns the value or raises a fresh copy of the error."""
        return self.settle(target, message, timeout, asked=asked).reply.result()

    def settle(self, target: Any, message: Call, timeout: float | None, *, asked: Any = None) -> Settled:
        """Send a call and wait for what becomes of it."""
        call = self._book.call(target, message, timeout, time.monotonic(), asked=asked)
        self._awaited.add(call)
        try:
            settled: Settled = self._until(lambda: self._replies.pop(call, None), None, call)
            return settled
        finally:
            self._awaited.discard(call)
            self._book.forget(call)
            self.endpoint.settled(call)

    def ask_supervisor(self, message: Call, timeout: float | None = None, *, asked: Any = None) -> Any:
        """Ask the supervisor, a new one if the last is gone."""
        return self.call(TO_SUPERVISOR, message, timeout, asked=SUPERVISOR if asked is None else asked)

    def tell_supervisor(self, message: Call) -> None:
        """Send the supervisor something without waiting for the answer; nothing if it is gone."""
        if self._supervisor is not None:
            self.post(self._supervisor, message)

    def cast(self, target: Any, message: Cast) -> None:
        """Send a cast: at once, or as soon as the pending look-up of its name is answered."""
        self._book.cast(target, message)
        self._flush()
        if self._book.looking():
            end = time.monotonic() + LOOKUP_S
            self._until(lambda: None if self._book.looking() else True, end, None)

    def post(self, address: Any, message: Any) -> None:
        """Send a message that is none of the book's."""
        self._guarded(lambda: self.endpoint.post(address, message))

    def take(self, mailbox: Any, message: Call, timeout: float | None) -> Batch | None:
        """Ask the mailbox for messages; None if there are none within `timeout`. Raises `MailboxGone`."""
        call = message.call
        end = None if timeout is None else time.monotonic() + timeout
        self._awaited.add(call)
        self._post(mailbox, message, call)
        try:
            batch: Batch | None = self._until(lambda: self._batch(call), end, None)
            return batch
        finally:
            self._awaited.discard(call)
            self._lost.discard(call)
            self.endpoint.settled(call)

    def _batch(self, call: CallRef) -> Batch | None:
        if call in self._undelivered:
            raise MailboxGone
        # The end of the supervisor is news that no mailbox brings.
        return self._batches.pop(call, None) or (Batch(call, 0, ()) if call in self._lost else None)

    # ---------------------------------------------------------------- waiting

    def _until(self, done: Callable[[], Any], end: float | None, call: CallRef | None) -> Any:
        idle = 0
        while True:
            self._flush()
            self._collect()
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

    def _seconds(self, end: float | None, now: float) -> float:
        times = [time for time in (end, self._book.deadline()) if time is not None]
        return max(0.0, min(times) - now) if times else FOR_EVER_S

    def _receive(self, seconds: float) -> bool:
        if self._suspects:
            self._ask_why()
            self._flush()
        message = self._guarded(lambda: self.endpoint.receive(seconds, self._watcher.fileno()))
        if message is WOKEN:
            self._on_deaths()
        elif message is not None:
            self._route(message)
        for call in self.endpoint.failed():
            self._undelivered.add(call)
            self._book.unreachable(call)
        self._undelivered &= self._awaited
        return message is not None

    def _route(self, message: Any) -> None:
        if isinstance(message, Reply):
            self._book.replied(message)
        elif isinstance(message, Batch):
            if message.call in self._awaited:
                self._batches[message.call] = message
        else:
            self.strangers.append(message)

    def _collect(self) -> None:
        self._book.expire(time.monotonic())
        while self._book.settled:
            settled = self._book.settled.popleft()
            call = settled.reply.call
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

    def _guarded(self, use: Callable[[], Any]) -> Any:
        try:
            return use()
        except BaseException:
            # Thespian's loop is left half-way, with its locks held.
            self._replace()
            raise

    def _replace(self) -> None:
        old, self.endpoint = self.endpoint, self.endpoint.clone()
        old.mend()
        self._retired.append(old)
        self._book.resend_lookups()

    # ---------------------------------------------------------------- sending

    def _flush(self) -> None:
        while self._book.outgoing:
            target, message = self._book.outgoing.popleft()
            address = self._find_supervisor() if target is TO_SUPERVISOR else target
            if address is None:
                self._book.no_supervisor()
                continue
            call = message.call if isinstance(message, Call) else None
            if call is not None and not self.endpoint.keeps_order:
                # A call may overtake casts on such a base: they have to have left before.
                self._guarded(lambda: self.endpoint.flush(LOOKUP_S))
            self._post(address, message, call)

    def _post(self, address: Any, message: Any, call: CallRef | None) -> None:
        self._guarded(lambda: self.endpoint.post(address, message, call))

    # ---------------------------------------------------------------- the supervisor

    def _find_supervisor(self) -> Any:
        """The supervisor's address, a new one's if the last is gone; None where there can be none any
        more."""
        end = time.monotonic() + SUPERVISOR_S
        while self._supervisor is None and time.monotonic() < end:
            try:
                address = self._guarded(lambda: self.endpoint.create(SUPERVISOR_CLASS, SUPERVISOR))
            except ActorSystemException:
                return None
            who = self._greet(address)
            if who is not None and self._is_there(who):
                self._supervisor = address
        return self._supervisor

    def _greet(self, address: Any) -> Any:
        hello = Hello()
        self._post(address, hello, hello.call)
        end = time.monotonic() + 1.0
        try:
            while (left := end - time.monotonic()) > 0:
                message = self._guarded(lambda: self.endpoint.receive(left, self._watcher.fileno()))  # noqa: B023
                if isinstance(message, Reply) and message.call == hello.call:
                    return message.value
                if message is WOKEN:
                    self._on_deaths()
                elif message is not None:
                    self._route(message)
                failed = self.endpoint.failed()
                if hello.call in failed:
                    # The admin has not noticed yet that the last one is gone.
                    time.sleep(_QUIET_S)
                    return None
        finally:
            self.endpoint.settled(hello.call)
        return None

    def _is_there(self, who: Any) -> bool:
        process = local_process(who)
        if not who.pid or process is None:
            return True
        self._watcher.remove(_SUPERVISOR_KEY)
        return self._watcher.add_process(process, _SUPERVISOR_KEY)

    # ---------------------------------------------------------------- deaths

    def _alive(self, address: AgentAddress) -> bool:
        if not self.endpoint.has_processes or address.incarnation in self._dead:
            return False
        process = local_process(address.incarnation)
        return process is None or process.alive()

    def _watch(self, address: AgentAddress) -> None:
        incarnation = address.incarnation
        if (
            not self.endpoint.has_processes
            or incarnation in self._watcher
            or incarnation in self._reasons.values()
        ):
            return
        process: ProcessId | None = local_process(incarnation)
        if process is None:
            return
        if len(self._watched) >= _WATCHED:
            self._unwatch_idle()
        if self._watcher.add_process(process, incarnation):
            self._watched[incarnation] = None
        else:
            self._suspects.append(incarnation)

    def _unwatch_idle(self) -> None:
        for incarnation in self._watched.keys() - self._book.holders():
            del self._watched[incarnation]
            self._watcher.remove(incarnation)

    def _on_deaths(self) -> None:
        for ready in self._watcher.ready():
            self._watcher.remove(ready.key)
            if ready.key == _SUPERVISOR_KEY:
                self._supervisor = None
                self._book.supervisor_lost()
                self.on_supervisor_lost()
                self._lost |= self._awaited
            elif isinstance(ready.key, Incarnation):
                del self._watched[ready.key]
                self._suspects.append(ready.key)

    def _ask_why(self) -> None:
        while self._suspects:
            incarnation = self._suspects.popleft()
            self._remember_dead(incarnation)
            if incarnation in self._book.holders() and incarnation not in self._reasons.values():
                call = self._book.call(TO_SUPERVISOR, WhyDown(incarnation), SUPERVISOR_S, time.monotonic())
                self._reasons[call] = incarnation

    def _remember_dead(self, incarnation: Incarnation) -> None:
        if self.endpoint.has_processes:
            self._dead[incarnation] = None
            if len(self._dead) > _REMEMBERED:
                self._dead.popitem(last=False)

    def _learned(self, incarnation: Incarnation, reply: Reply) -> None:
        reason, detail = ("registry_lost", ()) if reply.error is not None else reply.value
        # What it sent before it ended is here already, but may not have been read yet.
        while (
            message := self._guarded(lambda: self.endpoint.receive(_QUIET_S, self._watcher.fileno()))
        ) is not None:
            if message is WOKEN:
                self._on_deaths()
            else:
                self._route(message)
        self._book.down(incarnation, reason, tuple(detail))

    # ---------------------------------------------------------------- the end

    def flush(self, seconds: float) -> bool:
        """Wait until what was sent has left, at most `seconds`; whether it has."""
        end = time.monotonic() + seconds
        self._until(lambda: None if self._book.looking() else True, end, None)
        left = [endpoint for endpoint in (*self._retired, self.endpoint) if not endpoint.flush(seconds)]
        return not left

    def close(self) -> None:
        """Give everything back; nothing can be sent any more."""
        for endpoint in (*self._retired, self.endpoint):
            endpoint.close()
        self._watcher.close()
