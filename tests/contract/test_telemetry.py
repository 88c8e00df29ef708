"""Telemetry of real agents: what is told, when, and to whom; and one recorder for all that a turn does."""

from __future__ import annotations

import pytest

from gen_agent import Overloaded
from gen_agent.messages import Completion, TelemetryMessage
from tests.contract.cast import HALT, SKIP, Act, say
from tests.contract.troupe import PATIENCE_S, Troupe, told

pytestmark = pytest.mark.bases

ACCOUNTANT = ("tests.contract.diary:accountant",)


def keys_of(troupe: Troupe, *names: str) -> list[str]:
    """What was told under these names, in order."""
    lines = [line.removeprefix("told ") for line in troupe.written() if line.startswith("told ")]
    return [line for line in lines if line.split(":")[0] in names]


def test_a_turns_telemetry_callbacks_and_messages_are_one_order(troupe: Troupe) -> None:
    """C090, C091, C221, C222, C240, C247: start, stop, decision, post_turn, completion, deferred event,
    post_run, in this order for one recipient."""
    agent = troupe.start(
        book={("handle_event", "halt"): HALT},
        teller=troupe.agents.address,
        telemetry_to=troupe.agents.address,
    )
    ref = troupe.hold(agent)
    troupe.agents.notify_ack(agent, "halt")
    troupe.release()
    heard: list[object] = []
    while "post_run 5" not in heard:
        message = troupe.next()
        heard.append(
            message.name[-1] if isinstance(message, TelemetryMessage)
            else told(message) if isinstance(message, Completion) else message
        )  # fmt: skip
    assert heard == [
        "pre_run", "pre_turn held hold:here", "start", "stop", "handle_response held hold:here",
        "post_turn ok", "held", "handle_event halt", "post_run 5",
    ]  # fmt: skip
    assert ref in troupe.refs(agent)


@pytest.mark.parametrize("hook", ["handle_event", "post_run", "pre_turn"])
def test_a_completion_does_not_wait_for_slow_callbacks_behind_it(troupe: Troupe, hook: str) -> None:
    """C091, C240, C247: a completion has left before a deferred notification, `post_run` or the next
    `pre_turn` runs, however long that takes."""
    key = {"handle_event": "later", "post_run": "*", "pre_turn": "next"}[hook]
    agent = troupe.start(book={(hook, key): Act(hold="slow")})
    ref = troupe.hold(agent)
    if hook == "handle_event":
        troupe.agents.notify_ack(agent, "later")
    elif hook == "post_run":
        troupe.agents.halt(agent)
    else:
        troupe.agents.tell(agent, "next")
    troupe.release()
    troupe.stage.wait_blocked("slow", PATIENCE_S)
    assert troupe.outcome(ref) == "held"
    troupe.release("slow")


def test_an_asks_reply_comes_after_the_deferred_batch(troupe: Troupe) -> None:
    """C091, C240, C247: whoever asked sees what the events that came meanwhile have done."""
    agent = troupe.start(book={("handle_event", "halt"): HALT})
    asking = troupe.asking(agent, "held hold:here")
    troupe.stage.wait_blocked("here", PATIENCE_S)
    troupe.agents.notify_ack(agent, "halt")
    troupe.release()
    assert asking.ended() == "held"
    assert troupe.written()[-2:] == ["handle_event halt", "post_run 5"]


def test_a_failing_turn_in_one_order(troupe: Troupe) -> None:
    """C092, C223, C228: prompt.error and turn.error, then handle_error and post_turn."""
    agent = troupe.start(telemetry=("tests.contract.diary:diarist",))
    assert troupe.ask(agent, "a error:r") == "backend_failed"
    lines = troupe.written()
    end = lines.index("telemetry prompt.error")
    assert lines[end : end + 4] == [
        "telemetry prompt.error", "telemetry turn.error", "handle_error backend_failed",
        "post_turn backend_failed",
    ]  # fmt: skip


