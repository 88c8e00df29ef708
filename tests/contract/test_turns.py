"""What a turn is, on real processes: its events, its response, its session, its time."""

from __future__ import annotations

from pathlib import Path

import pytest

from gen_agent import EventCaptureOverflow, Omission, ResetFailed, Unsupported, WatchdogTimeout
from gen_agent.messages import Completion, EventBatch, EventMessage
from tests.contract.cast import SKIP
from tests.contract.stagehand import Bare, Resettable
from tests.contract.troupe import PATIENCE_S, Troupe

pytestmark = pytest.mark.bases


def test_a_response_has_it_all(troupe: Troupe) -> None:
    """C170-C173: text with its paragraphs, the last message, the last usage, session id, prompt and times."""
    agent = troupe.start()
    prompt = "a text:first text:_ text:message boundary:second usage:3 usage:4 checkpoint:id-1 result:"
    response = troupe.agents.ask(agent, prompt)
    assert response.text == "first_message\n\nsecond"
    assert response.final_message == "second"
    assert response.usage == {"input_tokens": 4, "output_tokens": 4}
    assert (response.prompt, response.terminal.kind, response.metadata) == (prompt, "result", {})
    assert response.duration_s > 0
    assert [event.kind for event in response.events] == [*["text"] * 4, "usage", "usage", "result"]
    coverage = response.event_coverage
    assert (coverage.mode, coverage.observed_events, coverage.omitted_events) == ("exact", 7, 0)
    assert troupe.agents.ask(agent, "b").session_id == "id-1"


def test_a_compact_response_keeps_a_prefix(troupe: Troupe) -> None:
    """C165, C166, C181: everything is seen and relayed; after the first omission nothing more is retained."""
    agent = troupe.start(max_events_per_turn=50, max_event_bytes_per_turn=2_000)
    ref = troupe.agents.tell_with_completion(
        agent, "a text:one pad:3000 text:two", stream_to=troupe.agents.address
    )
    response = troupe.agents.completion(ref, timeout=PATIENCE_S).result()
    coverage = response.event_coverage
    assert [event.data["text"] for event in response.events] == ["one"]
    assert (coverage.mode, coverage.observed_events, coverage.omitted_events) == ("compact", 4, 3)
    assert coverage.first_omission == Omission("bytes", "text")
    assert response.text == "a"
    assert len([one for one in troupe.until_end(agent) if isinstance(one, EventMessage)]) == 4
    assert [line for line in troupe.lines(agent) if line.startswith("stream")][2:4] == [
        "stream two",
        "stream a",
    ]


def test_a_lossless_turn_stops_at_what_does_not_fit(troupe: Troupe) -> None:
    """C101, C167, C168, C181: the event nobody may miss is shown to nobody; the stream is closed; the agent
    works on."""
    agent = troupe.start(max_events_per_turn=3, event_retention="lossless")
    ref = troupe.agents.tell_with_completion(agent, "a many:1000", stream_to=troupe.agents.address)
    outcome = troupe.agents.completion(ref, timeout=PATIENCE_S).outcome
    assert isinstance(outcome, EventCaptureOverflow)
    assert (outcome.limit, outcome.max_events, outcome.retained_events) == ("events", 3, 3)
    assert outcome.rejected_event_kind == "text"
    assert len([line for line in troupe.lines(agent) if line.startswith("stream")]) == 3
    assert troupe.written().count("stream closed") == 1
    assert len([one for one in troupe.until_end(agent) if isinstance(one, EventMessage)]) == 3
    assert troupe.agents.ask(agent, "b").event_coverage.mode == "exact"


def test_an_interrupt_before_the_overflow_wins(troupe: Troupe) -> None:
    """C169: the event that would not have fitted was never read."""
    agent = troupe.start(max_events_per_turn=1, event_retention="lossless")
    ref = troupe.hold(agent, "a text:one hold:here text:two")
    assert troupe.agents.interrupt_request(agent, ref) == "accepted"
    assert troupe.outcome(ref) == "interrupted"


