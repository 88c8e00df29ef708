"""The OpenTelemetry bridge in its processes: it is fed, attached and missing, and it never disturbs."""

from __future__ import annotations

import logging
import pathlib
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider

from gen_agent import telemetry
from gen_agent.messages import Completion, Notify, TelemetryMessage
from gen_agent.otel import Bridge, handler
from tests.actors.agent_rig import ON_STOCK_TOO, OWN, plain_system
from tests.otel_agent import Traced
from tests.otel_rig import NOW_S, REF, SECRET, Rig, attributes

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOLD = {"agent": "coder", "ref": REF, "attempt": 1, "origin": "ask"}
STOP = (("gen_agent", "turn", "stop"), {"duration_s": 1.0}, TOLD)
TERMINATED = (("gen_agent", "terminated"), {"system_time_s": NOW_S}, {"agent": "a", "reason": "normal"})


@pytest.fixture
def rig() -> Iterator[Rig]:
    rig = Rig()
    yield rig
    rig.shut_down()


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


class Failing(TracerProvider):
    """Can neither make a span nor flush."""

    def __init__(self) -> None:
        super().__init__(shutdown_on_exit=False)

    def get_tracer(self, *_: Any, **__: Any) -> Any:
        return self

    def start_span(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError(SECRET)

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        raise RuntimeError(SECRET)


@pytest.mark.parametrize("event", [STOP, TERMINATED])
def test_a_raising_provider_is_not_felt(rig: Rig, caplog: pytest.LogCaptureFixture, event: Any) -> None:
    """C238: a provider that raises is logged by class; nothing reaches the agent."""
    bridge = Bridge(tracer_provider=Failing(), meter_provider=rig.meters, flush_s=60)
    with caplog.at_level(logging.WARNING, "gen_agent.otel"):
        bridge.handle(*event)
    assert "RuntimeError" in caplog.text
    assert SECRET not in caplog.text


def test_messages_are_fed(rig: Rig) -> None:
    """A recipient feeds what it receives: telemetry is taken, with or without its time, all else is left."""
    before_ns = time.time_ns()
    assert rig.bridge.feed(TelemetryMessage(("gen_agent", "turn", "start"), {"system_time_s": None}, TOLD))
    assert rig.bridge.feed(TelemetryMessage(("gen_agent", "turn", "stop"), {"duration_s": 1.0}, TOLD))
    assert not rig.bridge.feed("something else")
    (span,) = rig.spans
    assert attributes(span)["gen_agent.origin"] == "ask"
    assert span.start_time is not None
    assert before_ns <= span.start_time <= time.time_ns()


def test_a_bridge_is_attached_like_any_handler(rig: Rig) -> None:
    """A bridge's `handle` and the module's `handler` are telemetry handlers."""
    telemetry.attach("mine", telemetry.TURN, rig.bridge.handle)
    telemetry.attach("otel", telemetry.TURN, handler)
    try:
        telemetry.emit(("gen_agent", "turn", "start"), {"system_time_s": None}, TOLD)
        telemetry.emit(("gen_agent", "turn", "stop"), {"duration_s": 1.0}, TOLD)
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
    Bridge(tracer_provider=slow, meter_provider=rig.meters, flush_s=0).handle(*TERMINATED)
    assert not slow.asked.is_set()
    Bridge(tracer_provider=slow, meter_provider=rig.meters, flush_s=0.01).handle(*TERMINATED)
    assert slow.asked.wait(60)
    assert not slow.done.is_set()
    slow.go.set()
    assert slow.done.wait(60)
    slow.done.clear()
    Bridge(tracer_provider=slow, meter_provider=rig.meters, flush_s=60).handle(*TERMINATED)
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


FORKING = """
import os
from gen_agent import otel

def mine():
    otel.handler(("gen_agent", "halted"), {}, {})
    return otel._bridges[os.getpid()]

parents = mine()
child = os.fork()
if child == 0:
    os._exit(mine() is parents)
print(os.waitpid(child, 0)[1], mine() is parents)
"""


def test_a_fork_has_a_bridge_of_its_own() -> None:
    """A fork's handler does not end the turns that its parent began."""
    done = subprocess.run(
        [sys.executable, "-c", FORKING], capture_output=True, text=True, timeout=60, check=False, cwd=ROOT
    )
    assert (done.stdout.strip(), done.stderr) == ("0 True", "")
