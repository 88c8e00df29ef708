"""Retries, chains and prompts of the agent's own, on real processes."""

from __future__ import annotations

import functools

import pytest

from gen_agent import PENDING, BackendError, Cancelled, Overloaded
from gen_agent.messages import Admission, Completion, EventMessage
from tests.contract.cast import BAD, HALT, SKIP, Act, say
from tests.contract.troupe import PATIENCE_S, Book, Troupe, told

pytestmark = pytest.mark.bases

FAILS = "backend_error"
TOLD = ("tests.contract.diary:doorkeeper", "tests.contract.diary:clerk")


def test_a_retry_is_the_same_request(troupe: Troupe) -> None:
    """C106, C130, C131, C204: two failures and a success under one ref: one admission, one completion, the
    attempts told to the callbacks each time."""
    book: Book = {
        ("handle_error", FAILS): say("second error:r"),
        ("handle_error", "backend_failed"): say("third"),
    }
    agent = troupe.start(book=book)
    ref = troupe.agents.submit_with_completion(agent, "first fail", stream_to=troupe.agents.address)
    came = troupe.until_end(agent)
    assert {message.ref for message in came} == {ref}
    assert [type(message) for message in came] == [Admission, EventMessage, EventMessage, Completion]
    assert [(one.attempt, one.event.kind) for one in came[1:3]] == [(2, "error"), (3, "result")]
    assert told(came[-1]) == "third"
    assert troupe.refs(agent)[:3] == [ref, ref, ref]
    assert troupe.ask(agent, "asked fail") == "third"
    ends = [line for line in troupe.lines(agent) if line.startswith(("handle_", "post_"))]
    assert ends[:6] == [
        "handle_error backend_error", "post_turn backend_error", "handle_error backend_failed",
        "post_turn backend_failed", "handle_response third", "post_turn ok",
    ]  # fmt: skip


def test_a_waiting_retry_is_seen_as_its_attempt(troupe: Troupe) -> None:
    """C130, C134, C147, C202: pending between attempts, attempt 2 of the same ref, before what was queued."""
    agent = troupe.start(book={("handle_error", FAILS): say("again hold:retry")})
    troupe.agents.halt(agent)
    ref = troupe.agents.tell_with_completion(agent, "first fail")
    queued = troupe.agents.tell_with_completion(agent, "queued")
    troupe.agents.resume(agent)
    troupe.stage.wait_blocked("retry", PATIENCE_S)
    assert troupe.agents.poll(agent, ref) is PENDING
    active = troupe.agents.runtime_snapshot(agent).current_request
    assert active is not None
    assert (active.ref, active.attempt, active.origin) == (ref, 2, "tell")
    troupe.release("retry")
    assert [troupe.next(Completion).ref for _ in range(2)] == [ref, queued]


def test_an_interrupted_request_is_over_and_the_prompt_is_a_new_one(troupe: Troupe) -> None:
    """C093, C132: the caller has Interrupted; what handle_error prompted runs under a ref of its own."""
    agent = troupe.start(book={("handle_error", "interrupted"): say("own")})
    ref = troupe.hold(agent)
    assert troupe.agents.interrupt_request(agent, ref) == "accepted"
    assert troupe.outcome(ref) == "interrupted"
    troupe.until(lambda: "handle_response own" in troupe.lines(agent))
    first, second = troupe.refs(agent)
    assert (first, second != first) == (ref, True)


def test_an_error_of_the_agents_own_turn_is_not_retried(troupe: Troupe) -> None:
    """C133: the follow-up of a failed event turn is another request."""
    book: Book = {("handle_event", "e"): say("own fail"), ("handle_error", FAILS): say("follow-up")}
    agent = troupe.start(book=book)
    troupe.agents.notify_ack(agent, "e")
    troupe.until(lambda: "handle_response follow-up" in troupe.lines(agent))
    assert len(set(troupe.refs(agent))) == 2


def test_a_retry_that_does_not_fit(troupe: Troupe) -> None:
    """C135: the caller has the original error; the overload is told to handle_error under another ref, and
    what that prompts runs."""
    book: Book = {("handle_error", FAILS): say("x" * 60), ("handle_error", "overloaded"): say("recovery")}
    agent = troupe.start(book=book, max_pending_prompt_bytes=50, telemetry=TOLD)
    with pytest.raises(BackendError):
        troupe.agents.ask(agent, "first fail")
    troupe.until(lambda: "handle_response recovery" in troupe.lines(agent))
    refs = troupe.refs(agent)
    assert len(refs) == len(set(refs)) == 3
    assert "refused self_chain bytes" in troupe.written()


