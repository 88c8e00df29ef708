"""Telemetry of real agents: what its events say, and that nothing is told of what did not happen."""

from __future__ import annotations

import pytest

from gen_agent import DrainTimeout, Overloaded
from tests.contract.cast import HALT, RAISE, say
from tests.contract.troupe import Troupe

pytestmark = pytest.mark.bases

CLERK = ("tests.contract.diary:clerk",)


def booked(troupe: Troupe, *names: str) -> list[str]:
    """What was told, in order; of these events, or of all."""
    lines = [line.removeprefix("booked ") for line in troupe.written() if line.startswith("booked ")]
    return [line for line in lines if not names or line.split(":")[0] in names]


def test_a_turn_is_told_as_it_was(troupe: Troupe) -> None:
    """C016, C221, C222, C226, C227, C230: what was asked and what ran, the attempt, whose it is, the state
    before the decision; from nothing to idle first, then to and fro."""
    agent = troupe.start(book={("pre_turn", "a"): say("b")}, telemetry=CLERK)
    assert [troupe.ask(agent, prompt) for prompt in ("a", "c")] == ["b", "c"]
    assert booked(troupe) == [
        "state.changed: from=None to=idle",
        "state.changed: from=idle to=processing",
        "prompt.start: attempt=1 prompt=b original_prompt=a rewritten=True state=1",
        "turn.start: origin=ask attempt=1",
        "prompt.stop: attempt=1 state=2",
        "turn.stop: origin=ask attempt=1",
        "state.changed: from=processing to=idle",
        "state.changed: from=idle to=processing",
        "prompt.start: attempt=1 prompt=c original_prompt=c rewritten=False state=5",
        "turn.start: origin=ask attempt=1",
        "prompt.stop: attempt=1 state=6",
        "turn.stop: origin=ask attempt=1",
        "state.changed: from=processing to=idle",
    ]


def test_attempts_and_origins_are_told(troupe: Troupe) -> None:
    """C040, C130, C133, C142, C194, C223, C235: each attempt has its number; a retry is its caller's, a chain
    and the prompts of events and messages are the agent's own, from their first attempt on."""
    book = {
        ("handle_error", "backend_failed"): say("again"),
        ("handle_response", "again"): say("chained"),
        ("handle_event", "e"): say("evented"),
        ("handle_info", "m"): say("informed"),
    }
    agent = troupe.start(book=book, telemetry=CLERK)
    assert troupe.outcome(troupe.agents.tell_with_completion(agent, "a error:r")) == "again"
    troupe.until(lambda: "handle_response chained" in troupe.lines(agent))
    troupe.agents.notify(agent, "e")
    troupe.until(lambda: "handle_response evented" in troupe.lines(agent))
    troupe.agents._line.post(agent.actor, "m")
    troupe.until(lambda: "handle_response informed" in troupe.lines(agent))
    assert booked(troupe, "turn.start", "turn.stop", "turn.error") == [
        "turn.start: origin=tell attempt=1",
        "turn.error: origin=tell attempt=1 reason_kind=backend_or_callback_error",
        "turn.start: origin=tell attempt=2",
        "turn.stop: origin=tell attempt=2",
        "turn.start: origin=self_chain attempt=1",
        "turn.stop: origin=self_chain attempt=1",
        "turn.start: origin=event attempt=1",
        "turn.stop: origin=event attempt=1",
        "turn.start: origin=event attempt=1",
        "turn.stop: origin=event attempt=1",
    ]


def test_how_a_turn_failed_is_told(troupe: Troupe) -> None:
    """C032, C034, C223, C224, C228: the reason itself with the prompt, its kind with the turn; with the class
    of what pre_turn raised where it is nobody's prompt."""
    book = {("pre_turn", "no"): RAISE, ("handle_event", "e"): say("no")}
    agent = troupe.start(book=book, telemetry=CLERK)
    assert [troupe.ask(agent, prompt) for prompt in ("a silent", "b crash", "no")] == [
        "no_terminal_event",
        "task_crashed",
        "pre_turn_skipped",
    ]
    troupe.agents.notify_ack(agent, "e")
    told = booked(troupe, "prompt.error", "turn.error", "turn.rejected")
    assert [line.partition(" state")[0] for line in told] == [
        "prompt.error: attempt=1 reason=no_terminal_event",
        "turn.error: origin=ask attempt=1 reason_kind=backend_or_callback_error",
        "prompt.error: attempt=1 reason=task_crashed",
        "turn.error: origin=ask attempt=1 reason_kind=task_crashed",
        "turn.rejected: origin=ask attempt=1 reason_kind=pre_turn_skipped",
        "prompt.error: attempt=1 reason=pre_turn_crashed",
        "turn.rejected: origin=event attempt=1 reason_kind=('pre_turn_crashed', 'ValueError')",
    ]


def test_an_interrupt_is_told_as_one(troupe: Troupe) -> None:
    """C119, C223, C228: and not as what it does to the worker."""
    agent = troupe.start(telemetry=CLERK)
    troupe.agents.interrupt_request(agent, troupe.hold(agent))
    told = booked(troupe, "prompt.error", "turn.error")
    assert [line.partition(" state")[0] for line in told] == [
        "prompt.error: attempt=1 reason=interrupted",
        "turn.error: origin=tell attempt=1 reason_kind=interrupted",
    ]


def test_a_halt_is_told_after_its_last_callback(troupe: Troupe) -> None:
    """C045, C233, C246: post_run has run, and the state is the one it had."""
    agent = troupe.start(book={("handle_event", "halt"): HALT}, telemetry=CLERK)
    troupe.agents.notify_ack(agent, "halt")
    assert troupe.written()[-2:] == ["post_run 1", "booked halted: state=1"]


def test_queues_and_events_are_told_as_they_are(troupe: Troupe) -> None:
    """C147, C229, C231: the depth counts the prompt itself; an event is told before it is refused for want of
    room, and not at all while the agent drains."""
    agent = troupe.start(telemetry=CLERK, max_pending_notifications=0)
    held = troupe.hold(agent)
    for prompt in ("a", "b"):
        troupe.agents.tell(agent, prompt)
    with pytest.raises(Overloaded):
        troupe.agents.notify_ack(agent, "no room")
    with pytest.raises(DrainTimeout):
        troupe.agents.drain(agent, timeout=0.3)
    troupe.agents.notify(agent, "too late")
    troupe.agents.status(agent)
    troupe.release()
    assert troupe.outcome(held) == "held"
    assert booked(troupe, "mailbox.queued", "event.received", "input.rejected") == [
        "mailbox.queued: depth=1",
        "mailbox.queued: depth=2",
        "event.received: event=no room",
        "input.rejected: reason=overloaded",
        "input.rejected: reason=draining",
    ]
