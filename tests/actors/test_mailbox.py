"""A script's mailbox: it takes at once, forgets nothing, hands over in order, and ends with its script."""

from __future__ import annotations

import os
import pickle
import signal
from typing import Any

import attrs
import pytest

from gen_agent import Cancelled, Event
from gen_agent.actors.eventroom import EventRoom, size_of
from gen_agent.actors.identity import this_process
from gen_agent.actors.inner import Bundle
from gen_agent.actors.mailbox import BATCH, BATCH_BYTES, Batch, MailboxActor, More, Open, Take
from gen_agent.actors.processes import ProcessId, Watched, descendants
from gen_agent.actors.system import AgentSystem
from gen_agent.messages import Completion, Down, EventBatch, EventMessage, Reply
from gen_agent.sealed import Sealed
from gen_agent.values import Incarnation, mint
from tests.actors.crew import ALL, BASES, running
from tests.actors.scenes import forked, rest, say

WHO = Incarnation("here", 1, 2, "nonce")


class Bench(MailboxActor):
    """A mailbox outside any system: what it sends and its deadlines are kept."""

    has_processes = False  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[Any] = []
        self.deadlines: dict[Any, float] = {}

    def send(self, address: Any, message: Any) -> None:
        """Keep it."""
        self.sent.append(message)

    def set_deadline(self, key: Any, seconds: float) -> None:
        """Keep it."""
        self.deadlines[key] = seconds

    def clear_deadline(self, key: Any) -> None:
        """Forget it."""
        self.deadlines.pop(key, None)

    def taken(self, acked: int, *, wait: bool = True) -> Batch | None:
        """What a `Take` is answered with now."""
        self.sent.clear()
        self.handle(Take(acked, wait), "script")
        return self.sent[0] if self.sent else None


def event(number: int) -> EventMessage:
    """The delivery of that number."""
    ref = mint.request()
    return EventMessage("a", ref, 1, Event.text(str(number)), incarnation=WHO, delivery=number)


def down(last: int | None) -> Down:
    """The end of the agent, whose last delivery had that number."""
    return Down(mint.monitor(), None, "a", "normal", incarnation=WHO, delivery=last)


def test_nothing_is_forgotten_before_it_is_acknowledged() -> None:
    """What a lost answer carried is handed over again; what was acknowledged is not."""
    bench = Bench()
    for number in (1, 2, 3):
        bench.handle(event(number), "agent")
    first, again = bench.taken(0), bench.taken(0)
    assert first is not None
    assert again is not None
    assert (first.first, len(first.items)) == (again.first, len(again.items)) == (1, 3)
    rest_ = bench.taken(2)
    assert rest_ is not None
    assert (rest_.first, [item.delivery for item in rest_.items]) == (3, [3])
    assert bench.taken(3) is None


def test_batches_are_bounded() -> None:
    """One answer carries at most BATCH messages; the next carries the rest."""
    bench = Bench()
    for number in range(1, BATCH + 11):
        bench.handle(event(number), "agent")
    first = bench.taken(0)
    assert first is not None
    assert len(first.items) == BATCH
    second = bench.taken(BATCH)
    assert second is not None
    assert [item.delivery for item in second.items] == list(range(BATCH + 1, BATCH + 11))


def test_a_waiting_take_is_answered_by_the_first_message() -> None:
    """A script that waits is answered once, as soon as something comes; a newer take replaces the older."""
    bench = Bench()
    old, new = Take(0), Take(0)
    bench.handle(old, "script")
    bench.handle(new, "script")
    bench.handle(event(1), "agent")
    bench.handle(event(2), "agent")
    assert [batch.call for batch in bench.sent] == [new.call]


def test_an_impatient_take_is_answered_at_once() -> None:
    """A take that does not wait gets an empty batch."""
    batch = Bench().taken(0, wait=False)
    assert batch is not None
    assert batch.items == ()


