"""Handlers of this process: who is told what, and that none can do harm."""

from __future__ import annotations

import logging
import os
import sys
import time
import types
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from gen_agent import telemetry

STOP = ("gen_agent", "turn", "stop")
Told = tuple[tuple[str, ...], Mapping[str, Any], Mapping[str, Any]]


class Recorder:
    """A handler that remembers."""

    def __init__(self) -> None:
        self.told: list[Told] = []

    def __call__(
        self, name: tuple[str, ...], measurements: Mapping[str, Any], metadata: Mapping[str, Any]
    ) -> None:
        self.told.append((name, measurements, metadata))


@pytest.fixture
def attach() -> Iterator[Any]:
    """`attach`, undone after the test."""
    ids: list[Any] = []

    def attached(handler_id: Any, prefix: Any, handler: Any) -> None:
        telemetry.attach(handler_id, prefix, handler)
        ids.append(handler_id)

    yield attached
    for handler_id in ids:
        telemetry.detach(handler_id)


@pytest.mark.parametrize(
    ("prefix", "matches"),
    [
        ((), True),
        (("gen_agent",), True),
        (STOP, True),
        (("gen_agent", "turn", "start"), False),
        (("gen_agent", "tu"), False),
        ((*STOP, "more"), False),
    ],
)
def test_a_handler_is_told_what_begins_with_its_prefix(attach: Any, prefix: Any, matches: bool) -> None:
    """A prefix matches whole words from the front."""
    recorder = Recorder()
    attach("a", prefix, recorder)
    telemetry.emit(STOP, {"duration_s": 1.5}, {"agent": "coder"})
    assert recorder.told == ([(STOP, {"duration_s": 1.5}, {"agent": "coder"})] if matches else [])


def test_nothing_after_detach(attach: Any) -> None:
    """A detached handler is told nothing; detaching it again is fine."""
    recorder = Recorder()
    attach("a", (), recorder)
    telemetry.detach("a")
    telemetry.detach("a")
    telemetry.emit(STOP, {}, {})
    assert recorder.told == []


def test_handlers_are_told_in_order(attach: Any) -> None:
    """Handlers hear of an event in the order in which they were attached."""
    order: list[str] = []
    attach("b", (), lambda *_: order.append("b"))
    attach("a", (), lambda *_: order.append("a"))
    telemetry.emit(STOP, {}, {})
    assert order == ["b", "a"]


@pytest.mark.parametrize("error", [ValueError("secret"), SystemExit("secret"), KeyboardInterrupt()])
def test_a_raising_handler_is_detached_and_logged_once(
    attach: Any, caplog: pytest.LogCaptureFixture, error: BaseException
) -> None:
    """C238: a handler that raises ends nothing, is told no more, and is logged by class."""

    def failing(*_: Any) -> None:
        raise error

    recorder = Recorder()
    attach("bad", (), failing)
    attach("good", (), recorder)
    with caplog.at_level(logging.WARNING, "gen_agent.telemetry"):
        telemetry.emit(STOP, {}, {})
        telemetry.emit(STOP, {}, {})
    assert len(recorder.told) == 2
    assert len(caplog.records) == 1
    assert type(error).__name__ in caplog.text
    assert "secret" not in caplog.text


def test_a_handler_can_detach_itself_and_others(attach: Any) -> None:
    """A handler that detaches while it runs disturbs nobody."""
    recorder = Recorder()
    attach("a", (), lambda *_: telemetry.detach("a"))
    attach("b", (), recorder)
    telemetry.emit(STOP, {}, {})
    telemetry.emit(STOP, {}, {})
    assert len(recorder.told) == 2


def test_a_handler_cannot_change_what_the_next_one_sees(attach: Any) -> None:
    """Measurements and metadata are read-only, also for the caller after the call."""
    recorder = Recorder()
    attach("a", (), recorder)
    metadata = {"agent": "coder"}
    telemetry.emit(STOP, {"depth": 1}, metadata)
    metadata["agent"] = "other"
    for mapping in recorder.told[0][1:]:
        with pytest.raises(TypeError):
            mapping["agent"] = "mine"  # type: ignore[index]
    assert recorder.told[0][2] == {"agent": "coder"}


def test_the_time_of_day_is_filled_in_where_it_is_asked_for(attach: Any) -> None:
    """C221: `system_time_s` is the time in seconds; where nobody asks, nothing is added."""
    recorder = Recorder()
    attach("a", (), recorder)
    before = time.time()
    telemetry.emit(STOP, {"system_time_s": None}, {})
    telemetry.emit(STOP, {"system_time_s": 3.0}, {})
    telemetry.emit(STOP, {}, {})
    asked, given, bare = (told[1] for told in recorder.told)
    assert before <= asked["system_time_s"] <= time.time()
    assert (given, bare) == ({"system_time_s": 3.0}, {})


def test_an_id_is_attached_once(attach: Any) -> None:
    """A second handler under an id is refused, not put in place of the first."""
    attach("a", (), Recorder())
    with pytest.raises(ValueError, match="'a' is attached already"):
        telemetry.attach("a", (), Recorder())


@pytest.mark.parametrize(("prefix", "handler"), [("gen_agent", Recorder()), ((1,), Recorder()), ((), None)])
def test_bad_handlers_are_refused(prefix: Any, handler: Any) -> None:
    """A prefix is a tuple of str, a handler can be called."""
    with pytest.raises(TypeError):
        telemetry.attach("a", prefix, handler)


def test_a_fork_has_no_handlers(attach: Any) -> None:
    """Handlers are those of the process that attached them; a fork may attach its own under the same id."""
    recorder = Recorder()
    attach("a", (), recorder)
    child = os.fork()
    if child == 0:
        telemetry.emit(STOP, {}, {})
        inherited = len(recorder.told)
        telemetry.attach("a", (), recorder)
        telemetry.emit(STOP, {}, {})
        os._exit(0 if (inherited, len(recorder.told)) == (0, 1) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    telemetry.emit(STOP, {}, {})
    assert len(recorder.told) == 1


def test_handlers_by_path() -> None:
    """An agent's handler is named by module and function; naming it twice attaches it once."""
    module = types.ModuleType("handlers_of_a_user")
    recorder = Recorder()
    module.group = types.SimpleNamespace(record=recorder)  # type: ignore[attr-defined]
    sys.modules[module.__name__] = module
    path = "handlers_of_a_user:group.record"
    try:
        telemetry.attach_path(path)
        telemetry.attach_path(path)
        telemetry.emit(STOP, {}, {})
        with pytest.raises(AttributeError):
            telemetry.attach_path("handlers_of_a_user:missing")
    finally:
        telemetry.detach(path)
        del sys.modules[module.__name__]
    assert [told[0] for told in recorder.told] == [STOP]
    with pytest.raises(ImportError):
        telemetry.attach_path("no_such_module:function")
