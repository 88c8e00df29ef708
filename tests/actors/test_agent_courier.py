"""The courier: order, one transmission at a time, what may be dropped and what may not. No process, no
transport.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gen_agent.actors.courier import BATCH_BYTES, BUNDLE, Courier
from gen_agent.actors.inner import Bundle
from gen_agent.errors import Draining
from gen_agent.events import Event, Response
from gen_agent.messages import Admission, Completion, EventBatch, EventMessage, Reply
from gen_agent.sealed import Sealed, SealedRun
from gen_agent.values import Incarnation, RequestRef, mint

WHO = Incarnation("host", 1, 2, "nonce")
REF = RequestRef("r", 1)


class Post:
    """Transmissions that are over when the test says so, or at once."""

    def __init__(self, at_once: bool = False) -> None:
        self.sent: list[tuple[Any, Any]] = []
        self.open: list[Callable[[], None]] = []
        self.at_once = at_once

    def __call__(self, address: Any, message: object, done: Callable[[], None]) -> None:
        self.sent.append((address, message))
        if self.at_once:
            done()
        else:
            self.open.append(done)

    def land(self) -> None:
        """The oldest transmission arrives."""
        self.open.pop(0)()

    def land_all(self) -> None:
        """Everything arrives."""
        while self.open:
            self.land()

    def to(self, address: Any) -> list[Any]:
        """What was sent there."""
        return [message for target, message in self.sent if target == address]


def courier(post: Post, limit: int = 10_000) -> Courier:
    """A courier of one agent."""
    return Courier(post, "a", WHO, limit)


def run(*numbers: int) -> SealedRun:
    """A run of text events."""
    return SealedRun.of(tuple(Event("text", {"n": number}, 0.0) for number in numbers))


def numbers(messages: list[Any]) -> list[int]:
    """The events of messages, by number."""
    events = [message.events if isinstance(message, EventBatch) else (message.event,) for message in messages]
    return [event.data["n"] for batch in events for event in batch]


def test_the_first_leaves_at_once_and_the_rest_waits_together() -> None:
    """One transmission per recipient: runs that come meanwhile leave as one batch when it has arrived."""
    post = Post()
    out = courier(post)
    for number in range(5):
        out.relay("x", REF, 1, run(number), True)
    assert len(post.sent) == 1
    post.land()
    assert [numbers([message]) for message in post.to("x")] == [[0], [1, 2, 3, 4]]


def test_a_slow_recipient_holds_up_nobody_else() -> None:
    """C250: what waits for one recipient does not wait for another."""
    post = Post()
    out = courier(post)
    out.admit("slow", REF, None)
    out.admit("slow", REF, Draining())
    out.admit("quick", REF, None)
    assert (len(post.to("slow")), len(post.to("quick"))) == (1, 1)


def test_one_message_per_event_unless_batched() -> None:
    """C175: a recipient that did not ask for batches gets each event in a message of its own."""
    post = Post(at_once=True)
    courier(post).relay("x", REF, 2, run(*range(3000)), False)
    got = post.to("x")
    assert all(isinstance(message, EventMessage) and message.attempt == 2 for message in got)
    assert numbers(got) == list(range(3000))


def test_attempts_and_requests_do_not_share_a_batch() -> None:
    """C177, C244: a batch holds events of one attempt of one request."""
    post = Post()
    out = courier(post)
    out.admit("x", REF, None)
    other = RequestRef("r", 2)
    for ref, attempt, number in ((REF, 1, 0), (REF, 1, 1), (REF, 2, 2), (other, 1, 3)):
        out.relay("x", ref, attempt, run(number), True)
    post.land_all()
    got = post.to("x")[1:]
    assert [(message.ref, message.attempt, numbers([message])) for message in got] == [
        (REF, 1, [0, 1]), (REF, 2, [2]), (other, 1, [3]),
    ]  # fmt: skip


def test_events_beyond_the_limit_are_dropped_and_counted() -> None:
    """Above max_relay_events waiting, the newest are dropped; the completion tells how many, and is never
    dropped.
    """
    post = Post()
    out = courier(post, limit=3)
    out.admit("x", REF, None)
    out.relay("x", REF, 1, run(0, 1), True)
    out.relay("x", REF, 1, run(2, 3, 4), True)
    out.relay("x", REF, 1, run(5), True)
    out.complete("x", REF, Response(text="t"))
    post.land_all()
    admission, batch, completion = post.to("x")
    assert isinstance(admission, Admission)
    assert numbers([batch]) == [0, 1, 2]
    assert isinstance(completion, Completion)
    assert completion.dropped_events == 3


def test_room_is_given_back() -> None:
    """What has left no longer counts: the limit is for what waits."""
    post = Post()
    out = courier(post, limit=2)
    for number in range(10):
        out.relay("x", REF, 1, run(number), True)
        post.land_all()
    out.complete("x", REF, Response())
    assert numbers(post.to("x")[:-1]) == list(range(10))
    post.land_all()
    assert post.to("x")[-1].dropped_events == 0


def test_replies_keep_their_place() -> None:
    """C245: the completion leaves before the reply that was sent after it, to the same recipient."""
    post = Post()
    out = courier(post)
    out.admit("x", REF, None)
    out.complete("x", REF, Response())
    out.send("x", Reply(mint.call(), "accepted"))
    post.land_all()
    assert [type(message) for message in post.to("x")] == [Admission, Completion, Reply]


@given(st.lists(st.sampled_from(["admit", "one", "batch", "complete", "land"]), max_size=40))
def test_deliveries_are_numbered_without_gaps(steps: list[str]) -> None:
    """Whatever is sent in whatever order, deliveries to one recipient are numbered 1, 2, 3, ... and none is
    lost.
    """
    post = Post()
    out = courier(post)
    sent = 0
    for step in steps:
        if step == "land" and post.open:
            post.land()
        elif step == "admit":
            out.admit("x", REF, None)
        elif step == "complete":
            out.complete("x", REF, Response())
        elif step in ("one", "batch"):
            out.relay("x", REF, 1, run(sent), step == "batch")
            sent += 1
    out.flush()
    got = post.to("x")
    assert [message.delivery for message in got] == list(range(1, len(got) + 1))
    assert numbers([message for message in got if isinstance(message, (EventMessage, EventBatch))]) == list(
        range(sent)
    )
    assert dict(out.last_numbers()).get("x", 0) == len(got)


def test_a_flush_sends_everything_in_order() -> None:
    """At the end of an agent nothing waits for an arrival any more."""
    post = Post()
    out = courier(post)
    out.admit("x", REF, None)
    out.relay("x", REF, 1, run(1, 2), False)
    out.complete("x", REF, Response())
    out.flush()
    assert [message.delivery for message in post.to("x")] == [1, 2, 3, 4]


# ---------------------------------------------------------------- bundles


class Box:
    """The address of something that takes bundles."""

    takes_bundles = True

    def __str__(self) -> str:
        return "box"


BOX = Box()


def bundled(post: Post) -> list[list[Any]]:
    """What each transmission to the box held."""
    return [list(one.messages) if isinstance(one, Bundle) else [one] for one in post.to(BOX)]


def test_what_waits_for_a_mailbox_leaves_together() -> None:
    """C243: two leave at once, the rest in one message, in order, numbered as if they were alone."""
    post = Post()
    out = courier(post)
    for error in (None, None, Draining()):
        out.admit(BOX, REF, error)
    out.relay(BOX, REF, 1, run(7), False)
    out.complete(BOX, REF, Response("text"))
    post.land_all()
    first, second, rest = bundled(post)
    assert [type(one) for one in rest] == [Admission, EventMessage, Completion]
    assert [one.delivery for one in (*first, *second, *rest)] == [1, 2, 3, 4, 5]
    assert dict(out.last_numbers()) == {"box": 5}


def test_events_wait_for_what_is_under_way() -> None:
    """Only admissions and completions go beside another transmission; events become a batch meanwhile."""
    post = Post()
    out = courier(post)
    for number in range(3):
        out.relay(BOX, REF, 1, run(number), True)
    assert len(post.sent) == 1
    post.land_all()
    assert [numbers(many) for many in bundled(post)] == [[0], [1, 2]]


def test_others_get_each_message_by_itself() -> None:
    """An actor that is no mailbox knows no bundles."""
    post = Post()
    out = courier(post)
    for _ in range(5):
        out.admit("x", REF, None)
    post.land_all()
    assert [type(one) for one in post.to("x")] == [Admission] * 5


def test_a_users_message_travels_alone() -> None:
    """C239: what the mailbox might not be able to read takes nothing else with it; the order holds."""
    post = Post()
    out = courier(post)
    for part in ("first", "second", "a", "b", "own", "c", "d"):
        if part == "own":
            out.send(BOX, ("own", "message"))
        else:
            out.admit(BOX, RequestRef(part, 1), None)
    post.land_all()
    got = [[one if isinstance(one, tuple) else one.ref.issuer for one in many] for many in bundled(post)]
    assert got == [["first"], ["second"], ["a", "b"], [("own", "message")], ["c", "d"]]


def test_bundles_are_bounded() -> None:
    """A bundle ends at so many messages, or where it has become large."""
    post = Post()
    out = courier(post)
    for _ in range(BUNDLE + 3):
        out.admit(BOX, REF, None)
    for size in (BATCH_BYTES, 1):
        out.complete(BOX, REF, Sealed(bytes(size)))
    out.relay(BOX, REF, 1, run(1), True)
    out.admit(BOX, REF, None)
    post.land_all()
    assert [len(many) for many in bundled(post)] == [1, 1, BUNDLE, 2, 2, 1]


def test_haste_only_while_something_waits() -> None:
    """The courier asks to be told at once of a transmission only if something waits behind it."""
    post, asked = Post(), list[int]()
    out = Courier(post, "a", WHO, 100, lambda: asked.append(len(post.sent)))
    out.admit("x", REF, None)
    assert asked == []
    out.admit("x", REF, None)
    assert asked == [1]
    post.land()
    assert asked == [1]
