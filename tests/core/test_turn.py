"""One turn as the worker runs it: events, callbacks, what it leaves behind (C095, C096, C162-C174, C257)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from gen_agent.errors import (
    BackendError,
    BackendFailed,
    EventCaptureOverflow,
    GenAgentError,
    NoTerminalEvent,
    Undecodable,
    Unpicklable,
    WorkerCrashed,
)
from gen_agent.events import Event
from gen_agent.sealed import Sealed, load
from tests.core.turn_bench import REF, Bench, says, succeeded


def test_custom_kinds() -> None:
    """C162: a kind of the backend's own is relayed and counted, and ends nothing."""
    bench = Bench()
    response = succeeded(bench.run(says(Event("thought"), Event.result("r"))))
    assert [event.kind for event in bench.order] == ["thought", "result"]
    assert response.event_coverage.observed_events == 2


def test_reading_stops_at_the_terminal_event() -> None:
    """C163: nothing is pulled after the first terminal event."""
    report = Bench().run(says(Event.result("r"), ValueError()))
    assert succeeded(report).text == "r"


@pytest.mark.parametrize(
    ("events", "error"),
    [
        ((), NoTerminalEvent()),
        ((Event.text("t"),), NoTerminalEvent()),
        ((Event.error(),), BackendFailed("unknown")),
        ((Event.error("bad"),), BackendFailed("bad")),
        ((Event.error(BackendError("p", "down")),), BackendError("p", "down")),
        ((Event.text("t"), "no event"), WorkerCrashed("TypeError")),
        ((Event.text("t"), ValueError("secret")), WorkerCrashed("ValueError")),
        ((SystemExit(3),), WorkerCrashed("SystemExit")),
        ((KeyboardInterrupt(),), WorkerCrashed("KeyboardInterrupt")),
        ((BackendError("p", "down"),), BackendError("p", "down")),
        ((Event.text("t"), BackendError("p", "down")), BackendError("p", "down")),
        ((Event("odd", {"x": lambda: None}),), Unpicklable("event", "Event")),
    ],
)
def test_failures(events: Any, error: GenAgentError) -> None:
    """C164, C257: each way a stream can fail is one error, and logs tell classes only."""
    bench = Bench()
    assert bench.run(says(*events)).outcome == error
    assert "secret" not in str(bench.logged)


def test_prompt_that_raises_or_gives_nothing() -> None:
    """C164, C257: a `prompt` that raises at once, or gives no iterable, fails its turn."""

    def raises(session: Any, prompt: str, turn: Any) -> Any:
        raise BackendError("p", "busy")

    assert Bench().run(raises).outcome == BackendError("p", "busy")
    assert Bench().run(lambda session, prompt, turn: None).outcome == WorkerCrashed("TypeError")  # type: ignore[arg-type, return-value]


def test_errors_can_always_travel() -> None:
    """C257: what a backend's error holds and can't be pickled is replaced by its class's name."""
    report = Bench().run(says(BackendError("p", "down", raw=lambda: None)))
    assert report.outcome == BackendError("p", "down", raw="function")
    assert Sealed.of(report.outcome)


def test_response() -> None:
    """C170, C173: every field of a response."""
    events = (
        Event.usage(1, 2),
        Event.text("one "),
        Event.usage(3, 4),
        Event.result(session_id="sid", metadata={"model": "m"}),
    )
    response = succeeded(Bench().run(says(*events)))
    assert (response.text, response.final_message, response.prompt) == ("one ", "one ", "hi")
    assert response.events == events
    assert response.terminal == events[-1]
    assert response.usage == {"input_tokens": 3, "output_tokens": 4}
    assert (response.duration_s, response.session_id, response.metadata) == (1.0, "sid", {"model": "m"})


def boundary(text: str) -> Event:
    return Event.text(text, message_boundary=True)


@pytest.mark.parametrize(
    ("events", "text", "final"),
    [
        (
            [Event.text("first "), Event.text("message"), boundary("second")],
            "first message\n\nsecond",
            "second",
        ),
        ([boundary("only")], "only", "only"),
        ([boundary(""), Event.text("a")], "a", "a"),
        ([Event.text("a"), boundary(""), Event.text("b")], "ab", "ab"),
        ([Event.text("a"), Event.text("b")], "ab", "ab"),
        ([Event.text("a"), boundary("b"), Event.text("c"), boundary("d")], "a\n\nbc\n\nd", "d"),
        ([], "", ""),
        ([Event("text", {}), Event.text("x")], "x", "x"),
    ],
)
def test_text_of_text_events(events: Any, text: str, final: str) -> None:
    """C171, C172: without a text of its own a result's text is that of the text events, in paragraphs."""
    response = succeeded(Bench().run(says(*events, Event.result())))
    assert (response.text, response.final_message) == (text, final)


def test_text_of_the_result() -> None:
    """C171, C172: a result's own text wins, also an empty one."""
    for given in ("own", ""):
        response = succeeded(Bench().run(says(Event.text("streamed"), Event.result(given))))
        assert (response.text, response.final_message) == (given, given)
    assert succeeded(Bench().run(says(Event.text("a"), Event("result", {"text": 5})))).text == "a"


