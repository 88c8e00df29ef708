"""The bounded queues: what fits, what an overload says, and that nothing depends on their length
(C147-C157).
"""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gen_agent.agent import Prompt
from gen_agent.core import signals as on
from gen_agent.core.queues import NoticeQueue, PromptQueue
from gen_agent.core.requests import Origin, Request
from gen_agent.errors import Overloaded, RequestNotFound
from gen_agent.values import Caller, RequestRef
from tests.core.rig import Rig, rig_in
from tests.core.rig_agents import InfoAgent, short


def request(number: int, size: int = 1, caller: Caller | None = None, fails: bool = False) -> Request:
    origin = Origin.TELL if caller is None else Origin.ASK
    ref = RequestRef("q", number)
    return Request(ref, "x" * size, size, origin, caller=caller, fails_on_halt=fails)


def test_two_queues() -> None:
    """C147: prompts and notifications are bounded apart; the active prompt and what runs at once don't
    count.
    """
    rig = rig_in("P", max_pending_prompts=1, max_pending_notifications=1)
    rig.tell("one")
    rig.notify("one", by="a")
    refused = rig.tell("two", "to")
    rig.notify("two", by="b")
    assert rig.asked(refused).queue == "prompts"
    assert rig.answer("b").queue == "notifications"
    assert (rig.snapshot().pending_prompts, rig.snapshot().pending_notifications) == (1, 1)


def test_deferred_messages_count_with_events() -> None:
    """C147: deferred ordinary messages are in the same bounded queue as notifications."""
    rig = rig_in("P", InfoAgent, max_pending_notifications=1)
    rig.info("tick")
    rig.notify("e", by="me")
    assert rig.answer("me").limit == "count"


def test_what_an_overload_says() -> None:
    """C148: an overload names queue, limit, and the numbers that decided."""
    rig = rig_in("P", max_pending_prompts=2, max_pending_prompt_bytes=10)
    rig.tell("four")
    refused = rig.tell("seven b")
    assert rig.asked(refused) == Overloaded("prompts", "bytes", 1, 4, 7, 2, 10)
    rig.tell("two")
    refused = rig.tell("x")
    assert rig.asked(refused) == Overloaded("prompts", "count", 2, 7, 1, 2, 10)


def test_exact_fit() -> None:
    """C149: an exact fit is accepted, one byte more is not, and count is checked before bytes."""
    rig = rig_in("P", max_pending_prompt_bytes=5, max_pending_prompts=2)
    fitting = rig.tell("hello")
    assert rig.asked(fitting) == fitting
    assert rig.asked(rig.tell("x")).limit == "bytes"
    rig = rig_in("P", max_pending_prompt_bytes=5)
    assert rig.asked(rig.tell("hello!")).limit == "bytes"


def test_zero_disables() -> None:
    """C150: without a queue an idle agent still runs prompts, and a busy one refuses them."""
    for limits in ({"max_pending_prompts": 0}, {"max_pending_prompt_bytes": 0}):
        rig = Rig(**limits)
        rig.ask("runs")
        assert rig.started() == ["runs"]
        assert isinstance(rig.asked(rig.ask("")), Overloaded)
        assert isinstance(rig.asked(rig.tell("x")), Overloaded)


def test_a_refused_prompt_leaves_nothing() -> None:
    """C151, C178: no cache entry, no completion, no admission but the refusal."""
    rig = rig_in("P", max_pending_prompts=0)
    ref = rig.tell("x", "to", stream_to="viewer")
    assert rig.poll(ref) == RequestNotFound(ref)
    assert rig.completions(ref) == rig.admissions(ref) == []


def test_telemetry_of_refusals() -> None:
    """C152: a refused prompt is told as input and as turn, a refused notification as input only."""
    rig = rig_in("P", max_pending_prompts=0, max_pending_notifications=0)
    rig.trace.clear()
    rig.tell("x")
    assert short(tuple(rig.trace)) == ["input.rejected", "turn.rejected", "Answer"]
    rig.trace.clear()
    rig.notify("x", by="me")
    assert short(tuple(rig.trace)) == ["event.received", "input.rejected", "Answer"]


def test_never_over_admitted() -> None:
    """C153: of twenty tells exactly as many are accepted as there is room for."""
    rig = rig_in("P", max_pending_prompts=3)
    answers = [rig.asked(rig.tell(f"{number}")) for number in range(20)]
    assert sum(isinstance(answer, Overloaded) for answer in answers) == 17
    assert rig.snapshot().pending_prompts == 3


