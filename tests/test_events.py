"""Events, coverage and responses as values."""

from __future__ import annotations

import pickle
import time
from collections import OrderedDict

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gen_agent.errors import Undecodable, Unpicklable
from gen_agent.events import TERMINAL, Event, EventCoverage, Omission, Response, pickled
from gen_agent.sealed import SealedRun, dump, load
from tests.strategies import event_values


@pytest.mark.parametrize("kind", ["session", "text", "tool_use", "tool_result", "usage", "my_own", ""])
def test_only_result_and_error_are_terminal(kind: str) -> None:
    """C162: a turn ends with a result or an error; any other kind, also a custom one, goes on."""
    assert not Event(kind).terminal
    assert {"result", "error"} == TERMINAL
    assert Event.result().terminal
    assert Event.error().terminal


@pytest.mark.parametrize(
    ("event", "kind", "data"),
    [
        (Event.text("a", message_boundary=True), "text", {"text": "a", "message_boundary": True}),
        (Event.session(session_id="s"), "session", {"session_id": "s"}),
        (Event.tool_use(name="ls"), "tool_use", {"name": "ls"}),
        (Event.tool_result(output="x"), "tool_result", {"output": "x"}),
        (Event.usage(3, 4, cached=1), "usage", {"input_tokens": 3, "output_tokens": 4, "cached": 1}),
        (Event.result("done", session_id="s"), "result", {"text": "done", "session_id": "s"}),
        (Event.result(), "result", {}),
        (Event.error("down", status=500), "error", {"reason": "down", "status": 500}),
        (Event.error(reason=None), "error", {"reason": None}),
        (Event.error(), "error", {}),
    ],
)
def test_constructors(event: Event, kind: str, data: dict[str, object]) -> None:
    """C162, C164: each constructor's kind and data; no text and no reason leave no key behind."""
    assert (event.kind, event.data) == (kind, data)


def test_the_timestamp_is_monotonic_seconds() -> None:
    """C162: an event is stamped when it is made, with the monotonic clock."""
    before = time.monotonic()
    event = Event("text")
    assert before <= event.timestamp_s <= time.monotonic()


def test_data_is_copied() -> None:
    """What the maker of an event does to its mapping later does not reach the event."""
    data = OrderedDict(text="a")
    event = Event("text", data)
    data["text"] = "b"
    assert event.data == {"text": "a"}
    assert type(event.data) is dict


@pytest.mark.parametrize(("kind", "data"), [(3, {}), (None, {}), ("text", 3), ("text", "ab")])
def test_wrong_events_are_refused(kind: object, data: object) -> None:
    """A kind that is no str and data that is no mapping never become an event."""
    with pytest.raises((TypeError, ValueError)):
        Event(kind, data)  # type: ignore[arg-type]


def test_events_are_frozen() -> None:
    """An event can't be changed."""
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        Event("text").kind = "result"  # type: ignore[misc]


@given(event_values)
def test_an_event_in_a_frame_is_itself_again(event: Event) -> None:
    """What a worker pickles is what a recipient opens."""
    assert load(dump(event)) == event


def test_an_event_pickles_small() -> None:
    """A stream of short texts costs about a hundred bytes per event on the wire."""
    assert len(pickle.dumps(Event.text("hello"), 5)) < 110


def test_repr_hides_payloads() -> None:
    """C218: the `repr` of events and responses shows no data, text, prompt, usage, session or metadata."""
    event = Event("text", {"text": "secret"})
    response = Response("secret", "secret", (event,), event, usage={"secret": 1}, metadata={"a": "secret"})
    response = attrs.evolve(response, session_id="secret", prompt="secret")
    assert "secret" not in repr(event) + str(event) + repr(response) + str(response)


def test_an_empty_response_covers_nothing_exactly() -> None:
    """C166, C170: the defaults of a response: nothing observed, exact, empty metadata."""
    response = Response()
    assert response.event_coverage == EventCoverage("exact", 0, 0, 0, 0, None)
    assert (response.metadata, response.usage, response.session_id) == ({}, None, None)
    assert [field.name for field in attrs.fields(Response)] == [
        "text", "final_message", "events", "terminal", "event_coverage", "usage", "duration_s", "metadata",
        "session_id", "prompt",
    ]  # fmt: skip
    assert [field.name for field in attrs.fields(EventCoverage)] == [
        "mode", "observed_events", "retained_events", "omitted_events", "retained_bytes", "first_omission",
    ]  # fmt: skip
    assert Omission("bytes", "text") != Omission("events", "text")


@given(event_values)
def test_what_travels_is_a_pickle_of_the_event(event: Event) -> None:
    """The bytes of an event open as the event everywhere, and its size is that of its pickle (C166)."""
    body, size = pickled(event)
    assert pickle.loads(body) == event
    assert size == len(dump(event))


@pytest.mark.parametrize("length", [0, 1, 400, 450, 499, 500, 501, 1_000, 70_000])
def test_a_travelling_event_of_any_length(length: int) -> None:
    """Short and long ones are written differently and read alike; the size is the pickle's."""
    event = Event.text("x" * length, again=["x" * length, {}, []])
    body, size = pickled(event)
    assert pickle.loads(body) == event
    assert size == len(dump(event))


def test_an_event_that_cannot_travel() -> None:
    """C174: it is named by its class, in the sender."""
    with pytest.raises(Unpicklable) as caught:
        pickled(Event.text("x", of=lambda: None))
    assert caught.value == Unpicklable("event", "Event")


def opened(*bodies: bytes) -> list[object]:
    """What a recipient makes of a run of these bodies."""
    head = SealedRun.HEADER
    return list(
        SealedRun(b"".join(head.pack(len(body), SealedRun.EVENT) + body for body in bodies), len(bodies))
    )


@given(st.lists(event_values, max_size=4))
def test_a_run_opens_as_pickle_would_open_it(events: list[Event]) -> None:
    """The shorter way to an event leads to the same event, whoever wrote it and however."""
    bodies = [pickled(event)[0] for event in events] + [dump(event) for event in events]
    assert opened(*bodies) == [pickle.loads(body) for body in bodies] == events + events


@pytest.mark.parametrize(
    "parts",
    [("text",), ("text", {}, 0.0, 1), 7, "abc", None],
    ids=repr,
)
def test_a_forged_event_is_an_undecodable_in_its_place(parts: object) -> None:
    """What begins like an event of ours and is none spoils nothing but its own place."""
    whole = pickled(Event.text("before"))[0]
    begun = whole[: whole.index(b"_restore_event\n") + 15]
    forged = begun + pickle.dumps(parts, 2)[2:-1] + pickle.REDUCE + pickle.STOP
    before, between, after = opened(whole, forged, whole)
    assert before == after == pickle.loads(whole)
    assert isinstance(between, Undecodable)
