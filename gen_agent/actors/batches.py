"""What a line brings of its mailbox: batches, kept under the number of the call that ordered them.

The law: a batch is kept as long as its order; that the mailbox or the supervisor is gone is told to whoever
waits for one, also when the order had arrived. This module opens nothing.
"""

from __future__ import annotations

import abc
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from gen_agent.actors.endpoint import Endpoint
from gen_agent.actors.identity import local_process
from gen_agent.actors.mailbox import Batch, Opened
from gen_agent.actors.reach import MAILBOX_KEY, Reach
from gen_agent.envelopes import Call
from gen_agent.values import Caller, CallRef


class MailboxGone(RuntimeError):
    """The script's mailbox has ended, with what was in it."""


class Batches(Reach):
    """The part of a line that knows mailboxes; `_awaited` are the calls somebody waits for."""

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self._batches: dict[CallRef, deque[Batch]] = {}
        self._awaited: set[CallRef] = set()
        self._undelivered: set[CallRef] = set()
        self._lost: set[CallRef] = set()

    @abc.abstractmethod
    def _until(self, done: Callable[[], Any], end: float | None, call: CallRef | None) -> Any:
        """Receive until `done()` is true, the time is over, or that call has failed."""

    def order(self, mailbox: Any, message: Call) -> None:
        """Ask the mailbox for batches under this call's number; they are kept until `drop_order`."""
        self._awaited.add(message.call)
        self._post(mailbox, message, message.call)

    def drop_order(self, call: CallRef) -> None:
        """Nothing more is wanted under that number."""
        self._awaited.discard(call)
        self._lost.discard(call)
        self._batches.pop(call, None)
        self.endpoint.settled(call)

    def batch(self, call: CallRef, timeout: float | None) -> Batch | None:
        """The next batch under that number; None if none comes within `timeout`. Raises `MailboxGone`."""
        end = None if timeout is None else time.monotonic() + timeout
        batch: Batch | None = self._until(lambda: self._batch(call), end, None)
        return batch

    def batch_here(self, call: CallRef) -> Batch | None:
        """The next batch under that number that has come already; None without one."""
        batches = self._batches.get(call)
        return batches.popleft() if batches else None

    def _batch(self, call: CallRef) -> Batch | None:
        if call in self._undelivered and not self._batches.get(call):
            raise MailboxGone
        if call in self._lost:
            # That there is no supervisor any more is news that no mailbox brings.
            self._lost.discard(call)
            return self.batch_here(call) or Batch(call, 0, ())
        return self.batch_here(call)

    def _from_mailbox(self, message: Batch | Opened) -> None:
        if isinstance(message, Opened):
            self._watch_mailbox(message.who)
        elif isinstance(message.call, CallRef) and message.call in self._awaited:
            self._batches.setdefault(message.call, deque()).append(message)

    def _watch_mailbox(self, who: Caller) -> None:
        process = local_process(who) if isinstance(who, Caller) else None
        self._watcher.remove(MAILBOX_KEY)
        if process is not None and not self._watcher.add_process(process, MAILBOX_KEY):
            self._mailbox_gone()

    def _mailbox_gone(self) -> None:
        self._undelivered |= self._awaited