def test_a_stream_belongs_to_its_request(troupe: Troupe) -> None:
    """C175-C177, C243: events of two requests come one after the other, each before its completion."""
    agent = troupe.start()
    mine = troupe.agents.address
    troupe.agents.halt(agent)
    one, two = (
        troupe.agents.tell_with_completion(agent, f"{name} text:1 text:2 text:3", stream_to=mine)
        for name in ("a", "b")
    )
    troupe.agents.resume(agent)
    came = troupe.until_end(agent)
    assert [message.ref for message in came] == [one] * 5 + [two] * 5
    assert [type(message) for message in came] == [*[EventMessage] * 4, Completion] * 2
    assert {message.agent for message in came} == {"a"}


def test_batches_hold_the_same_events(troupe: Troupe) -> None:
    """C175: stream_batch=True gives the same events in fewer messages, all before the completion."""
    agent = troupe.start()
    ref = troupe.agents.submit_with_completion(
        agent, "a many:300", stream_to=troupe.agents.address, stream_batch=True
    )
    came = troupe.until_end(agent)
    batches = [one for one in came if isinstance(one, EventBatch)]
    texts = [event.data.get("text") for batch in batches for event in batch.events]
    assert texts == [*map(str, range(300)), "a"]
    assert (came[-1].ref, came[-1].dropped_events) == (ref, 0)


def test_requests_that_never_start_stream_nothing(troupe: Troupe) -> None:
    """C178, C199: skipped, cancelled, refused and undispatched requests have no events."""
    agent = troupe.start(book={("pre_turn", "skip text:t"): SKIP})
    mine = troupe.agents.address
    troupe.agents.tell_with_completion(agent, "skip text:t", stream_to=mine)
    troupe.agents.tell_with_completion(agent, "a fail", stream_to=mine)
    troupe.until(lambda: troupe.agents.status(agent).state == "idle")
    troupe.agents.halt(agent)
    cancelled = troupe.agents.tell_with_completion(agent, "b text:t", stream_to=mine)
    troupe.agents.submit_with_completion(agent, "c text:t", stream_to=mine, on_halt="fail")
    assert troupe.agents.cancel_request(agent, cancelled) == "cancelled"
    troupe.agents.resume(agent)
    came = troupe.until_end(agent)
    assert not [one for one in came if isinstance(one, EventMessage)]
    assert len([one for one in came if isinstance(one, Completion)]) == 3


def test_nothing_of_an_interrupted_turn_comes_later(troupe: Troupe) -> None:
    """C179: after its completion only the next request's events arrive."""
    agent = troupe.start()
    mine = troupe.agents.address
    ref = troupe.agents.tell_with_completion(agent, "a text:early hold:here text:late", stream_to=mine)
    troupe.stage.wait_blocked("here", PATIENCE_S)
    assert troupe.agents.interrupt_request(agent, ref) == "accepted"
    later = troupe.agents.tell_with_completion(agent, "b text:next", stream_to=mine)
    came = troupe.until_end(agent)
    ended = next(index for index, one in enumerate(came) if isinstance(one, Completion))
    assert came[ended].ref == ref
    assert {one.ref for one in came[ended + 1 :]} == {later}
    assert "late" not in {one.event.data.get("text") for one in came if isinstance(one, EventMessage)}


def test_time_in_the_queue_is_not_the_turns(troupe: Troupe) -> None:
    """C182, C183: a request that has waited longer than the watchdog runs; one that runs longer is timed
    out."""
    agent = troupe.start(watchdog_s=1.0)
    long = troupe.agents.tell_with_completion(agent, "long hold:never")
    queued = troupe.agents.tell_with_completion(agent, "queued")
    completion = troupe.agents.completion(long, timeout=PATIENCE_S)
    assert completion.outcome == WatchdogTimeout(1.0, idle=False)
    assert troupe.outcome(queued) == "queued"


def test_a_turn_without_a_limit(troupe: Troupe) -> None:
    """C004, C184: watchdog_s=None is no limit, and the snapshot says so."""
    agent = troupe.start(watchdog_s=None)
    ref = troupe.hold(agent)
    active = troupe.agents.runtime_snapshot(agent).current_request
    assert active is not None
    assert (active.watchdog_s, active.elapsed_s > 0) == (None, True)
    troupe.release()
    assert troupe.outcome(ref) == "held"


