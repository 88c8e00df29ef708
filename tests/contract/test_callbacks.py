"""Callbacks on real processes: where they run, what they are given, what a refusal or a failure means."""

from __future__ import annotations

import pytest

from gen_agent import AgentDown, CallTimeout
from gen_agent.agent import current_name
from gen_agent.messages import Completion
from tests.contract.cast import BAD, HALT, RAISE, SKIP, Act, say
from tests.contract.troupe import BUSY_S, Troupe

pytestmark = pytest.mark.bases


def test_the_current_name_is_for_callbacks_only(troupe: Troupe) -> None:
    """C020: the stream callback knows its agent's name; a thread of a callback and the script do not."""
    agent = troupe.start("me")
    troupe.ask(agent, "a who")
    troupe.agents.notify_ack(agent, "who")
    said = [line for line in troupe.written() if line.startswith(("stream me", "stream None", "thread"))]
    assert said == ["stream me", "thread None"]
    assert current_name() is None


def test_a_blocked_callback_blocks_calls_and_nothing_else(troupe: Troupe) -> None:
    """C019, C023: no call is answered while a callback is held; casts, whereis and list return at once, and
    all is handled afterwards."""
    agent = troupe.start(book={("handle_event", "held"): Act(hold="callback")})
    ref = troupe.agents.tell(agent, "a")
    troupe.agents.notify(agent, "held")
    troupe.stage.wait_blocked("callback")
    for call in (
        lambda: troupe.agents.status(agent, timeout=BUSY_S),
        lambda: troupe.agents.poll(agent, ref, timeout=BUSY_S),
        lambda: troupe.agents.notify_ack(agent, "acknowledged", timeout=BUSY_S),
        lambda: troupe.agents.tell(agent, "told", timeout=BUSY_S),
    ):
        with pytest.raises(CallTimeout):
            call()
    troupe.agents.notify(agent, "cast")
    troupe.agents.interrupt(agent)
    assert (troupe.agents.whereis("a"), troupe.agents.list()) == (agent, ["a"])
    troupe.release("callback")
    events = [line for line in troupe.lines(agent) if line.startswith("handle_event")]
    assert events == ["handle_event held", "handle_event acknowledged", "handle_event cast"]


@pytest.mark.parametrize(
    ("act", "reason", "detail"),
    [
        (Act("skip", hold="pre_run"), "pre_run_failed", "StartError"),
        (Act("raise", hold="pre_run"), "pre_run_crashed", "ValueError"),
        (Act("bad", hold="pre_run"), "pre_run_invalid", None),
    ],
)
def test_a_failing_pre_run_ends_the_agent(troupe: Troupe, act: Act, reason: str, detail: str | None) -> None:
    """C023, C025: start_agent has returned; the Down names the reason, both cleanups run."""
    agent = troupe.start(book={("pre_run", ""): act})
    monitor = troupe.agents.monitor(agent)
    troupe.release("pre_run")
    _, down = troupe.until_down(monitor)
    assert (down.reason, detail is None or detail in down.detail) == (reason, True)
    assert troupe.written()[-2:] == [f"terminate_agent {reason}", "terminate_session 0"]
    assert troupe.agents.whereis("a") is None


def test_pre_turn_sees_every_prompt_and_its_rewrite_is_what_runs(troupe: Troupe) -> None:
    """C026, C027: asks, events, chains and retries; the rewrite is not held against the byte limit."""
    long = "rewritten " + "text:x " * 50
    book = {
        ("pre_turn", "a"): say(long),
        ("handle_response", long): say("chained"),
        ("handle_event", "e"): say("evented fail"),
        ("handle_error", "backend_error"): say("c"),
    }
    agent = troupe.start(book=book, max_pending_prompt_bytes=20)
    response = troupe.agents.ask(agent, "a")
    assert (response.text, response.prompt) == ("rewritten", long)
    troupe.agents.notify_ack(agent, "e")
    troupe.until(lambda: "handle_response c" in troupe.lines(agent))
    seen = [line for line in troupe.lines(agent) if line.startswith("pre_turn")]
    assert seen == ["pre_turn a", "pre_turn chained", "pre_turn evented fail", "pre_turn c"]


