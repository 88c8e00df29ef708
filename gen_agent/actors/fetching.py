"""What comes into a script's mailbox: fetched, told apart, and kept in order until somebody asks for it.

The law: a message is given out once; what one reader does not want stays for the others, in order. This
module must not know how messages travel.
"""

from __future__ import annotations

import abc
import contextlib
import itertools
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from gen_agent.actors.batches import MailboxGone
from gen_agent.actors.identity import this_process
from gen_agent.actors.line import Line
from gen_agent.actors.mailbox import Batch, Open
from gen_agent.actors.mailboxes import MailboxAddress
from gen_agent.actors.supply import Supply
from gen_agent.actors.unwanted import Unwanted
from gen_agent.client.protocol import SUPERVISOR
from gen_agent.errors import AgentDown
from gen_agent.messages import Admission, Completion, Down, EventBatch, EventMessage
from gen_agent.remembered import Remembered
from gen_agent.sealed import Sealed
from gen_agent.values import AgentAddress, Incarnation, MonitorRef, RequestRef

MAILBOX_CLASS = "gen_agent.actors.mailbox.MailboxActor"

REMEMBERED = 1_000
"""How many ends are remembered that somebody waited for; of an older one it is asked again."""

_OF_A_REQUEST = (Admission, EventMessage, EventBatch, Completion)


class Fetching(abc.ABC):
    """One script's side of its mailbox: what came, told apart and in order."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._supply = Supply(line)
        self._mailbox: Any = None
        self._acked = 0
        self._box: deque[Any] = deque()
        self._queues: dict[RequestRef, deque[Any]] = {}
        self._unwanted = Unwanted()
        self._dropped: deque[tuple[Any, RequestRef, Iterable[Any]]] = deque()
        self._open: dict[RequestRef, Any] = {}
        self._monitors: dict[MonitorRef, Any] = {}
        self._own: dict[MonitorRef, AgentAddress] = {}
        self._watched: set[Incarnation] = set()
        self._ended: Remembered[tuple[str, tuple[str, ...]]] = Remembered(REMEMBERED)
        line.on_supervisor_lost = self._supervisor_lost
        line.on_no_supervisor = self._no_supervisor

    @abc.abstractmethod
    def _supervisor_lost(self) -> None:
        """The supervisor is gone."""

    @abc.abstractmethod
    def _no_supervisor(self) -> None:
        """There is none, and there will be none."""

    @abc.abstractmethod
    def _mailbox_replaced(self, mailbox: Any) -> None:
        """There is another mailbox; what was in the last one, and is on its way there, is lost."""

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
        except AgentDown:
            if len(self._box) == told:
                raise
            return True
        came = [self._unpack(batch) for batch in batches]
        return any(came)

    def _batches(self, timeout: float | None) -> list[Batch]:
        try:
            if timeout == 0.0:
                return self._supply.all(self.address, self._acked)
            batch = self._supply.next(self.address, self._acked, timeout)
        except MailboxGone:
            self._replace_mailbox()
            return []
        return [] if batch is None else [batch]

    def _replace_mailbox(self) -> None:
        self._mailbox, self._acked = None, 0
        # At once, for who waits is to look at what was lost. It raises where the system is gone.
        self._mailbox_replaced(self.address)

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
            self._unwanted.drop(message)
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
        if isinstance(message, (Completion, Admission)) and is_last(message):
            self._open.pop(message.ref, None)


def is_last(message: Any) -> bool:
    """Whether nothing more comes of that request but, at most, its admission."""
    return isinstance(message, Completion) or (isinstance(message, Admission) and not message.accepted)
