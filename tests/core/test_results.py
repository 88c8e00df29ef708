"""The cache of outcomes (C117, C158-C161)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gen_agent.agent import Prompt
from gen_agent.core import signals as on
from gen_agent.core.results import Result, ResultCache
from gen_agent.errors import (
    Cancelled,
    Halted,
    NoTerminalEvent,
    PreTurnSkipped,
    RequestNotFound,
)
from gen_agent.events import Response
from gen_agent.values import RequestRef
from tests.core.rig import Rig, rig_in


def result(size: int) -> Result:
    return Result(Response("x"), None, size)


def ref(number: int) -> RequestRef:
    return RequestRef("r", number)


def test_what_is_cached() -> None:
    """C158: outcomes of tells and submits of every kind; never asks, events, self-chains or refusals."""
    rig = Rig(max_pending_prompts=3)
    done = rig.tell("a")
    cancelled, fails, skipped = rig.tell("b"), rig.submit("c", on_halt="fail"), rig.tell("d")
    refused = rig.tell("e")
    rig.call(on.CancelRequested, cancelled)
    asked = rig.ask("f")
    rig.feed(on.HaltAsked())
    rig.end("done")
    rig.plan("pre_turn", RuntimeError())
    rig.feed(on.ResumeAsked())
    rig.plan("handle_response", lambda ref, response, state: Prompt("chain", state))
    rig.end("answer")
    chained = rig.tag
    assert chained is not None
    rig.end("chained")
    outcomes = [rig.poll(each) for each in (cancelled, fails, skipped, refused, asked, chained.ref)]
    assert rig.poll(done).text == "done"
    assert outcomes[:3] == [Cancelled(), Halted(), PreTurnSkipped()]
    assert outcomes[3:] == [RequestNotFound(each) for each in (refused, asked, chained.ref)]


def test_failures_are_cached() -> None:
    """C158: a failed tell polls its error."""
    rig = rig_in("P")
    rig.end(NoTerminalEvent())
    assert rig.poll(rig.active) == NoTerminalEvent()


def test_oldest_out_first() -> None:
    """C159: both bounds hold, the oldest goes first."""
    cache = ResultCache(100, 700)
    for number in range(3):
        cache.put(ref(number), result(300))
    assert [ref(number) in cache for number in range(3)] == [False, True, True]
    assert cache.size == 600
    cache = ResultCache(2, 10_000)
    for number in range(3):
        cache.put(ref(number), result(1))
    assert [ref(number) in cache for number in range(3)] == [False, True, True]


def test_huge_results_empty_the_cache() -> None:
    """C160, C161: one result beyond the budget evicts everything older and then itself."""
    cache = ResultCache(100, 700)
    cache.put(ref(1), result(100))
    cache.put(ref(2), result(100))
    cache.put(ref(3), result(701))
    assert (len(cache), cache.size) == (0, 0)


def test_zero_retains_nothing() -> None:
    """C160: 0 in either bound keeps nothing, and the counter stays 0."""
    for cache in (ResultCache(0, 100), ResultCache(100, 0)):
        cache.put(ref(1), result(0))
        cache.put(ref(2), result(5))
        assert (len(cache), cache.size) == (0, 0)


def test_result_bytes_of_a_machine() -> None:
    """C159: what counts is the size of ref and outcome, so that a small budget keeps the newest only."""
    rig = Rig(max_tell_result_bytes=1000)
    refs = []
    for _ in range(3):
        refs.append(rig.tell("x"))
        rig.end("y" * 500)
    assert [rig.poll(each).__class__ for each in refs] == [RequestNotFound, RequestNotFound, Response]
    assert 500 < rig.model().results.size <= 1000


@given(st.integers(0, 5), st.integers(0, 50), st.lists(st.integers(0, 60)))
def test_bounds_always_hold(count: int, size: int, sizes: list[int]) -> None:
    """C159-C161: after each result both bounds hold, and what is kept is the newest, in order."""
    cache = ResultCache(count, size)
    for number, each in enumerate(sizes):
        cache.put(ref(number), result(each))
        kept = [index for index in range(number + 1) if ref(index) in cache]
        assert len(kept) <= count
        assert cache.size == sum(sizes[index] for index in kept) <= size
        assert kept == list(range(number + 1 - len(kept), number + 1))