@pytest.mark.parametrize(
    ("act", "code"), [(SKIP, "pre_turn_skipped"), (HALT, "pre_turn_halted"), (BAD, "pre_turn_invalid")]
)
def test_a_retry_that_pre_turn_refuses(troupe: Troupe, act: Act, code: str) -> None:
    """C136: the original caller is told, and the request is over."""
    agent = troupe.start(book={("handle_error", FAILS): say("again"), ("pre_turn", "again"): act})
    assert troupe.ask(agent, "first fail") == code
    troupe.agents.resume(agent)
    assert troupe.ask(agent, "next") == "next"


def test_a_watchdog_is_retried_with_a_new_deadline(troupe: Troupe) -> None:
    """C138, C182, C183: the first attempt hangs for longer than the watchdog, the second one answers."""
    agent = troupe.start(book={("handle_error", "timeout"): say("again")}, watchdog_s=1.0)
    assert troupe.ask(agent, "first hold:never") == "again"
    assert troupe.lines(agent)[1:3] == ["handle_error timeout", "post_turn timeout"]


@pytest.mark.parametrize("end", ["resume", "cancel", "drain", "stop"])
def test_a_retry_that_waits_in_a_halted_agent(troupe: Troupe, end: str) -> None:
    """C139, C154, C194: pending in the slot; then it runs, is cancelled, drained, or ends with its agent."""
    book: Book = {("handle_error", "backend_failed"): say("again"), ("handle_event", "halt"): HALT}
    agent = troupe.start(book=book)
    ref = troupe.hold(agent, "first hold:here error:r")
    monitor = troupe.agents.monitor(agent)
    troupe.agents.notify_ack(agent, "halt")
    troupe.release()
    troupe.until(lambda: troupe.agents.runtime_snapshot(agent).halted)
    snapshot = troupe.agents.runtime_snapshot(agent)
    assert (snapshot.self_chain_pending, snapshot.pending_prompts) == (True, 0)
    assert troupe.agents.poll(agent, ref) is PENDING
    if end == "resume":
        troupe.agents.resume(agent)
        assert troupe.outcome(ref) == "again"
    elif end == "cancel":
        assert troupe.agents.cancel_request(agent, ref) == "cancelled"
        assert troupe.outcome(ref) == Cancelled().code
    elif end == "drain":
        troupe.agents.drain(agent, timeout=PATIENCE_S)
        assert troupe.outcome(ref) == "draining"
    else:
        troupe.agents.stop(agent, timeout=PATIENCE_S)
        assert troupe.until_down(monitor)[0] == []


def test_a_retry_that_may_not_wait_hears_of_the_halt(troupe: Troupe) -> None:
    """C085, C139: with on_halt="fail" the retry is over as soon as its agent halts."""
    book: Book = {("handle_error", "backend_failed"): say("again"), ("handle_event", "halt"): HALT}
    agent = troupe.start(book=book)
    ref = troupe.agents.tell_with_completion(agent, "first hold:here error:r", on_halt="fail")
    troupe.stage.wait_blocked("here", PATIENCE_S)
    troupe.agents.notify_ack(agent, "halt")
    troupe.release()
    assert troupe.outcome(ref) == "halted"
    assert not troupe.agents.runtime_snapshot(agent).self_chain_pending


def test_a_chain_has_a_place_of_its_own(troupe: Troupe) -> None:
    """C141-C143: it needs no room in the queue, runs before what waits there, and under a ref of its own."""
    book: Book = {("handle_response", "first"): say("chained"), ("handle_response", "chained"): say("last")}
    agent = troupe.start(book=book, max_pending_prompts=0)
    assert troupe.ask(agent, "first") == "first"
    troupe.until(lambda: "handle_response last" in troupe.lines(agent))
    assert len(set(troupe.refs(agent))) == 3
    other = troupe.start("b", book)
    troupe.agents.halt(other)
    refs = [troupe.agents.tell_with_completion(other, name) for name in ("first", "queued")]
    troupe.agents.resume(other)
    assert troupe.outcomes(*refs) == ["first", "queued"]
    order = [line for line in troupe.lines(other) if line.startswith("pre_turn")]
    assert order == ["pre_turn first", "pre_turn chained", "pre_turn last", "pre_turn queued"]