def test_order_per_event() -> None:
    """C174: the stream callback sees an event before it is relayed."""
    bench = Bench()

    def seen(event: Event, state: Any) -> Any:
        bench.order.append(("seen", event.kind))
        return (*state, event.kind)

    report = bench.run(says(Event.text("t"), Event.result("r")), state=(), on_stream=seen)
    kinds = [entry if isinstance(entry, tuple) else entry.kind for entry in bench.order]
    assert kinds == [("seen", "text"), "text", ("seen", "result"), "result"]
    assert report.state == Sealed.of(("text", "result"))


def counting(event: Event, state: Any) -> Any:
    return state + 1


@pytest.mark.parametrize(
    ("end", "count"),
    [
        ([Event.result("r")], 2),
        ([Event.error("bad")], 2),
        ([], 1),
        ([BackendError("p", "down")], 1),
        ([ValueError()], None),
    ],
)
def test_stream_state_after_each_ending(end: Any, count: int | None) -> None:
    """C096: stream state survives a result, an error, a missing terminal; a crash loses it."""
    report = Bench().run(says(Event.text("t"), *end), state=0, on_stream=counting)
    assert report.state == (None if count is None else Sealed.of(count))


def test_stream_state_after_an_overflow() -> None:
    """C096, C167: stream state survives an overflow, and the callback never saw the rejected event."""
    bench = Bench(event_retention="lossless", max_events_per_turn=1)
    report = bench.run(says(Event.text("a"), Event.text("b")), state=0, on_stream=counting)
    assert report.state == Sealed.of(1)


@pytest.mark.parametrize(
    ("callback", "reason"),
    [(lambda event, state: 1 / 0, "ZeroDivisionError"), (lambda event, state: None, "TypeError")],
)
def test_stream_callback_fails(callback: Any, reason: str) -> None:
    """C096: a stream callback that raises, or forgets to return a state, fails the turn."""
    report = Bench().run(says(Event.text("t"), Event.result("r")), state=(), on_stream=callback)
    assert report.outcome == WorkerCrashed(reason)
    assert report.state is None


def test_state_changed_in_place_is_shipped() -> None:
    """C096: a stream callback that changes its state in place and returns it loses nothing."""

    def append(event: Event, state: list[str]) -> list[str]:
        state.append(event.kind)
        return state

    report = Bench().run(says(Event.result("r")), state=[], on_stream=append)
    assert report.state == Sealed.of(["result"])


def test_a_finalizer_runs() -> None:
    """C101, C167: reaching the terminal event, or an overflow, closes the stream normally."""
    closed: list[str] = []

    def play(session: Any, prompt: str, turn: Any) -> Iterable[Event]:
        try:
            yield Event.text("a")
            yield Event.result("r")
            yield Event.text("never")
        finally:
            closed.append("closed")

    Bench().run(play)
    Bench(event_retention="lossless", max_events_per_turn=1).run(play)
    assert closed == ["closed", "closed"]


def test_a_finalizer_that_raises_changes_nothing() -> None:
    """C101: the outcome is known when the stream is closed; what that raises is logged by class."""

    def play(session: Any, prompt: str, turn: Any) -> Iterable[Event]:
        try:
            yield Event.result("r")
        finally:
            raise ValueError("secret")

    bench = Bench()
    assert succeeded(bench.run(play)).text == "r"
    assert "ValueError" in bench.logged[0]
    assert "secret" not in bench.logged[0]


def test_sealed_response() -> None:
    """C170: the response is pickled once, in the worker, and is equal to the outcome."""
    report = Bench().run(says(Event.result("r")))
    assert report.sealed is not None
    assert load(report.sealed.data) == report.outcome


def test_a_session_that_can_not_be_opened() -> None:
    """C095: a session whose classes are missing fails the turn and stays what it was."""
    junk = Sealed(b"junk")
    report = Bench().run(says(Event.result("r")), session=junk)
    assert isinstance(report.outcome, Undecodable)
    assert (report.session, report.held) == (None, junk)


def test_overflow_names_numbers_only() -> None:
    """C167: the overflow's diagnostics have no payload, also for a terminal error that is too big."""
    bench = Bench(event_retention="lossless", max_event_bytes_per_turn=200)
    report = bench.run(says(Event.text("a"), Event.error("secret" * 100)))
    overflow = report.outcome
    assert isinstance(overflow, EventCaptureOverflow)
    assert "secret" not in repr(overflow) + str(overflow.fields)
    assert overflow.fields["rejected_event_kind"] == "error"
    assert [event.kind for event in bench.order] == ["text"]


def test_what_is_relayed() -> None:
    """C181: compact capture relays what it omits too; lossless doesn't relay the event it rejects."""
    events = [Event.text("a"), Event.text("b"), Event.result("r")]
    compact, lossless = Bench(max_events_per_turn=1), Bench(max_events_per_turn=1, event_retention="lossless")
    assert succeeded(compact.run(says(*events))).event_coverage.omitted_events == 2
    lossless.run(says(*events))
    assert ([event.kind for event in compact.order], len(lossless.order)) == (["text", "text", "result"], 1)


def test_what_a_backend_sees_of_its_turn() -> None:
    """C186: ref, attempt, the session, and a way to keep a session id."""
    seen: list[Any] = []

    def play(session: Any, prompt: str, turn: Any) -> Iterable[Event]:
        seen.extend((session, prompt, turn.ref, turn.attempt, turn.session, callable(turn.checkpoint)))
        yield Event.result("r")

    Bench().run(play)
    assert seen == [["s"], "hi", REF, 1, ["s"], True]
