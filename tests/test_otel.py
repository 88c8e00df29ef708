"""The OpenTelemetry bridge: turn events become spans and metrics, and nothing else does."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.trace import SpanKind, StatusCode

from gen_agent.core.requests import Origin
from gen_agent.otel.facts import KINDS, ORIGINS
from gen_agent.values import RequestRef
from tests.otel_rig import NOW_S, REF, SECRET, Rig, attributes


@pytest.fixture
def rig() -> Iterator[Rig]:
    rig = Rig()
    yield rig
    rig.shut_down()


def test_a_turn_is_one_span(rig: Rig) -> None:
    """C221, C222: start and stop make one root span with the conventions' names and the events' times."""
    rig.tell("start")
    assert rig.spans == ()
    rig.tell("stop", {"duration_s": 1.5})
    (span,) = rig.spans
    assert (span.name, span.kind, span.parent) == ("invoke_agent coder", SpanKind.INTERNAL, None)
    assert span.start_time == int(NOW_S * 1e9)
    assert span.end_time == span.start_time + 1_500_000_000
    assert (span.status.status_code, span.status.description) == (StatusCode.UNSET, None)
    assert attributes(span) == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": "gen_agent",
        "gen_ai.agent.name": "coder",
        "gen_ai.agent.id": "'coder'",
        "gen_agent.ref": str(REF),
        "gen_agent.attempt": 1,
        "gen_agent.origin": "tell",
    }


def test_a_failed_turn_has_its_reason_and_no_text(rig: Rig) -> None:
    """C223: turn.error ends the span as an error whose type is the reason's kind, without a description."""
    rig.tell("start")
    rig.tell("error", {"duration_s": 0.5}, reason_kind="timeout")
    (span,) = rig.spans
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, None)
    assert attributes(span)["error.type"] == "timeout"
    assert attributes(span)["gen_agent.reason_kind"] == "timeout"
    assert span.events == ()


def test_durations_are_measured_in_seconds(rig: Rig) -> None:
    """C222, C223: both histograms get every turn's duration, failed ones under their error type."""
    rig.tell("start")
    rig.tell("stop", {"duration_s": 3.0})
    rig.tell("start", attempt=2)
    rig.tell("error", {"duration_s": 0.02}, attempt=2, reason_kind="interrupted")
    points = rig.points()
    common = {"gen_ai.operation.name": "invoke_agent", "gen_ai.provider.name": "gen_agent"}
    operations = {
        dict(point.attributes).get("error.type"): point
        for point in points.pop("gen_ai.client.operation.duration")
    }
    assert {kind: point.sum for kind, point in operations.items()} == {None: 3.0, "interrupted": 0.02}
    assert dict(operations[None].attributes) == common
    assert operations[None].explicit_bounds[0] == 0.01
    assert operations[None].explicit_bounds[-1] == pytest.approx(81.92)
    agents = {
        dict(point.attributes).get("error.type"): point
        for point in points.pop("gen_ai.invoke_agent.duration")
    }
    assert {kind: point.sum for kind, point in agents.items()} == {None: 3.0, "interrupted": 0.02}
    assert dict(agents[None].attributes) == {"gen_ai.agent.name": "coder"}
    assert agents[None].explicit_bounds[-1] == pytest.approx(409.6)
    assert points == {}


@pytest.mark.parametrize(
    ("happened", "told", "counted"),
    [
        ("rejected", "overloaded", "overloaded"),
        ("rejected", ("pre_turn_crashed", "ValueError"), "pre_turn_crashed"),
        ("cancelled", "caller_down", "caller_down"),
    ],
)
def test_what_never_ran_is_counted(rig: Rig, happened: str, told: Any, counted: str) -> None:
    """C224, C225: rejected and cancelled requests are counted by agent, origin and kind, and have no span."""
    rig.tell(happened, reason_kind=told)
    rig.tell(happened, reason_kind=told)
    points = rig.points()
    (point,) = points.pop(f"gen_agent.turn.{happened}")
    assert (point.value, points, rig.spans) == (2, {}, ())
    assert dict(point.attributes) == {
        "gen_ai.agent.name": "coder",
        "gen_agent.origin": "tell",
        "gen_agent.reason_kind": counted,
    }


def test_attempts_are_told_apart(rig: Rig) -> None:
    """C235: a start and its end belong together by ref and attempt, whatever runs in between."""
    other = RequestRef("issuer", 8)
    rig.tell("start")
    rig.tell("start", attempt=2)
    rig.tell("start", ref=other)
    rig.tell("stop", {"duration_s": 2.0}, ref=other)
    rig.tell("stop", {"duration_s": 1.0}, attempt=2)
    told = [(attributes(span)["gen_agent.ref"], attributes(span)["gen_agent.attempt"]) for span in rig.spans]
    assert told == [(str(other), 1), (str(REF), 2)]


