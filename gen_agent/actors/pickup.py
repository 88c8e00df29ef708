"""What is sent to a script: fetched from its mailbox, told apart, and kept in order until somebody asks for
it.

The law: a message is given out once; what one reader does not want stays for the others, in order. The death
of an agent whose completion somebody waits for is learned by a monitor of our own, so that it comes after
everything that agent sent. This module must not know how messages travel.
"""

from __future__ import annotations

import contextlib
import itertools
import sys
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from thespian.actors import ActorExitRequest

from gen_agent.actors.batches import MailboxGone
from gen_agent.actors.identity import this_process
from gen_agent.actors.line import Line
from gen_agent.actors.mailbox import Batch, Open
from gen_agent.actors.mailboxes import MailboxAddress
from gen_agent.actors.supply import Supply
from gen_agent.client.protocol import SUPERVISOR, Inherit, Lookup, WhyDown
from gen_agent.client.targets import incarnation_of
from gen_agent.errors import AgentDown, GenAgentError, RequestNotFound
from gen_agent.messages import Admission, Completion, Demonitor, Down, EventBatch, EventMessage, Monitor
from gen_agent.remembered import Remembered
from gen_agent.sealed import Sealed
from gen_agent.values import AgentAddress, Incarnation, MonitorRef, RequestRef, is_address, mint

MAILBOX_CLASS = "gen_agent.actors.mailbox.MailboxActor"

REMEMBERED = 1_000
"""How many ends are remembered that somebody waited for; of an older one it is asked again."""

_OF_A_REQUEST = (Admission, EventMessage, EventBatch, Completion)