@pytest.mark.parametrize(
    ("act", "code", "kept"),
    [
        (SKIP, "pre_turn_skipped", True),
        (HALT, "pre_turn_halted", True),
        (BAD, "pre_turn_invalid", False),
        (RAISE, "pre_turn_skipped", False),
    ],
)
def test_what_pre_turn_refuses(troupe: Troupe, act: Act, code: str, kept: bool) -> None:
    """C028-C031, C034: refused requests were accepted: a ref, a cached error, one completion; nothing else
    runs."""
    agent = troupe.start(book={("pre_turn", "no"): act})
    told = troupe.agents.tell_with_completion(agent, "no")
    assert troupe.outcome(told) == code
    with pytest.raises(Exception, match=code):
        troupe.agents.poll(agent, told)
    troupe.agents.resume(agent)
    assert troupe.ask(agent, "no") == code
    assert troupe.agents.status(agent).halted == (act is HALT)
    troupe.agents.resume(agent)
    assert troupe.lines(agent) == ["pre_turn no", "pre_turn no"] * kept
    assert troupe.ask(agent, "yes") == "yes"
    assert troupe.until_end(agent) == []


@pytest.mark.parametrize(
    ("act", "code"),
    [(SKIP, "pre_turn_skipped"), (BAD, "pre_turn_invalid"), (RAISE, "pre_turn_crashed")],
)
def test_a_refused_prompt_of_the_agents_own_goes_to_handle_error(troupe: Troupe, act: Act, code: str) -> None:
    """C032, C034, C059: events and chains have no caller: handle_error hears of it under a fresh ref; a halt
    just halts, and who sent the event has its answer."""
    book = {
        ("pre_turn", "own"): act,
        ("handle_event", "e"): say("own"),
        ("handle_response", "asked"): say("own"),
        ("handle_error", code): HALT,
    }
    agent = troupe.start(book=book)
    troupe.agents.notify_ack(agent, "e")
    assert troupe.lines(agent)[-1] == f"handle_error {code}"
    assert troupe.agents.status(agent).halted
    troupe.agents.resume(agent)
    assert troupe.ask(agent, "asked") == "asked"
    troupe.until(lambda: troupe.agents.status(agent).halted)
    refs = troupe.refs(agent)
    assert len(refs) == len(set(refs)) == 3


def test_an_agent_that_always_prompts_itself_in_vain_still_answers(troupe: Troupe) -> None:
    """C033: between one rejection and the next the agent serves whoever asks, and it can be stopped."""
    book = {
        ("pre_turn", "again"): SKIP,
        ("handle_event", "e"): say("again"),
        ("handle_error", "pre_turn_skipped"): say("again"),
    }
    agent = troupe.start(book=book)
    troupe.agents.notify_ack(agent, "e")
    for _ in range(20):
        assert troupe.agents.status(agent, timeout=5).name == "a"
    troupe.until(lambda: troupe.lines(agent).count("handle_error pre_turn_skipped") > 3)
    assert troupe.ask(agent, "b") == "b"
    troupe.agents.stop(agent, timeout=20)
    assert troupe.agents.whereis("a") is None


def test_handle_response_sees_what_the_stream_left(troupe: Troupe) -> None:
    """C035: the state of the stream callbacks, the terminal event included, and the dispatched text."""
    agent = troupe.start()
    response = troupe.agents.ask(agent, "a text:one text:two")
    assert response.prompt == "a text:one text:two"
    assert troupe.lines(agent)[1:] == [
        "stream one", "stream two", "stream a", "handle_response a text:one text:two", "post_turn ok",
    ]  # fmt: skip


@pytest.mark.parametrize("act", [RAISE, BAD])
def test_a_failing_handle_response_ends_the_agent(troupe: Troupe, act: Act) -> None:
    """C036, C104, C115, C220: a Down without content and no completion; an ask is AgentDown; the name is
    free."""
    agent = troupe.start(book={("handle_response", "a"): act})
    monitor = troupe.agents.monitor(agent)
    troupe.agents.tell_with_completion(agent, "a")
    came, down = troupe.until_down(monitor)
    assert (came, down.reason) == ([], "callback_failed")
    assert down.detail == (("error", "ValueError") if act is RAISE else ("bad_return", "tuple"))
    assert troupe.written()[-2:] == ["terminate_agent callback_failed", "terminate_session 1"]
    again = troupe.start(book={("handle_response", "a"): act})
    with pytest.raises(AgentDown) as caught:
        troupe.agents.ask(again, "a")
    assert caught.value.reason == "callback_failed"


@pytest.mark.parametrize("act", [RAISE, BAD])
def test_a_failing_handle_error_changes_nothing(troupe: Troupe, act: Act) -> None:
    """C038, C093: the caller has the backend's own error, the state is the one before."""
    agent = troupe.start(book={("handle_error", "backend_error"): act})
    assert troupe.ask(agent, "a fail") == "backend_error"
    assert troupe.lines(agent) == ["pre_turn a fail", "post_turn backend_error"]
    assert troupe.ask(agent, "b") == "b"