def test_deliveries_are_put_in_order_and_down_comes_last() -> None:
    """C243: whatever order they arrive in, deliveries are handed over by number, Down after the last."""
    bench = Bench()
    end = down(3)
    for message in (event(2), end, event(3), event(1)):
        bench.handle(message, "agent")
    batch = bench.taken(0)
    assert batch is not None
    assert [getattr(item, "delivery", None) for item in batch.items] == [1, 2, 3, 3]
    assert batch.items[-1] is end
    bench.handle(event(4), "agent")
    assert bench.taken(4) is None


def test_down_does_not_wait_for_ever() -> None:
    """Down waits at most 0.3 s for announced deliveries that never come, and nothing comes after it."""
    bench = Bench()
    bench.handle(down(2), "supervisor")
    assert bench.taken(0) is None
    assert 0 < bench.deadlines["order"] <= 0.3
    bench._ordering._sources[WHO].down_due = 0.0
    bench.on_deadline("order")
    batch = bench.taken(0)
    assert batch is not None
    assert [type(item).__name__ for item in batch.items] == ["Down"]
    bench.handle(event(1), "agent")
    assert bench.taken(1) is None


def test_users_messages_travel_sealed() -> None:
    """The mailbox's answers hold users' own messages as bytes, opened by the script only."""
    bench = Bench()
    bench.handle({"own": "message"}, "actor")
    batch = bench.taken(0)
    assert batch is not None
    assert type(batch.items[0]) is Sealed
    assert pickle.loads(pickle.dumps(batch)).items[0].open() == {"own": "message"}


def test_an_order_is_good_for_so_many_batches() -> None:
    """A script that listens gets batches as something comes, up to its credit; more of it lets more come."""
    bench, take = Bench(), Take(0, credit=2)
    bench.handle(take, "script")
    for number in range(1, 6):
        bench.handle(event(number), "agent")
    assert [batch.first for batch in bench.sent] == [1, 2]
    bench.handle(More(take.call, 1, 1), "script")
    assert [[item.delivery for item in batch.items] for batch in bench.sent] == [[1], [2], [3, 4, 5]]
    bench.handle(More(mint.call(), 0, 5), "script")
    bench.handle(event(6), "agent")
    assert len(bench.sent) == 3


def test_a_new_order_brings_again_what_may_have_been_lost() -> None:
    """What was given under an earlier order and not acknowledged comes again, and goes on from there."""
    bench = Bench()
    bench.handle(Take(0, credit=9), "script")
    for number in (1, 2, 3):
        bench.handle(event(number), "agent")
    again = bench.taken(1)
    assert again is not None
    assert (again.first, [item.delivery for item in again.items]) == (2, [2, 3])


def test_a_look_beside_an_order_repeats_nothing_later() -> None:
    """A take that does not wait is answered with what is not acknowledged; the order goes on after that."""
    bench, order = Bench(), Take(0, credit=9)
    bench.handle(order, "script")
    bench.handle(event(1), "agent")
    look = Take(1, wait=False)
    bench.handle(look, "script")
    bench.handle(event(2), "agent")
    assert [(batch.call, len(batch.items)) for batch in bench.sent] == [
        (order.call, 1), (look.call, 0), (order.call, 1),
    ]  # fmt: skip


def test_bundles_are_kept_as_what_they_hold() -> None:
    """C243: what agents put together is put in order and handed over one by one, if it is a delivery."""
    bench = Bench()
    bench.handle(Bundle((event(3), event(1), "nonsense", Reply(mint.call()))), "agent")
    bench.handle(Bundle((event(2), down(3))), "agent")
    batch = bench.taken(0)
    assert batch is not None
    assert [getattr(item, "delivery", None) for item in batch.items] == [1, 2, 3, 3]


@pytest.mark.parametrize("base", BASES)
def test_agents_know_a_mailbox_by_its_address(base: str) -> None:
    """A script's address, passed on by whatever way, says that it takes bundles."""
    with running(base) as agents:
        copied = pickle.loads(pickle.dumps(agents.address))
        assert copied.takes_bundles
        assert copied == agents.address