def test_a_session_goes_from_turn_to_turn(troupe: Troupe) -> None:
    """C095, C185, C187: opened once, updated after each result and no error, closed once with the latest."""
    agent = troupe.start()
    assert [troupe.agents.ask(agent, name).terminal.data["turns"] for name in "ab"] == [0, 1]
    assert troupe.ask(agent, "c error:r") == "backend_failed"
    assert troupe.agents.ask(agent, "d").terminal.data["turns"] == 3
    assert troupe.ask(agent, "e fail") == "backend_error"
    troupe.agents.stop(agent, timeout=PATIENCE_S)
    told = [line for line in troupe.written() if line.endswith("_session") or "_session " in line]
    assert told == ["start_session", *["update_session"] * 3, "terminate_session 4"]


@pytest.mark.parametrize(
    ("prompt", "code"),
    [
        ("a checkpoint:id-1 error:r", "backend_failed"),
        ("a checkpoint:id-1 silent", "no_terminal_event"),
        ("a checkpoint:id-1 crash", "task_crashed"),
        ("a checkpoint:id-1 checkpoint:id-1", None),
        ("a checkpoint:id-1 checkpoint:other", "conflicting_session_id"),
        ("a checkpoint:id-1 checkpoint:\N{DELETE}", "invalid_session_id"),
    ],
)
def test_a_checkpoint_outlives_its_turn(troupe: Troupe, prompt: str, code: str | None) -> None:
    """C188-C191: the first id is kept whatever becomes of the turn; another fails it; none is an event."""
    agent = troupe.start()
    assert troupe.ask(agent, prompt) == (code or "a")
    assert troupe.agents.ask(agent, "b").session_id == "id-1"


@pytest.mark.parametrize("session_id", ["", "x" * 1025, "tab\x09"])
def test_a_bad_session_id_fails_the_turn(troupe: Troupe, session_id: str) -> None:
    """C188, C189: refused, and remembered although the stream reaches its result."""
    agent = troupe.start()
    bad = session_id.replace("\t", "\x7f")
    assert troupe.ask(agent, f"a checkpoint:{bad}") == "invalid_session_id"
    assert troupe.agents.ask(agent, "b").session_id is None


@pytest.mark.parametrize("end", ["interrupt", "watchdog"])
def test_a_checkpoint_outlives_its_worker(troupe: Troupe, end: str) -> None:
    """C119, C183, C190: also when the worker was killed at it."""
    agent = troupe.start(watchdog_s=1.0 if end == "watchdog" else None)
    ref = troupe.hold(agent, "a checkpoint:id-1 hold:here")
    if end == "interrupt":
        troupe.agents.interrupt(agent)
    assert troupe.outcome(ref) == ("timeout" if end == "watchdog" else "interrupted")
    assert troupe.agents.ask(agent, "b").session_id == "id-1"


@pytest.mark.parametrize(
    ("how", "reason"),
    [("refuse", "refused"), ("raise", "ValueError"), ("forget", "invalid_reset_result")],
)
def test_a_reset_that_fails(troupe: Troupe, tmp_path: Path, how: str, reason: str) -> None:
    """C126: the caller has the backend's reason, a class name, or that it is no session; the old session
    goes on, and the next reset is tried anew."""
    barred = tmp_path / "barred"
    agent = troupe.start(backend=Resettable, forward={"barred": str(barred)})
    assert troupe.agents.ask(agent, "a").terminal.data["turns"] == 0
    barred.write_text(how)
    with pytest.raises(ResetFailed) as caught:
        troupe.agents.reset_session(agent)
    assert caught.value == ResetFailed(reason)
    barred.unlink()
    assert troupe.agents.ask(agent, "b").terminal.data["turns"] == 1
    troupe.agents.reset_session(agent)
    assert troupe.agents.ask(agent, "c").terminal.data["turns"] == 0


def test_a_backend_that_can_do_no_more_than_it_must(troupe: Troupe) -> None:
    """C126, C256: three methods run turns; a reset is Unsupported and changes nothing."""
    agent = troupe.start(backend=Bare)
    assert troupe.ask(agent, "a") == "a"
    with pytest.raises(Unsupported):
        troupe.agents.reset_session(agent)
    assert troupe.ask(agent, "b") == "b"
