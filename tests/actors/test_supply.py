"""A script's standing order: renewed while batches come, given up when it brought nothing, never mistaken."""

from __future__ import annotations

from collections import deque
from typing import Any

import pytest

from gen_agent.actors.batches import MailboxGone
from gen_agent.actors.mailbox import Batch, More, Take
from gen_agent.actors.supply import CREDIT, Supply
from gen_agent.values import CallRef


class Ends:
    """An endpoint, as far as an order knows it."""

    def __init__(self, keeps_order: bool) -> None:
        self.keeps_order = keeps_order


class Desk:
    """A line to a mailbox that answers as the test says."""

    def __init__(self, keeps_order: bool = True) -> None:
        self.endpoint = Ends(keeps_order)
        self.ordered: list[Take] = []
        self.posted: list[More] = []
        self.dropped: list[CallRef] = []
        self.answers: deque[Any] = deque()
        self.here: deque[Batch] = deque()

    def order(self, mailbox: Any, message: Take) -> None:
        """Note it."""
        self.ordered.append(message)

    def post(self, mailbox: Any, message: More) -> None:
        """Note it."""
        self.posted.append(message)

    def drop_order(self, call: CallRef) -> None:
        """Note it."""
        self.dropped.append(call)

    def batch(self, call: CallRef, timeout: float | None) -> Batch | None:
        """The next answer: that many messages, nothing, or an error."""
        answer = self.answers.popleft()
        if isinstance(answer, Exception):
            raise answer
        return None if answer is None else Batch(call, 1, ("message",) * answer)

    def batch_here(self, call: CallRef) -> Batch | None:
        """What has come already."""
        return self.here.popleft() if self.here else None


def supply(desk: Desk) -> Supply:
    """An order over that desk."""
    return Supply(desk)  # type: ignore[arg-type]


def test_one_order_brings_many_batches() -> None:
    """It is renewed when half of its credit is used up, with what the script has by then."""
    desk = Desk()
    desk.answers.extend([1] * 2 * CREDIT)
    one = supply(desk)
    for number in range(2 * CREDIT):
        assert one.next("box", number, None) is not None
    assert [take.credit for take in desk.ordered] == [CREDIT]
    call = desk.ordered[0].call
    assert desk.posted[:2] == [More(call, CREDIT // 2 - 1, CREDIT // 2), More(call, CREDIT - 1, CREDIT // 2)]
    assert desk.dropped == []


def test_each_batch_is_ordered_where_the_order_is_not_kept() -> None:
    """Two batches on their way could change places there."""
    desk = Desk(keeps_order=False)
    desk.answers.extend([1, 1])
    one = supply(desk)
    one.next("box", 0, None)
    one.next("box", 1, None)
    assert [(take.acked, take.credit) for take in desk.ordered] == [(0, 1), (1, 1)]
    assert desk.posted == []


@pytest.mark.parametrize("outcome", [None, 0, MailboxGone()], ids=["nothing", "news", "gone"])
def test_an_order_that_brought_nothing_is_given_up(outcome: Any) -> None:
    """A mailbox that is gone is noticed by the next order, not waited for again and again."""
    desk = Desk()
    desk.answers.extend([outcome, 1])
    one = supply(desk)
    if isinstance(outcome, Exception):
        with pytest.raises(MailboxGone):
            one.next("box", 0, 1.0)
    else:
        one.next("box", 0, 1.0)
    assert desk.dropped == [desk.ordered[0].call]
    one.next("box", 3, 1.0)
    assert [take.acked for take in desk.ordered] == [0, 3]


def test_another_endpoint_or_mailbox_needs_another_order() -> None:
    """What was under way to the last endpoint is ordered again, from what the script has."""
    desk = Desk()
    desk.answers.extend([1, 1, 1])
    one = supply(desk)
    one.next("box", 0, None)
    desk.endpoint = Ends(True)
    one.next("box", 1, None)
    one.next("another box", 2, None)
    assert [take.acked for take in desk.ordered] == [0, 1, 2]
    assert desk.dropped == [take.call for take in desk.ordered[:2]]


def test_a_look_tells_what_the_order_brought_first() -> None:
    """What came by the order before the answer is older than the answer."""
    desk = Desk()
    desk.answers.extend([1, 2])
    one = supply(desk)
    one.next("box", 0, None)
    early = Batch(desk.ordered[0].call, 2, ("early",))
    desk.here.append(early)
    batches = one.all("box", 1)
    assert batches[0] is early
    assert [len(batch.items) for batch in batches] == [1, 2]
    assert not desk.ordered[1].wait
    assert desk.dropped == [desk.ordered[1].call]