def test_a_chain_that_does_not_fit_is_reported(troupe: Troupe) -> None:
    """C141, C145, C252: it is told as a refusal and an error, handle_error hears of it under a new ref, and
    its halt halts; the caller has its response."""
    book: Book = {("handle_response", "first"): say("x" * 60), ("handle_error", "overloaded"): HALT}
    agent = troupe.start(book=book, max_pending_prompt_bytes=50, telemetry=TOLD)
    assert troupe.ask(agent, "first") == "first"
    troupe.until(lambda: troupe.agents.status(agent).halted)
    assert troupe.lines(agent)[-1] == "handle_error overloaded"
    told_of = [line for line in troupe.written() if line.startswith(("refused", "booked prompt.error"))]
    assert told_of == ["refused self_chain bytes", "booked prompt.error: attempt=1 reason=overloaded state=4"]
    first, second = troupe.refs(agent)
    assert first != second


def test_a_chain_that_finds_its_place_taken(troupe: Troupe) -> None:
    """C144: the agent's answer to a rejected prompt has the one place for a moment; who chains in it is told
    so, by count, under a new ref, and what had the place runs."""
    book: Book = {
        ("handle_event", "e"): say("rejected"),
        ("pre_turn", "rejected"): SKIP,
        ("handle_error", "pre_turn_skipped"): say("paced"),
        ("handle_response", "first"): say("chained"),
    }
    agent = troupe.start(book=book, telemetry=("tests.contract.diary:doorkeeper",))

    def all_have_run(rounds: int) -> bool:
        return troupe.lines(agent).count("handle_response paced") == rounds

    # The moment is 10 ms long: on a busy machine it may have passed before the prompt comes.
    rounds = 0
    while "handle_error overloaded" not in troupe.lines(agent):
        rounds += 1
        assert rounds <= 50
        troupe.agents.notify(agent, "e")
        assert troupe.outcome(troupe.agents.tell_with_completion(agent, "first")) == "first"
        troupe.until(functools.partial(all_have_run, rounds))
    assert troupe.written().count("refused self_chain count") == 1
    assert troupe.lines(agent).count("handle_response chained") == rounds - 1
    refs = troupe.refs(agent)
    assert len(refs) == len(set(refs))


def test_prompts_of_deferred_events_go_behind_the_queue(troupe: Troupe) -> None:
    """C146, C154, C155, C241: there the overload is handle_error's, and what was queued runs."""
    agent = troupe.start(book={("handle_event", "e"): say("own")}, max_pending_prompts=1)
    held = troupe.hold(agent)
    queued = troupe.agents.tell_with_completion(agent, "queued")
    troupe.agents.notify_ack(agent, "e")
    troupe.release()
    assert troupe.outcomes(held, queued) == ["held", "queued"]
    assert "handle_error overloaded" in troupe.lines(agent)
    assert "pre_turn own" not in troupe.lines(agent)
    roomy = troupe.start("b", {("handle_event", "e"): say("own")})
    held = troupe.hold(roomy)
    queued = troupe.agents.tell_with_completion(roomy, "queued")
    troupe.agents.notify_ack(roomy, "e")
    troupe.release()
    troupe.until(lambda: "handle_response own" in troupe.lines(roomy))
    order = [line for line in troupe.lines(roomy) if line.startswith("pre_turn")]
    assert order[1:] == ["pre_turn queued", "pre_turn own"]


def test_overload_is_told_by_which_limit(troupe: Troupe) -> None:
    """C135, C148, C149: an exact fit is accepted, one byte more is refused with all seven numbers."""
    agent = troupe.start(max_pending_prompt_bytes=10)
    troupe.agents.halt(agent)
    fits = troupe.agents.tell_with_completion(agent, "0123456789")
    with pytest.raises(Overloaded) as caught:
        troupe.agents.tell(agent, "x")
    assert caught.value == Overloaded(
        queue="prompts", limit="bytes", pending_count=1, pending_bytes=10, incoming_bytes=1, max_count=1000,
        max_bytes=10,
    )  # fmt: skip
    troupe.agents.resume(agent)
    assert troupe.outcome(fits) == "0123456789"