class Fetching:
    """One script's side of its mailbox: what came, told apart and in order."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._supply = Supply(line)
        self._mailbox: Any = None
        self._acked = 0
        self._box: deque[Any] = deque()
        self._queues: dict[RequestRef, deque[Any]] = {}
        self._unwanted: set[RequestRef] = set()
        self._open: dict[RequestRef, Any] = {}
        self._monitors: dict[MonitorRef, Any] = {}
        self._own: dict[MonitorRef, AgentAddress] = {}
        self._watched: set[Incarnation] = set()
        self._ended: Remembered[tuple[str, tuple[str, ...]]] = Remembered(REMEMBERED)
        line.on_supervisor_lost = self._supervisor_lost
        line.on_no_supervisor = self._no_supervisor

    def _supervisor_lost(self) -> None:
        raise NotImplementedError

    def _no_supervisor(self) -> None:
        raise NotImplementedError

    @property
    def address(self) -> Any:
        """The mailbox' address; it is made when first asked for.

        Raises `AgentDown` where the system is gone.
        """
        if self._mailbox is None:
            made = self._line.create(MAILBOX_CLASS)
            if made is None:
                self._no_supervisor()
                raise AgentDown(SUPERVISOR, "registry_lost")
            self._mailbox = MailboxAddress(made.addressDetails) if self.can_wait else made
            self._line.post(self._mailbox, Open(this_process()))
        return self._mailbox

    @property
    def can_wait(self) -> bool:
        """Whether something may still come by waiting: not where everything runs in this process."""
        return self._line.endpoint.has_processes

    # ---------------------------------------------------------------- fetching

    def fetch(self, timeout: float | None) -> bool:
        """Take what the mailbox has, waiting for something at most `timeout`; whether anything came.

        Raises `AgentDown` where the system is gone and has left nothing to be told.
        """
        self._adopt_strangers()
        wait, told = timeout is None or timeout > 0, len(self._box)
        try:
            batches = self._batches(timeout if wait else 0.0)
        except MailboxGone:
            self._mailbox, self._acked = None, 0
            return False
        except AgentDown:
            if len(self._box) == told:
                raise
            return True
        came = [self._unpack(batch) for batch in batches]
        return any(came)

    def _batches(self, timeout: float | None) -> list[Batch]:
        if timeout == 0.0:
            return self._supply.all(self.address, self._acked)
        batch = self._supply.next(self.address, self._acked, timeout)
        return [] if batch is None else [batch]

    def fetch_all(self) -> None:
        """Take everything that has reached the mailbox by now; nothing where the system is gone."""
        with contextlib.suppress(AgentDown):
            while self.fetch(0.0):
                pass

    def _adopt_strangers(self) -> None:
        while self._line.strangers:
            self._sort(self._line.strangers.popleft())

    def _unpack(self, batch: Batch) -> bool:
        before = self._acked
        if batch.first > before + 1:
            # Something before it was lost with an endpoint: it comes again, and this one as well.
            return False
        for number, item in enumerate(batch.items, batch.first):
            if number > self._acked:
                self._acked = number
                self._sort(item.open() if isinstance(item, Sealed) else item)
        return self._acked > before

    def _sort(self, message: Any) -> None:
        if isinstance(message, Down):
            self._on_down(message)
        elif isinstance(message, _OF_A_REQUEST) and message.ref in self._unwanted:
            if _is_last(message):
                self._unwanted.discard(message.ref)
        elif isinstance(message, _OF_A_REQUEST) and message.ref in self._queues:
            self._queues[message.ref].append(message)
        else:
            self._box.append(message)

    def _on_down(self, down: Down) -> None:
        if down.monitor in self._own:
            self._has_ended(self._own.pop(down.monitor).incarnation, down.reason, down.detail)
        elif self._monitors.pop(down.monitor, None) is not None:
            self._box.append(down)

    def _has_ended(self, incarnation: Incarnation, reason: str, detail: tuple[str, ...]) -> None:
        self._watched.discard(incarnation)
        self._ended.add(incarnation, (sys.intern(reason), detail))

    # ---------------------------------------------------------------- receiving

    def receive(self, match: Callable[[Any], Any], timeout: float | None) -> Any:
        """The first message for which `match` is true, waiting at most `timeout`; None if none comes."""
        end = None if timeout is None else time.monotonic() + timeout
        seen = 0
        while True:
            for index, message in enumerate(itertools.islice(self._box, seen, None), seen):
                if match(message):
                    del self._box[index]
                    self._given_out(message)
                    return message
            seen = len(self._box)
            left = None if end is None else end - time.monotonic()
            if not self.fetch(left if left is None else max(0.0, left)) and self._is_over(left):
                return None

    def _is_over(self, left: float | None) -> bool:
        """Whether waiting ends here, with nothing and `left` seconds."""
        return not self.can_wait if left is None else left <= 0

    def _given_out(self, message: Any) -> None:
        if isinstance(message, (Completion, Admission)) and _is_last(message):
            self._open.pop(message.ref, None)


class Pickup(Fetching):
    """What a script waits for in its mailbox: completions, streams, ends of agents."""

    def is_mine(self, recipient: Any) -> bool:
        """Whether that recipient is this script; None is."""
        return recipient is None or (self._mailbox is not None and recipient == self._mailbox)

    def expect(self, ref: RequestRef, agent: Any) -> None:
        """This script is the recipient of that request's completion."""
        self._open[ref] = agent

    def forget(self, ref: RequestRef) -> None:
        """Nobody will ask for that completion."""
        self._open.pop(ref, None)

    def completion(self, ref: RequestRef, timeout: float | None) -> Completion | None:
        """The completion of a request, taken out; None if it does not come within `timeout`.

        Raises the admission's error, `RequestNotFound`, or `AgentDown` when the agent ended without a
        completion.
        """
        end = None if timeout is None else time.monotonic() + timeout
        self.fetch_all()
        if ref in self._open:
            self.watch(self._open[ref])
        while True:
            found = self._find_last(ref)
            if found is not None:
                return found
            if ref not in self._open:
                raise RequestNotFound(ref)
            self.raise_if_ended(self._open[ref])
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                return None
            if not self.fetch(left) and not self.can_wait:
                return None

    def _find_last(self, ref: RequestRef) -> Completion | None:
        for index, message in enumerate(self._box):
            if isinstance(message, (Completion, Admission)) and message.ref == ref and _is_last(message):
                if isinstance(message, Admission):
                    raise _fresh(message.error)
                del self._box[index]
                self._open.pop(ref, None)
                return message
        return None

    # ---------------------------------------------------------------- streams

    def open_queue(self, ref: RequestRef) -> deque[Any]:
        """What comes of that request goes into a queue of its own from now on."""
        return self._queues.setdefault(ref, deque())

    def close_queue(self, ref: RequestRef, *, ended: bool) -> None:
        """Nobody wants more of that request; what still comes of it is dropped."""
        self._queues.pop(ref, None)
        if not ended:
            self._unwanted.add(ref)

    # ---------------------------------------------------------------- deaths

    def watch(self, agent: Any) -> None:
        """Learn of an agent's end, after everything it sent to this script. Nothing for a plain address."""
        if not isinstance(agent, AgentAddress):
            return
        if agent.incarnation in self._watched or agent.incarnation in self._ended:
            return
        monitor = Monitor(agent, mint.monitor(), self.address)
        self._own[monitor.ref] = agent
        self._watched.add(agent.incarnation)
        self._line.ask_supervisor(monitor)

    def raise_if_ended(self, agent: Any) -> None:
        """Raise `AgentDown` if that agent's end has been learned."""
        self.watch(agent)
        ended = self._ended.get(agent.incarnation) if isinstance(agent, AgentAddress) else None
        if ended is not None:
            reason, detail = ended
            if reason == "noproc":
                reason, detail = self._line.ask_supervisor(WhyDown(agent.incarnation))
            raise AgentDown(agent, reason, tuple(detail))

    def monitor(self, target: Any) -> MonitorRef:
        """Have one `Down` come when `target` is gone."""
        # Whom the name means now is asked first, for the next supervisor would not know any more.
        agent = target if is_address(target) else self._line.ask_supervisor(Lookup(target))
        monitor = Monitor(target if agent is None else agent, mint.monitor(), self.address)
        self._monitors[monitor.ref] = monitor.target
        self._line.ask_supervisor(monitor)
        return monitor.ref

    def demonitor(self, ref: MonitorRef) -> None:
        """Have no `Down` of that monitor come any more, one that is here already included."""
        self._monitors.pop(ref, None)
        self._box = deque(
            message for message in self._box if not (isinstance(message, Down) and message.monitor == ref)
        )
        self._line.ask_supervisor(Demonitor(ref))

    def _supervisor_lost(self) -> None:
        # Its agents all end with it; who monitors them then is the next one, so that `Down` still comes last.
        if self._mailbox is None:
            self._no_supervisor()
            return
        for ref, target in (*self._monitors.items(), *self._own.items()):
            self._line.tell_next_supervisor(Inherit(target, ref, self._mailbox))

    def _no_supervisor(self) -> None:
        # The whole system ends: the monitors are ours to answer.
        asked = [agent for agent in self._open.values() if isinstance(agent, AgentAddress)]
        for agent in (*self._own.values(), *asked):
            if agent.incarnation not in self._ended:
                self._has_ended(agent.incarnation, "registry_lost", ())
        self._own.clear()
        for ref, target in self._monitors.items():
            known = isinstance(target, AgentAddress)
            name = target.name if known else target
            self._box.append(
                Down(
                    ref, target if known else None, name, "registry_lost", incarnation=incarnation_of(target)
                )
            )
        self._monitors.clear()

    def close(self, *, system_ends: bool) -> None:
        """End the mailbox; take back the monitors of a system that lives on."""
        for ref in () if system_ends else (*self._monitors, *self._own):
            self._line.tell_supervisor(Demonitor(ref))
        self._monitors.clear()
        self._own.clear()
        if self._mailbox is not None:
            self._line.post(self._mailbox, ActorExitRequest())
            self._mailbox = None


def _is_last(message: Any) -> bool:
    return isinstance(message, Completion) or (isinstance(message, Admission) and not message.accepted)


def _fresh(error: GenAgentError | None) -> GenAgentError:
    assert error is not None
    return error.fresh()
