"""Checkpoints on real processes: a worker's question to its agent in the midst of a turn."""

from __future__ import annotations

import pytest

from tests.contract.troupe import BUSY_S, PATIENCE_S, Troupe

pytestmark = pytest.mark.bases


def test_a_checkpoint_waits_for_its_agent(troupe: Troupe) -> None:
    """C191, C202: the worker waits while its agent is busy, and goes on once it was heard."""
    agent = troupe.start(telemetry=("tests.contract.diary:usher",))
    ref = troupe.hold(agent, "a hold:here checkpoint:id-1 hold:there")
    troupe.agents.notify(agent, "busy")
    troupe.stage.wait_blocked("busy", PATIENCE_S)
    troupe.release()
    with pytest.raises(TimeoutError):
        troupe.stage.wait_blocked("there", BUSY_S)
    troupe.release("busy")
    troupe.release("there")
    assert troupe.outcome(ref) == "a"
    assert troupe.agents.ask(agent, "b").session_id == "id-1"


def test_a_checkpoint_is_no_event(troupe: Troupe) -> None:
    """C191: it is not counted, not retained and not relayed."""
    agent = troupe.start(max_events_per_turn=1, event_retention="lossless")
    ref = troupe.agents.tell_with_completion(
        agent, "a checkpoint:id-1 checkpoint:id-1", stream_to=troupe.agents.address
    )
    assert [message.event.kind for message in (troupe.next(),)] == ["result"]
    response = troupe.agents.completion(ref, timeout=PATIENCE_S).result()
    assert (response.event_coverage.observed_events, response.session_id) == (1, "id-1")
    assert troupe.until_end(agent) == []


def test_a_checkpoint_that_can_not_be_applied(troupe: Troupe) -> None:
    """C191: where checkpoint_session raises, the turn is WorkerCrashed; agent and session live on."""
    agent = troupe.start()
    assert troupe.ask(agent, "a checkpoint:raise") == "task_crashed"
    response = troupe.agents.ask(agent, "b")
    assert (response.session_id, response.terminal.data["turns"]) == (None, 0)
    assert troupe.lines(agent)[1:3] == ["handle_error task_crashed", "post_turn task_crashed"]


def test_a_checkpoint_of_a_turn_that_is_over(troupe: Troupe) -> None:
    """C074, C188: from an old turn's closure it is NotCurrent, and harms neither turn nor session."""
    agent = troupe.start()
    assert troupe.ask(agent, "a keep") == "a"
    assert troupe.ask(agent, "b late:id-9") == "b"
    assert "late NotCurrent" in troupe.written()
    assert troupe.agents.ask(agent, "c").session_id is None


@pytest.mark.parametrize("end", ["error:r", "crash", "exit:3"])
def test_an_accepted_id_outlives_its_turn(troupe: Troupe, end: str) -> None:
    """C098, C190: whatever ends the turn, the next one has the id, in the same worker or its successor."""
    agent = troupe.start()
    troupe.ask(agent, f"a checkpoint:id-1 {end}")
    assert troupe.agents.ask(agent, "b", timeout=PATIENCE_S).session_id == "id-1"
