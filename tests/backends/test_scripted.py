"""The scripted backend and its stage (C259)."""

from __future__ import annotations

import os
import pickle
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gen_agent.backends import scripted
from gen_agent.backends.scripted import GateError, ScriptedBackend, ScriptedSession, Stage, gate
from gen_agent.errors import BackendError, BackendFailed, StartError
from gen_agent.events import Event
from gen_agent.testing.conformance import ConformanceTurn
from tests.backends.turns import failing, play

HELLO = (Event.text("hello"), Event.result())


@pytest.fixture
def stage() -> Iterator[Stage]:
    """A stage, closed at the end."""
    with Stage() as opened:
        yield opened


def answer(prompt: str) -> tuple[Event, ...]:
    """A script that answers what it is asked."""
    return (Event.text(prompt.upper()), Event.result())


def in_child(backend: ScriptedBackend, session: ScriptedSession, prompt: str) -> int:
    """Play one turn in another process, which exits with 0 for a result and 1 for a `GateError`."""
    child = os.fork()
    if child:
        return child
    try:
        play(backend, session, prompt)
        os._exit(0)
    except GateError:
        os._exit(1)
    finally:
        os._exit(2)


def ended(child: int) -> int:
    """Wait for a child and return its exit status, negative for a signal."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_one_script_per_turn(stage: Stage) -> None:
    """C259: a list, a function of the prompt, a refusal and a crash are used up one per turn, then
    no_script.
    """
    refusal = BackendError("scripted", kind="busy")
    scripts = (HELLO, answer, scripted.fail(refusal), scripted.crash(KeyError("x")))
    backend = ScriptedBackend(**stage.options(*scripts))
    session = backend.start_session()
    assert play(backend, session, "1").text == "hello"
    assert play(backend, session, "two").text == "TWO"
    assert failing(backend, session, "3") == ([], refusal)
    with pytest.raises(KeyError):
        play(backend, session, "4")
    assert failing(backend, session, "5")[1].kind == "no_script"
    assert stage.history() == ("1", "two", "3", "4", "5")
    assert stage.remaining() == 0


def test_a_refusal_comes_before_anything_is_read(stage: Stage) -> None:
    """C257: the error of a script that can't be dispatched is raised by `prompt` itself, as is no_script."""
    backend = ScriptedBackend(**stage.options(scripted.fail(BackendError("p", kind="k"))))
    session = backend.start_session()
    for kind in ("k", "no_script"):
        with pytest.raises(BackendError) as caught:
            backend.prompt(session, "x", ConformanceTurn(session))
        assert caught.value.kind == kind


def test_only_a_backend_error_is_a_refusal() -> None:
    """C257: any other error that `prompt` raises is a crash of the worker, so no script ends with one."""
    with pytest.raises(TypeError, match="BackendError"):
        scripted.fail(BackendFailed("busy"))  # type: ignore[arg-type]


def test_a_crash_comes_after_the_events_before_it(stage: Stage) -> None:
    """C259: a crash in the middle of a script lets the events before it through."""
    backend = ScriptedBackend(**stage.options((Event.text("a"), scripted.crash(ValueError()))))
    session = backend.start_session()
    events = iter(backend.prompt(session, "x", ConformanceTurn(session)))
    assert next(events).kind == "text"
    with pytest.raises(ValueError, match=r"^$"):
        next(events)


def test_a_checkpoint_is_offered_in_its_place(stage: Stage) -> None:
    """C188: a checkpoint step calls the turn's checkpoint and is no event."""
    backend = ScriptedBackend(**stage.options((scripted.checkpoint("id-1"), *HELLO)))
    session = backend.start_session()
    turn = ConformanceTurn(session)
    assert [event.kind for event in backend.prompt(session, "x", turn)] == ["text", "result"]
    assert turn.checkpoints == ["id-1"]
    assert backend.checkpoint_session(session, "id-1").session_id == "id-1"


def test_a_gate_holds_another_process_until_it_is_released(stage: Stage) -> None:
    """C259: a worker is blocked at its gate, known by pid, and goes on when the gate is released."""
    backend = ScriptedBackend(**stage.options(gate("a", HELLO)))
    child = in_child(backend, backend.start_session(), "x")
    assert stage.wait_blocked("a") == child
    assert stage.history() == ("x",)
    assert os.waitpid(child, os.WNOHANG) == (0, 0)
    stage.release("a")
    assert ended(child) == 0


def test_gates_inside_a_script_open_in_order(stage: Stage) -> None:
    """C259: events and gates mix; each gate is reached only when the one before it was released."""
    backend = ScriptedBackend(**stage.options((Event.text("1"), gate("a"), gate("b", [Event.result()]))))
    child = in_child(backend, backend.start_session(), "x")
    stage.wait_blocked("a")
    with pytest.raises(TimeoutError):
        stage.wait_blocked("b", timeout_s=0.05)
    stage.release("a")
    stage.release("b")
    assert ended(child) == 0


def test_workers_at_one_gate_are_released_one_by_one(stage: Stage) -> None:
    """C259: each release lets the one through that has waited longest."""
    children = []
    for label in ("first", "second"):
        backend = ScriptedBackend(**stage.options(gate("a", HELLO), label=label))
        children.append(in_child(backend, backend.start_session(), "x"))
        stage.wait_blocked("a")
    while len(stage._waiting["a"]) < 2:
        stage._admit("a", 5.0)
    stage.release("a")
    assert ended(children[0]) == 0
    assert stage.wait_blocked("a") == children[1]
    stage.release("a")
    assert ended(children[1]) == 0


