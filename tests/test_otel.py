"""The OpenTelemetry bridge: turn events become spans and metrics, and nothing else does."""

from __future__ import annotations

import logging
import pathlib
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from gen_agent import telemetry
from gen_agent.core.requests import Origin
from gen_agent.messages import Completion, Notify, TelemetryMessage
from gen_agent.otel import Bridge, handler
from gen_agent.otel.facts import KINDS, ORIGINS
from gen_agent.values import RequestRef
from tests.actors.agent_rig import ON_STOCK_TOO, OWN, plain_system
from tests.otel_agent import Traced

ROOT = pathlib.Path(__file__).resolve().parent.parent
REF = RequestRef("issuer", 7)
NOW_S = 1_700_000_000.25
SECRET = "the secret prompt"


class Rig:
    """A bridge over in-memory exporters."""

    def __init__(self, **options: Any) -> None:
        self.exporter, self.reader = InMemorySpanExporter(), InMemoryMetricReader()
        self.tracers = TracerProvider(shutdown_on_exit=False)
        self.tracers.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.meters = MeterProvider([self.reader], shutdown_on_exit=False)
        self.bridge = Bridge(tracer_provider=self.tracers, meter_provider=self.meters, **options)

    def tell(self, happened: str, measured: Any = None, **metadata: Any) -> None:
        """Tell the bridge of a turn event of agent "coder"."""
        told = {"agent": "coder", "ref": REF, "attempt": 1, "origin": "tell", **metadata}
        given = {"system_time_s": NOW_S} if measured is None else measured
        self.bridge.handle(("gen_agent", "turn", happened), given, told)

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        """The finished spans, in the order in which they ended."""
        return self.exporter.get_finished_spans()

    def points(self) -> dict[str, list[Any]]:
        """Metric name -> its points."""
        data = self.reader.get_metrics_data()
        found = [one for resource in data.resource_metrics for one in resource.scope_metrics] if data else []
        return {metric.name: list(metric.data.data_points) for one in found for metric in one.metrics}

    def shut_down(self) -> None:
        """End the providers."""
        self.tracers.shutdown()
        self.meters.shutdown()


@pytest.fixture
def rig() -> Iterator[Rig]:
    rig = Rig()
    yield rig
    rig.shut_down()


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


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
    assert ["gen_agent.end_lost" in attributes(span) for span in rig.spans] == [True, False]
    rig.shut_down()


def test_an_end_without_its_start_is_a_span_too(rig: Rig) -> None:
    """Who begins to listen during a turn still gets its span, as long as the turn."""
    rig.tell("stop", {"duration_s": 2.0})
    (span,) = rig.spans
    assert span.end_time is not None
    assert span.start_time is not None
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
    told = {"agent": "coder", "ref": REF, "attempt": 1, "prompt": SECRET, "agent_state": SECRET}
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


@pytest.mark.parametrize(
    ("measured", "metadata"),
    [
        ({}, {}),
        ({"duration_s": float("nan")}, {}),
        ({"duration_s": -1.0}, {}),
        ({"duration_s": 1.0}, {"agent": 1.5}),
    ],
)
def test_bad_events_are_dropped_and_logged_once(
    rig: Rig, caplog: pytest.LogCaptureFixture, measured: Any, metadata: Any
) -> None:
    """C238: what no turn event can be is dropped, said once by class, and the next event counts again."""
    with caplog.at_level(logging.WARNING, "gen_agent.otel"):
        rig.tell("stop", measured, **metadata)
        rig.tell("stop", measured, **metadata)
    assert len(caplog.records) == 1
    assert "Error" in caplog.text
    rig.tell("stop", {"duration_s": 1.0})
    assert len(rig.spans) == 1