TURN = "attempt origin"
TURNS = [
    f"turn.start: system_time_s | {TURN} ref",
    f"turn.stop: duration_s | {TURN} ref",
    f"turn.start: system_time_s | {TURN} ref",
    f"turn.error: duration_s | {TURN} reason_kind ref backend_or_callback_error",
    f"turn.start: system_time_s | {TURN} ref",
    f"turn.stop: duration_s | {TURN} ref",
    f"turn.rejected: system_time_s | {TURN} reason_kind ref pre_turn_skipped",
    f"turn.rejected: system_time_s | {TURN} reason_kind ref pre_turn_skipped",
]
PROMPT_START = "prompt.start: system_time_s | agent_state attempt original_prompt prompt ref rewritten"
PROMPT_STOP = "prompt.stop: duration_s | agent_state attempt ref"
PROMPT_ERROR = "prompt.error: {} | agent_state attempt reason ref"


def test_every_event_has_its_keys(troupe: Troupe) -> None:
    """C221-C230, C233, C235: a success, a failure, a rejection, an event, a halt: exactly these keys."""
    book = {
        ("pre_turn", "no"): SKIP,
        ("handle_event", "halt"): HALT,
        ("handle_event", "e"): say("no"),
        ("handle_error", "backend_failed"): say("c"),
    }
    agent = troupe.start(book=book, telemetry=ACCOUNTANT)
    assert [troupe.ask(agent, prompt) for prompt in ("a", "b error:r", "no")] == [
        "a",
        "c",
        "pre_turn_skipped",
    ]
    for event in ("e", "halt"):
        troupe.agents.notify_ack(agent, event)
    assert keys_of(troupe, "turn.start", "turn.stop", "turn.error", "turn.rejected") == TURNS
    prompts = keys_of(troupe, "prompt.start", "prompt.stop", "prompt.error")
    assert prompts[:2] == [PROMPT_START, PROMPT_STOP]
    assert prompts[3] == PROMPT_ERROR.format("duration_s system_time_s")
    assert prompts[-1] == PROMPT_ERROR.format("system_time_s")
    received = "event.received: system_time_s | event"
    halted = "halted: system_time_s | agent_state"
    assert keys_of(troupe, "event.received", "halted") == [received, received, halted]
    assert keys_of(troupe, "state.changed")[0] == "state.changed: system_time_s | from to"


def test_queues_are_told_of(troupe: Troupe) -> None:
    """C123, C152, C154, C224, C225, C231, C232: each queued prompt, each refusal and each cancel."""
    agent = troupe.start(telemetry=ACCOUNTANT, max_pending_prompts=1, max_pending_notifications=0)
    held = troupe.hold(agent)
    queued = troupe.agents.tell_with_completion(agent, "queued")
    with pytest.raises(Overloaded):
        troupe.agents.tell(agent, "more")
    with pytest.raises(Overloaded):
        troupe.agents.notify_ack(agent, "more")
    assert troupe.agents.cancel_request(agent, queued) == "cancelled"
    troupe.release()
    assert troupe.outcomes(queued, held) == ["cancelled", "held"]
    turn = "attempt origin reason_kind ref"
    told_of = keys_of(troupe, "mailbox.queued", "input.rejected", "turn.rejected", "turn.cancelled")
    assert sorted(told_of) == sorted([
        "mailbox.queued: depth |",
        "input.rejected: system_time_s | reason",
        f"turn.rejected: system_time_s | {turn} overloaded",
        "input.rejected: system_time_s | reason",
        f"turn.cancelled: system_time_s | {turn} caller_cancelled",
    ])  # fmt: skip


def test_a_refusal_of_the_already_halted_is_not_told(troupe: Troupe) -> None:
    """C054, C237: on_halt="fail" in a halted agent leaves no telemetry at all."""
    agent = troupe.start(telemetry=ACCOUNTANT)
    troupe.agents.halt(agent)
    troupe.agents.status(agent)
    before = troupe.written()
    with pytest.raises(Exception, match="halted"):
        troupe.agents.tell_with_completion(agent, "a", on_halt="fail")
    assert troupe.written() == before


def test_a_handler_that_raises_harms_nobody(troupe: Troupe) -> None:
    """C238: the agent lives, and the handler behind it hears everything."""
    agent = troupe.start(telemetry=("tests.contract.diary:stumbler", *ACCOUNTANT))
    assert [troupe.ask(agent, name) for name in "ab"] == ["a", "b"]
    assert len(keys_of(troupe, "turn.stop")) == 2
