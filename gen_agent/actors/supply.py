"""What a script has ordered of its mailbox: batches that come without being asked for one by one.

The law: an order is good for some batches and is renewed while they come, with what the script has; one that
brought nothing, or whose endpoint or mailbox is no longer the one in use, is given up, and what it may still
bring comes again under the next. On a base that loses the order each batch is ordered by itself. This module
opens nothing.
"""

from __future__ import annotations

from typing import Any

from gen_agent.actors.line import Line
from gen_agent.actors.mailbox import Batch, More, Take
from gen_agent.values import CallRef

CREDIT = 8
"""How many batches may be on their way to a script."""

ANSWER_S = 10.0
"""How long a mailbox has to say that it is empty, in seconds."""


class Supply:
    """The standing order of one script."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._call: CallRef | None = None
        self._from: tuple[Any, Any] = (None, None)
        self._left = 0

    def next(self, mailbox: Any, acked: int, timeout: float | None) -> Batch | None:
        """Wait for the next batch, at most `timeout`; the script has everything up to `acked`.

        Raises `MailboxGone`, and `AgentDown` where the system is gone.
        """
        if self._call is None or self._from != (self._line.endpoint, mailbox):
            self._order(mailbox, acked)
        assert self._call is not None
        batch = None
        try:
            batch = self._line.batch(self._call, timeout)
        finally:
            if batch is None or not batch.items:
                self._give_up()
        if batch is not None and batch.items:
            self._took(mailbox, acked)
        return batch

    def all(self, mailbox: Any, acked: int) -> list[Batch]:
        """What has reached the mailbox by now, or a first part of it; raises as `next` does."""
        take = Take(acked, wait=False)
        self._line.order(mailbox, take)
        try:
            last = self._line.batch(take.call, ANSWER_S)
        finally:
            self._line.drop_order(take.call)
        batches = []
        while self._call is not None and (batch := self._line.batch_here(self._call)) is not None:
            batches.append(batch)
            self._took(mailbox, acked)
        return batches if last is None else [*batches, last]

    def _order(self, mailbox: Any, acked: int) -> None:
        self._give_up()
        self._left = CREDIT if self._line.endpoint.keeps_order else 1
        take = Take(acked, credit=self._left)
        self._call, self._from = take.call, (self._line.endpoint, mailbox)
        self._line.order(mailbox, take)

    def _took(self, mailbox: Any, acked: int) -> None:
        self._left -= 1
        if self._left == 0:
            self._give_up()
        elif self._left == CREDIT // 2 and self._call is not None:
            self._left = CREDIT
            self._line.post(mailbox, More(self._call, acked, CREDIT - CREDIT // 2))

    def _give_up(self) -> None:
        if self._call is not None:
            self._line.drop_order(self._call)
            self._call = None