def test_a_worker_killed_at_its_gate_is_seen_and_its_script_used_up(stage: Stage) -> None:
    """C259: killing the blocked worker is noticed; the next turn plays the next script with the same
    session.
    """
    backend = ScriptedBackend(**stage.options(gate("a", HELLO), HELLO))
    session = backend.start_session()
    child = in_child(backend, session, "killed")
    stage.wait_blocked("a")
    os.kill(child, signal.SIGKILL)
    stage.wait_gone("a")
    assert ended(child) == -signal.SIGKILL
    assert play(ScriptedBackend(**stage.options(gate("a"), HELLO)), session, "next").text == "hello"
    assert stage.history() == ("killed", "next")


def test_releasing_a_dead_worker_is_harmless(stage: Stage) -> None:
    """C259: a release that comes after the worker's death changes nothing."""
    backend = ScriptedBackend(**stage.options(gate("a", HELLO)))
    child = in_child(backend, backend.start_session(), "x")
    stage.wait_blocked("a")
    os.kill(child, signal.SIGKILL)
    ended(child)
    stage.release("a")
    with pytest.raises(TimeoutError):
        stage.wait_blocked("a", timeout_s=0.01)


def test_a_gate_is_not_waited_for_for_ever(stage: Stage) -> None:
    """C259: a gate that nobody opens in time ends the turn with `GateError`."""
    backend = ScriptedBackend(**stage.options(gate("a", HELLO, timeout_s=0.01)))
    assert ended(in_child(backend, backend.start_session(), "x")) == 1


def test_closing_the_stage_lets_nobody_wait() -> None:
    """C259: workers at the gates of a stage that is closed end their turn with `GateError`, and nothing is
    left.
    """
    with Stage() as stage:
        backend = ScriptedBackend(**stage.options(gate("a", HELLO, timeout_s=None)))
        child = in_child(backend, backend.start_session(), "x")
        stage.wait_blocked("a")
    assert ended(child) == 1
    assert not os.path.exists(stage.address.path)
    stage.close()


def test_a_gate_never_waits_for_its_own_process(stage: Stage) -> None:
    """A gate in the process that would have to open it (simpleSystemBase) raises instead of hanging."""
    backend = ScriptedBackend(**stage.options(gate("a", HELLO)))
    session = backend.start_session()
    with pytest.raises(GateError, match="would wait for itself"):
        play(backend, session)


def test_a_stage_may_be_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """C259: gates work in a temporary directory whose path is longer than a socket's may be."""
    deep = tmp_path / ("deep" * 40)
    deep.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(deep))
    with Stage() as stage:
        backend = ScriptedBackend(**stage.options(gate("a", HELLO)))
        child = in_child(backend, backend.start_session(), "x")
        stage.release("a")
        assert ended(child) == 0


def test_a_gate_needs_a_stage() -> None:
    """A gate in a script without the option `stage` raises."""
    backend = ScriptedBackend(scripts=[gate("a", HELLO)])
    session = backend.start_session()
    with pytest.raises(GateError, match="no stage"):
        play(backend, session)
    backend.terminate_session(session)


def test_start_error() -> None:
    """C259: `start_error` fails the start: an exception as it is, anything else as the reason of a
    `StartError`.
    """
    with pytest.raises(ZeroDivisionError):
        ScriptedBackend(start_error=ZeroDivisionError()).start_session()
    with pytest.raises(StartError) as caught:
        ScriptedBackend(start_error="closed today").start_session()
    assert caught.value.reason == "closed today"


def test_history_without_a_stage() -> None:
    """C259: history and remaining take a session; the record ends with it; other sessions are refused."""
    backend = ScriptedBackend(scripts=(HELLO, HELLO))
    session = backend.start_session()
    play(backend, session, "one")
    assert scripted.history(session) == ("one",)
    assert scripted.remaining(session) == 1
    backend.terminate_session(session)
    with pytest.raises(LookupError):
        scripted.history(session)
    with pytest.raises(TypeError):
        scripted.history("no session")  # type: ignore[arg-type]


def test_history_of_nobody(stage: Stage) -> None:
    """C259: a label nobody has is a `LookupError`."""
    with pytest.raises(LookupError):
        stage.history("nobody")
    with pytest.raises(LookupError):
        stage.remaining("nobody")


def test_agents_on_one_stage_are_told_apart(stage: Stage) -> None:
    """C259: two sessions have two histories, and a label used again starts its scripts anew."""
    options = {label: stage.options(HELLO, label=label) for label in ("a", "b")}
    for label in ("a", "b", "b"):
        backend = ScriptedBackend(**options[label])
        assert play(backend, backend.start_session(), f"for {label}").text == "hello"
    assert stage.history("a") == ("for a",)
    assert stage.history("b") == ("for b", "for b")
    assert stage.remaining("b") == 0


def test_options_pickle(stage: Stage) -> None:
    """Every kind of script crosses processes as an option."""
    scripts: Any = (HELLO, answer, scripted.fail(BackendError("p")), gate("a", HELLO),
                    scripted.crash(ValueError()), scripted.checkpoint("x"),
                    scripted.reply("a", "b"))  # fmt: skip
    options = stage.options(*scripts)
    again = pickle.loads(pickle.dumps(options))
    assert again["scripts"][:4] == scripts[:4]
    assert again["stage"] == stage.address
    assert "hello" not in repr(scripts[3])


def test_unknown_option() -> None:
    """A wrong option is named together with those there are."""
    with pytest.raises(TypeError, match="unknown option 'script'; known options: label, scripts, stage"):
        ScriptedBackend(script=())