def test_lost_ends_do_not_pile_up() -> None:
    """The table of open turns is bounded: the oldest is given up and marked, as are all at close."""
    rig = Rig(max_open=2)
    for attempt in range(1, 6):
        rig.tell("start", attempt=attempt)
    assert [attributes(span)["gen_agent.attempt"] for span in rig.spans] == [1, 2, 3]
    rig.bridge.close()
    rig.bridge.close()
    assert [attributes(span)["gen_agent.attempt"] for span in rig.spans] == [1, 2, 3, 4, 5]
    assert all(attributes(span)["gen_agent.end_lost"] is True for span in rig.spans)
    assert rig.points() == {}
    rig.shut_down()


def test_a_repeated_start_gives_up_the_first_only() -> None:
    """A second start of one attempt takes the first one's place, and no other turn's."""
    rig = Rig(max_open=2)
    rig.tell("start", attempt=2)
    rig.tell("start")
    rig.tell("start")
    rig.tell("stop", {"duration_s": 1.0}, attempt=2)
    told = [
        (attributes(span)["gen_agent.attempt"], "gen_agent.end_lost" in attributes(span))
        for span in rig.spans
    ]
    assert told == [(1, True), (2, False)]
    rig.shut_down()


def test_an_end_without_its_start_is_a_span_too(rig: Rig) -> None:
    """Who begins to listen during a turn still gets its span, as long as the turn."""
    before_ns = time.time_ns()
    rig.tell("stop", {"duration_s": 2.0})
    (span,) = rig.spans
    assert span.end_time is not None
    assert span.start_time is not None
    assert before_ns <= span.end_time <= time.time_ns()
    assert span.end_time - span.start_time == 2_000_000_000
    assert "gen_agent.end_lost" not in attributes(span)


def test_the_current_span_is_not_the_parent(rig: Rig) -> None:
    """A span that is current where events arrive has not caused the turn."""
    with rig.tracers.get_tracer("mine").start_as_current_span("listening"):
        rig.tell("start")
        rig.tell("stop", {"duration_s": 1.0})
    assert rig.spans[0].name == "invoke_agent coder"
    assert rig.spans[0].parent is None


@pytest.mark.parametrize(
    ("agent", "name", "identity"),
    [
        ("1", "1", "'1'"),
        (1, "1", "1"),
        (("team", 2), "('team', 2)", "('team', 2)"),
        ("a\n", "'a\\n'", "'a\\n'"),
    ],
)
def test_names_of_every_type(rig: Rig, agent: Any, name: str, identity: str) -> None:
    """C011: agents whose names differ in type only have different ids."""
    rig.tell("stop", {"duration_s": 1.0}, agent=agent)
    (span,) = rig.spans
    assert span.name == f"invoke_agent {name}"
    assert attributes(span)["gen_ai.agent.name"] == name
    assert attributes(span)["gen_ai.agent.id"] == identity


def test_an_agent_without_a_name(rig: Rig) -> None:
    """The attributes of a name that isn't there are left out."""
    rig.tell("stop", {"duration_s": 1.0}, agent=None)
    assert rig.spans[0].name == "invoke_agent"
    assert not {"gen_ai.agent.name", "gen_ai.agent.id"} & set(attributes(rig.spans[0]))


@given(
    happened=st.sampled_from(["start", "stop", "error", "rejected", "cancelled", SECRET]),
    field=st.sampled_from(["ref", "attempt", "origin", "reason_kind", "prompt", "reason", "agent_state"]),
    value=st.sampled_from([SECRET, (SECRET,), ("pre_turn_crashed", SECRET), [SECRET], ValueError(SECRET)]),
)
def test_no_content_gets_through(happened: str, field: str, value: Any) -> None:
    """C235: a text put in any field becomes no attribute, name, status or metric, and raises nothing."""
    rig = Rig()
    rig.tell(happened, {"system_time_s": NOW_S, "duration_s": 1.0}, **{field: value})
    rig.bridge.close()
    shown = [span.to_json() for span in rig.spans]
    assert SECRET not in f"{shown}{rig.points()}"
    rig.shut_down()


def test_content_bearing_events_are_ignored(rig: Rig) -> None:
    """C235: of all events only those of turns are looked at."""
    told = {
        "agent": "coder",
        "ref": REF,
        "attempt": 1,
        "origin": "ask",
        "prompt": SECRET,
        "agent_state": SECRET,
    }
    for name in (("prompt", "start"), ("prompt", "stop"), ("event", "received"), ("halted",)):
        rig.bridge.handle(("gen_agent", *name), {"system_time_s": NOW_S, "duration_s": 1.0}, told)
    rig.bridge.close()
    assert (rig.spans, rig.points()) == ((), {})


def test_the_known_words_are_the_packages() -> None:
    """C194, C223-C225: every origin and every reason that an agent can tell is known by name."""
    assert {origin.value for origin in Origin} == ORIGINS
    assert {
        "timeout", "interrupted", "task_crashed", "backend_or_callback_error", "overloaded",
        "pre_turn_skipped", "pre_turn_halted", "pre_turn_invalid", "pre_turn_crashed",
        "task_supervisor_unavailable", "halted", "draining", "caller_cancelled", "caller_down",
    } <= KINDS  # fmt: skip