def test_room_returns() -> None:
    """C154: dispatch, cancel and the end of a turn, be it an interrupt, give room back."""
    rig = rig_in("P", max_pending_prompts=1, max_pending_notifications=1)
    first = rig.tell("one")
    rig.call(on.CancelRequested, first)
    second = rig.tell("two")
    assert rig.asked(second) == second
    rig.notify("e")
    rig.feed(on.InterruptAsked())
    rig.notify("f", by="me")
    assert rig.answer("me") is None
    assert not isinstance(rig.asked(rig.tell("three")), Overloaded)


def test_counters_return_to_zero() -> None:
    """C157: when everything has ended both queues count zero entries and zero bytes."""
    rig = rig_in("P").always("handle_event", lambda event, state: Prompt("follow", state))
    for number in range(5):
        rig.tell("x" * number)
        rig.notify("y" * number)
    while rig.status().state == "processing":
        rig.end()
    model = rig.model()
    assert (len(model.prompts), model.prompts.size, len(model.notices), model.notices.size) == (0, 0, 0, 0)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["put", "pop", "remove", "caller", "halt"]), st.integers(0, 9), st.integers(0, 5)
        )
    )
)
def test_prompt_queue_against_a_list(actions: list[tuple[str, int, int]]) -> None:
    """C147, C157: the queue does what a plain list would do, and its counters are the list's."""
    queue, model = PromptQueue(100, 100), list[Request]()
    for number, (action, which, size) in enumerate(actions):
        if action == "put":
            entry = request(number, size, Caller("h", which, 0) if which < 4 else None, which > 7)
            queue.put(entry)
            model.append(entry)
        elif action == "pop" and model:
            assert queue.pop() is model.pop(0)
        elif action == "remove" and model:
            entry = model.pop(which % len(model))
            assert queue.remove(entry.ref) is entry
        elif action == "caller":
            caller = Caller("h", which, 0)
            refs = tuple(entry.ref for entry in model if entry.caller == caller)
            assert queue.asks_of(caller) == refs
            assert queue.waits(caller) == bool(refs)
        assert list(queue) == model
        assert len(queue) == len(model)
        assert queue.size == sum(entry.size for entry in model)
        assert queue.failing() == tuple(entry.ref for entry in model if entry.fails_on_halt)


def test_first_ask_of_a_caller() -> None:
    """C108: the queue says when a caller's first ask comes in, and tells are nobody's."""
    queue = PromptQueue(10, 100)
    me = Caller("h", 1, 0)
    assert queue.put(request(1, caller=me)) is True
    assert queue.put(request(2, caller=me)) is False
    assert queue.put(request(3)) is False
    queue.remove(RequestRef("q", 1))
    assert queue.waits(me)
    queue.remove(RequestRef("q", 2))
    assert not queue.waits(me)


def test_notice_queue() -> None:
    """C156: a notification queue takes what fits by count and bytes, and is emptied at once."""
    queue = NoticeQueue(2, 10)
    one, two = on.Notified("a", 4), on.InfoArrived("b", None, 6)
    assert queue.put(one) is queue.put(two) is None
    assert queue.put(on.Notified("c", 0)) == Overloaded("notifications", "count", 2, 10, 0, 2, 10)
    assert queue.take() == (one, two)
    assert (len(queue), queue.size) == (0, 0)


def best_of(action: Callable[[int], object], rounds: int = 200) -> float:
    """The shortest time one call took, in seconds: what it costs when nothing disturbs it."""
    best = 1.0
    for number in range(rounds):
        began = time.perf_counter()
        action(number)
        best = min(best, time.perf_counter() - began)
    return best


@pytest.mark.parametrize("what", ["cancel", "poll", "caller", "pop"])
def test_cost_does_not_depend_on_length(what: str) -> None:
    """C122, C117, C108: cancel, poll, a caller's death and dispatch cost the same at 10 and at 100,000
    queued.
    """

    def cost(length: int) -> float:
        rig = Rig(max_pending_prompts=10**6, max_pending_prompt_bytes=10**9)
        rig.ask("active")
        queue, step = rig.model().prompts, rig.machine.step
        for number in range(length):
            queue.put(request(number))
        for number in range(10**6, 10**6 + 200):
            queue.put(request(number, caller=Caller("h", number, 0) if what == "caller" else None))
        refs = [RequestRef("q", 10**6 + number) for number in range(200)]
        return best_of({
            "cancel": lambda number: step(on.CancelRequested("me", refs[number]), 1.0),
            "poll": lambda number: step(on.Polled("me", refs[number]), 1.0),
            "caller": lambda number: step(on.CallerDied(Caller("h", 10**6 + number, 0)), 1.0),
            "pop": lambda number: queue.pop(),
        }[what])  # fmt: skip

    assert cost(100_000) < 5 * cost(10) + 20e-6