def test_a_raising_provider_is_not_felt(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    """C238: an exporter that raises is logged by class; nothing reaches the agent."""

    def failing(*_: Any, **__: Any) -> Any:
        raise RuntimeError(SECRET)

    rig.exporter.export = failing  # type: ignore[method-assign]
    rig.bridge._tracer = type("Failing", (), {"start_span": failing})()
    with caplog.at_level(logging.WARNING, "gen_agent.otel"):
        rig.tell("start")
    assert "RuntimeError" in caplog.text
    assert SECRET not in caplog.text


def test_messages_are_fed(rig: Rig) -> None:
    """A recipient feeds what it receives: telemetry is taken, with or without its time, all else is left."""
    told = {"agent": "coder", "ref": REF, "attempt": 1, "origin": "ask"}
    assert rig.bridge.feed(TelemetryMessage(("gen_agent", "turn", "start"), {"system_time_s": None}, told))
    assert rig.bridge.feed(TelemetryMessage(("gen_agent", "turn", "stop"), {"duration_s": 1.0}, told))
    assert not rig.bridge.feed("something else")
    assert [attributes(span)["gen_agent.origin"] for span in rig.spans] == ["ask"]


def test_a_bridge_is_attached_like_any_handler(rig: Rig) -> None:
    """A bridge's `handle` and the module's `handler` are telemetry handlers."""
    told = {"agent": "coder", "ref": REF, "attempt": 1, "origin": "ask"}
    telemetry.attach("mine", telemetry.TURN, rig.bridge.handle)
    telemetry.attach("otel", telemetry.TURN, handler)
    try:
        telemetry.emit(("gen_agent", "turn", "start"), {"system_time_s": None}, told)
        telemetry.emit(("gen_agent", "turn", "stop"), {"duration_s": 1.0}, told)
    finally:
        telemetry.detach("mine")
        telemetry.detach("otel")
    assert len(rig.spans) == 1


class Slow(TracerProvider):
    """Its flush waits until it is let go."""

    def __init__(self) -> None:
        super().__init__(shutdown_on_exit=False)
        self.asked, self.go, self.done = threading.Event(), threading.Event(), threading.Event()

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        self.asked.set()
        self.go.wait(60)
        self.done.set()
        return True


def test_the_end_of_an_agent_flushes_but_does_not_wait_for_ever(rig: Rig) -> None:
    """C234: at `terminated` the providers are flushed, and an exporter that hangs holds the agent no longer
    than `flush_s`; 0 flushes nothing.
    """
    slow = Slow()
    event: tuple[Any, ...] = (
        ("gen_agent", "terminated"),
        {"system_time_s": NOW_S},
        {"agent": "a", "reason": "normal"},
    )
    Bridge(tracer_provider=slow, meter_provider=rig.meters, flush_s=0).handle(*event)
    assert not slow.asked.is_set()
    Bridge(tracer_provider=slow, meter_provider=rig.meters, flush_s=0.01).handle(*event)
    assert slow.asked.wait(60)
    assert not slow.done.is_set()
    slow.go.set()
    assert slow.done.wait(60)
    slow.done.clear()
    Bridge(tracer_provider=slow, meter_provider=rig.meters, flush_s=60).handle(*event)
    assert slow.done.is_set()


@pytest.mark.parametrize(
    ("options", "said"),
    [({"max_open": 0}, "max_open"), ({"flush_s": -1.0}, "flush_s"), ({"flush_s": float("nan")}, "flush_s")],
)
def test_bad_options_are_refused(options: dict[str, Any], said: str) -> None:
    """A limit that can't be kept is refused by name."""
    with pytest.raises(ValueError, match=said):
        Bridge(**options)


PROGRAM = """
import importlib.abc, sys

class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "opentelemetry":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
import gen_agent
try:
    import gen_agent.otel
except ModuleNotFoundError as error:
    print(error.name, error)
"""


def test_a_missing_package_is_named() -> None:
    """Without OpenTelemetry the package works, and the bridge says which command installs what it needs."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=False, cwd=ROOT
    )
    wanted = "opentelemetry gen_agent.otel needs OpenTelemetry; run: pip install 'gen-agent[otel]'"
    assert (done.stdout.strip(), done.stderr) == (wanted, "")


@ON_STOCK_TOO
def test_in_an_agents_process_and_beside_it(rig: Rig) -> None:
    """C221, C222, C235, C238: one turn of a real agent is the same span by its option `telemetry` and by the
    messages of `telemetry_to`.
    """
    with plain_system(OWN) as plain:
        recorder = plain.recorder()
        agent = plain.start(Traced, "echo", telemetry=("gen_agent.otel:handler",), telemetry_to=recorder)
        agent.submit(SECRET, recorder)
        got = plain.recorded(recorder)
        agent.cast(Notify(None))
        ((name, inside),) = agent.status().agent_state
    assert isinstance(got[-1], Completion)
    assert [rig.bridge.feed(message) for message in got].count(True) == 2
    (span,) = rig.spans
    assert (span.name, attributes(span)) == (name, inside)
    assert (name, inside["gen_agent.origin"]) == ("invoke_agent a", "tell")
    assert SECRET not in f"{inside}{span.to_json()}"


def test_a_fork_has_a_bridge_of_its_own() -> None:
    """A fork's handler does not end the turns that its parent began."""
    program = (
        "import os; from gen_agent import otel; "
        "otel.handler(('gen_agent', 'halted'), {}, {}); mine = otel._bridges[os.getpid()]; child = os.fork(); "
        "otel.handler(('gen_agent', 'halted'), {}, {}); theirs = otel._bridges[os.getpid()]; "
        "os._exit(theirs is mine) if child == 0 else None; "
        "print(os.waitpid(child, 0)[1], theirs is mine)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False, cwd=ROOT
    )
    assert (done.stdout.strip(), done.stderr) == ("0 True", "")
