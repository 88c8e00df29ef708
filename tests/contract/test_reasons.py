"""Every reason for which a request fails, provoked on real processes, and where it shows up."""

from __future__ import annotations

from pathlib import Path

import pytest

from gen_agent import BackendFailed, RequestNotFound, StartError
from gen_agent.messages import EventMessage
from tests.contract.cast import BAD, HALT, RAISE, SKIP, Act, say
from tests.contract.troupe import PATIENCE_S, Book, Troupe

pytestmark = pytest.mark.bases

FAILURES = {
    "a fail": "backend_error",
    "a error:r": "backend_failed",
    "a error:": "backend_failed",
    "a silent": "no_terminal_event",
    "a crash": "task_crashed",
    "a junk": "task_crashed",
    "a many:9": "event_capture_overflow",
    "a many:9 error:r": "event_capture_overflow",
    "a checkpoint:\N{DELETE}": "invalid_session_id",
    "a checkpoint:x checkpoint:y": "conflicting_session_id",
}


@pytest.mark.parametrize("prompt", FAILURES)
def test_a_failure_is_the_same_for_everyone(troupe: Troupe, prompt: str) -> None:
    """C037, C164, C251, C257: an ask raises it, a completion carries it, a poll repeats it, and handle_error
    and post_turn hear it once for each; the agent goes on."""
    code = FAILURES[prompt]
    agent = troupe.start(event_retention="lossless", max_events_per_turn=8)
    assert troupe.ask(agent, prompt) == code
    ref = troupe.agents.tell_with_completion(agent, prompt)
    error = troupe.agents.completion(ref, timeout=PATIENCE_S).outcome
    assert error.code == code
    with pytest.raises(type(error)) as raised:
        troupe.agents.poll(agent, ref)
    assert raised.value == error
    decisions = [line for line in troupe.lines(agent) if line.startswith(("handle_error", "post_turn"))]
    assert decisions == [f"handle_error {code}", f"post_turn {code}"] * 2
    assert troupe.ask(agent, "next") == "next"


@pytest.mark.parametrize("prompt", ["a text:t exit:3", "a exit:0"])
def test_a_worker_that_exits_costs_one_turn(troupe: Troupe, prompt: str) -> None:
    """C037, C073, C251: with whatever status, for it has said no last word; the next turn has another."""
    agent = troupe.start()
    assert troupe.ask(agent, prompt) == "task_crashed"
    assert troupe.lines(agent)[1:] == ["handle_error task_crashed", "post_turn task_crashed"]
    assert troupe.agents.ask(agent, "next").terminal.data["turns"] == 0


def test_an_error_without_a_reason_is_unknown(troupe: Troupe) -> None:
    """C164, C251: a terminal error event that says nothing more."""
    with pytest.raises(BackendFailed) as raised:
        troupe.agents.ask(troupe.start(), "a error:")
    assert raised.value == BackendFailed("unknown")


REFUSALS = {
    "skip": (SKIP, "pre_turn_skipped", "pre_turn_skipped"),
    "bad": (BAD, "pre_turn_invalid", "pre_turn_invalid"),
    "raise": (RAISE, "pre_turn_skipped", "pre_turn_crashed"),
    "halt": (HALT, "pre_turn_halted", None),
}


@pytest.mark.parametrize("what", REFUSALS)
def test_what_pre_turn_refuses_is_told_to_whom_it_concerns(troupe: Troupe, what: str) -> None:
    """C034, C251, C252: a caller never sees the class of what pre_turn raised; handle_error hears of the
    agent's own prompts alone, and of no halt."""
    act, for_callers, for_callbacks = REFUSALS[what]
    book: Book = {("pre_turn", what): act, ("handle_event", "e"): say(what)}
    agent = troupe.start(book=book)
    assert troupe.ask(agent, what) == for_callers
    troupe.agents.resume(agent)
    ref = troupe.agents.tell_with_completion(agent, what)
    assert troupe.outcome(ref) == for_callers
    assert not [line for line in troupe.lines(agent) if line.startswith("handle_error")]
    troupe.agents.resume(agent)
    troupe.agents.notify_ack(agent, "e")
    errors = [line for line in troupe.lines(agent) if line.startswith("handle_error")]
    assert errors == ([] if for_callbacks is None else [f"handle_error {for_callbacks}"])


@pytest.mark.parametrize("part", ["agent", "backend"])
def test_a_failed_start_has_no_last_words(troupe: Troupe, tmp_path: Path, part: str) -> None:
    """C017, C018: there is no state yet to end with, or no session to close; the name is free."""
    barred = tmp_path / "barred"
    barred.touch()
    wrong = {"forward": {"barred": str(barred)} if part == "backend" else 3}
    with pytest.raises(StartError):
        troupe.start(**wrong)
    assert troupe.written() == ["init_agent"]
    assert troupe.ask(troupe.start(), "a") == "a"


def test_what_comes_after_the_terminal_event_is_never_pulled(troupe: Troupe) -> None:
    """C162, C163: a stream that would crash behind its result has succeeded; a kind of the backend's own is
    no end of it."""
    agent = troupe.start()
    ref = troupe.agents.tell_with_completion(agent, "a who result:r crash", stream_to=troupe.agents.address)
    heard = [troupe.next(EventMessage).event.kind for _ in range(2)]
    assert (heard, troupe.outcome(ref)) == (["who", "result"], "r")


def test_a_retried_stream_is_one_stream(troupe: Troupe) -> None:
    """C140, C244: the error event of the first attempt, then the second attempt's events, under one ref, then
    the one completion."""
    agent = troupe.start(book={("handle_error", "backend_failed"): say("b text:two")})
    me = troupe.agents.address
    ref = troupe.agents.tell_with_completion(agent, "a text:one error:r", stream_to=me)
    heard = [troupe.next() for _ in range(4)]
    assert {message.ref for message in heard} == {ref}
    seen = [(one.attempt, one.event.data.get("text", one.event.kind)) for one in heard]
    assert seen == [(1, "one"), (1, "error"), (2, "two"), (2, "b")]
    assert troupe.outcome(ref) == "b"
    assert troupe.until_end(agent) == []


def test_status_during_a_turn_is_what_was_retained_before(troupe: Troupe) -> None:
    """C035, C097: what the stream callback has made of the state is the worker's until the turn ends."""
    agent = troupe.start()
    ref = troupe.hold(agent, "a text:one hold:here")
    assert troupe.lines(agent) == ["pre_turn a text:one hold:here"]
    troupe.release()
    assert troupe.outcome(ref) == "a"
    assert troupe.lines(agent)[1:4] == ["stream one", "stream a", "handle_response a text:one hold:here"]


def test_a_start_is_in_order_and_before_everything_else(troupe: Troupe) -> None:
    """C016, C024, C195, C249: init_agent, start_session, pre_run, and then what was sent meanwhile."""
    agent = troupe.start(book={("pre_run", ""): Act(hold="pre_run")})
    troupe.stage.wait_blocked("pre_run", PATIENCE_S)
    ref = troupe.agents.submit_with_completion(agent, "a")
    troupe.agents.notify(agent, "e")
    assert troupe.written() == ["init_agent", "start_session", "pre_run"]
    troupe.release("pre_run")
    assert troupe.outcome(ref) == "a"
    assert troupe.written()[3:5] == ["pre_turn a", "prompt a"]
    with pytest.raises(RequestNotFound):
        troupe.agents.completion(ref)