@pytest.mark.parametrize("base", ALL)
def test_any_actor_can_send_to_a_script(base: str) -> None:
    """The address is an ordinary ActorAddress; what is sent to it is received, in order."""
    with running(base) as agents, agents.private() as other:
        for number in range(300):
            other._line.post(agents.address, ("number", number))
        other._line.flush(10)
        assert [agents.receive(timeout=20) for _ in range(300)] == [
            ("number", number) for number in range(300)
        ]


def test_what_went_to_a_predecessor_is_not_waited_for() -> None:
    """C243: where a port is used again an agent's numbers go on, and the first delivery is there at once."""
    with running("genAgentTCPBase") as agents, agents.private() as other:
        other._line.post(agents.address, event(5))
        other._line.post(agents.address, "what came next")
        other._line.flush(10)
        assert isinstance(agents.receive(timeout=20), EventMessage)
        assert agents.receive(timeout=20) == "what came next"


@pytest.mark.parametrize("base", BASES)
def test_the_mailbox_ends_with_its_script(base: str) -> None:
    """A script that is killed leaves no mailbox behind, where the system lives on."""
    with running(base) as agents:
        before = {process.pid for process in descendants(os.getpid())}
        with forked(lambda pipe: _with_mailbox(agents, pipe)) as (script, pid):
            mailbox = next(
                one for one in descendants(os.getpid()) if one.pid not in before | {script.identity.pid}
            )
            assert pid == script.identity.pid
            with Watched(mailbox) as watched:
                script.signal(signal.SIGKILL)
                assert watched.wait(10)


def _with_mailbox(agents: AgentSystem, pipe: int) -> None:
    endpoint = agents._line.endpoint.clone()
    mailbox = endpoint.create("gen_agent.actors.mailbox.MailboxActor")
    endpoint.post(mailbox, Open(this_process()))
    endpoint.flush(5)
    say(pipe, ProcessId.of(os.getpid()).pid)
    rest()


def test_events_without_room_are_dropped_and_counted() -> None:
    """C181: what is over the bound is told with its request's completion, and nothing else is dropped."""
    bench = Bench()
    kept, over = event(1), event(2)
    bench._room = EventRoom(size_of(kept))
    bench.handle(kept, "agent")
    bench.handle(over, "agent")
    bench.handle("a user's own", "somebody")
    bench.handle(completion(over, 3), "agent")
    bench.handle(completion(kept, 4), "agent")
    batch = bench.taken(0)
    assert batch is not None
    first, user, *completions = batch.items
    assert first == kept
    assert user.open() == "a user's own"
    assert [one.dropped_events for one in completions] == [1, 0]
    assert bench.taken(batch.first + len(batch.items) - 1, wait=False).items == ()  # type: ignore[union-attr]
    bench.handle(attrs.evolve(over, delivery=5), "agent")
    again = bench.taken(batch.first + len(batch.items) - 1)
    assert again is not None
    assert [item.delivery for item in again.items] == [5]


def test_a_batch_of_events_counts_each() -> None:
    """C181: a batch that has no room is as many dropped events as it has, added to what the agent dropped."""
    room = EventRoom(0)
    ref = mint.request()
    events = (Event.text("a"), Event.text("b"), Event.text("c"))
    assert room.taken(EventBatch("a", ref, 1, events, incarnation=WHO, delivery=1)) == ()
    (told,) = room.taken(Completion("a", ref, Cancelled(), 4, incarnation=WHO, delivery=2))
    assert told.dropped_events == 7
    assert told.outcome == Cancelled()


def test_large_events_are_handed_over_a_few_at_a_time() -> None:
    """A batch holds no more bytes than one frame should, however many messages wait."""
    bench = Bench()
    ref = mint.request()
    for number in range(1, 6):
        large = Event.text("x" * BATCH_BYTES)
        bench.handle(EventMessage("a", ref, 1, large, incarnation=WHO, delivery=number), "agent")
    sizes = []
    acked = 0
    while (batch := bench.taken(acked, wait=False)) is not None and batch.items:
        sizes.append(len(batch.items))
        acked += len(batch.items)
    assert sizes == [1] * 5


def completion(message: EventMessage, number: int) -> Completion:
    """The end of that event's request."""
    return Completion("a", message.ref, Cancelled(), incarnation=WHO, delivery=number)