@pytest.mark.parametrize("act", [RAISE, BAD])
def test_a_failing_post_turn_keeps_the_transition(troupe: Troupe, act: Act) -> None:
    """C042: its state is lost, the decision before it stands."""
    agent = troupe.start(book={("handle_response", "a"): HALT, ("post_turn", "ok"): act})
    assert troupe.ask(agent, "a") == "a"
    status = troupe.agents.status(agent)
    assert (status.halted, status.agent_state.lines[-1]) == (True, "handle_response a")


def test_halts_of_events_run_post_run_once_each_time(troupe: Troupe) -> None:
    """C039, C044, C046: two halting events are one halt; after a resume the next is another."""
    agent = troupe.start(book={("handle_event", "halt"): HALT})
    for event in ("halt", "halt", "after"):
        troupe.agents.notify_ack(agent, event)
    assert [line for line in troupe.written() if line.startswith("post_run")] == ["post_run 1"]
    troupe.agents.resume(agent)
    troupe.agents.notify_ack(agent, "halt")
    assert [line for line in troupe.written() if line.startswith("post_run")] == ["post_run 1", "post_run 4"]


def test_a_turn_ends_in_order(troupe: Troupe) -> None:
    """C045, C050, C241: decision, post_turn, all deferred events though one of them fails, post_run with the
    last state."""
    book = {
        ("handle_event", "halt"): HALT,
        ("handle_event", "bad"): RAISE,
    }
    agent = troupe.start(book=book)
    ref = troupe.hold(agent)
    for event in ("first", "halt", "bad", "last"):
        troupe.agents.notify_ack(agent, event)
    troupe.release()
    assert troupe.outcome(ref) == "held"
    assert troupe.lines(agent)[-5:] == [
        "handle_response held hold:here", "post_turn ok", "handle_event first", "handle_event halt",
        "handle_event last",
    ]  # fmt: skip
    told = [line for line in troupe.written() if line.startswith(("handle_", "post_"))]
    assert told == [
        "handle_response held hold:here", "post_turn ok", "handle_event first", "handle_event halt",
        "handle_event bad", "handle_event last", "post_run 7",
    ]  # fmt: skip


def test_ordinary_messages_and_events_share_one_order(troupe: Troupe) -> None:
    """C040, C240-C242: what came during a turn is handled in the order it came, before the next turn."""
    agent = troupe.start(book={("handle_info", "m2"): say("prompted")})
    held = troupe.hold(agent)
    later = troupe.agents.tell_with_completion(agent, "later")
    for number in range(4):
        if number % 2:
            troupe.agents.notify_ack(agent, f"m{number}")
        else:
            troupe.agents._line.post(agent.actor, f"m{number}")
            troupe.until(lambda: _waiting(troupe, agent) == number + 1)  # noqa: B023
    troupe.release()
    assert troupe.outcomes(held, later) == ["held", "later"]
    troupe.until(lambda: "handle_response prompted" in troupe.lines(agent))
    told = [
        line for line in troupe.lines(agent) if line.startswith(("handle_info", "handle_event", "pre_turn"))
    ]
    assert told == [
        "pre_turn held hold:here", "handle_info m0", "handle_event m1", "handle_info m2", "handle_event m3",
        "pre_turn later", "pre_turn prompted",
    ]  # fmt: skip


def _waiting(troupe: Troupe, agent: object) -> int:
    return troupe.agents.runtime_snapshot(agent).pending_notifications


def test_what_one_decision_keeps_outlives_its_turn_only_if_it_returned(troupe: Troupe) -> None:
    """C095, C096: stream state and session survive an error, not a crash."""
    agent = troupe.start()
    for prompt, code in (("a text:t error:r", "backend_failed"), ("b text:t silent", "no_terminal_event")):
        before = len(troupe.lines(agent))
        assert troupe.ask(agent, prompt) == code
        assert "stream t" in troupe.lines(agent)[before:]
    before = len(troupe.lines(agent))
    assert troupe.ask(agent, "c text:t crash") == "task_crashed"
    assert "stream t" not in troupe.lines(agent)[before:]
    assert troupe.agents.ask(agent, "d").terminal.data["turns"] == 2


def test_completions_are_messages_of_their_agent(troupe: Troupe) -> None:
    """C112: exactly one completion, with the agent's name, to the recipient that was named."""
    agent = troupe.start()
    ref = troupe.agents.tell_with_completion("a", "x", troupe.agents.address)
    (completion,) = troupe.until_end(agent)
    assert isinstance(completion, Completion)
    assert (completion.agent, completion.ref, completion.result().text) == ("a", ref, "x")
