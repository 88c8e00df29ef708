"""The session over turns: what each ending saves, and checkpoints (C095, C185-C191)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from gen_agent.backend import Backend
from gen_agent.core.resetting import run_reset
from gen_agent.core.session_ids import checkpoint_error, is_valid
from gen_agent.core.turn import Ports, TurnJob, TurnReport, run_turn
from gen_agent.errors import (
    BackendError,
    BackendFailed,
    ConflictingSessionId,
    GenAgentError,
    InvalidSessionId,
    NotCurrent,
    NoTerminalEvent,
    ResetFailed,
    StartError,
    Unsupported,
    UnsupportedCheckpoint,
    WorkerCrashed,
)
from gen_agent.events import Event, Response
from gen_agent.options import AgentOptions
from gen_agent.sealed import Sealed
from gen_agent.values import RequestRef

REF = RequestRef("turn", 1)


class Plain(Backend):
    """Counts turns in its session, a dict; `play` says what a turn does."""

    def __init__(self, play: Any) -> None:
        self.play = play
        self.updated: list[str] = []

    def start_session(self) -> Any:
        return {"turns": 0}

    def prompt(self, session: Any, prompt: str, turn: Any) -> Iterable[Event]:
        turn.session = {**session, "turns": session["turns"] + 1}
        yield from self.play(turn)

    def update_session(self, session: Any, result: Event) -> Any:
        self.updated.append(result.kind)
        return {**session, "updated": True}


class Keeping(Plain):
    """One that keeps session ids."""

    def checkpoint_session(self, session: Any, session_id: str) -> Any:
        return {**session, "id": session_id}


def run(backend: Backend, offer: Any = None, session: Any = None, **options: Any) -> TurnReport:
    ports = Ports(lambda: 0.0, lambda body: None, offer or (lambda *args: None), lambda level, text: None)
    held = session or Sealed.of({"turns": 0})
    return run_turn(backend, TurnJob(REF, 1, "hi", held), AgentOptions("n", "echo", **options), ports)


def opened(sealed: Sealed | None) -> Any:
    return None if sealed is None else Sealed(sealed.data).open()


ENDS: list[tuple[Any, Any]] = [
    ([Event.result("r")], {"turns": 1, "updated": True}),
    ([Event.error("bad")], {"turns": 1}),
    ([], {"turns": 1}),
    ([Event.text("t"), BackendError("p", "down")], {"turns": 1}),
    ([BackendError("p", "down")], None),
    ([Event.text("t"), ValueError()], None),
]


def playing(*events: Any, ids: tuple[Any, ...] = ()) -> Any:
    def play(turn: Any) -> Iterable[Event]:
        for session_id in ids:
            turn.checkpoint(session_id)
        for event in events:
            if isinstance(event, BaseException):
                raise event
            yield event

    return play


@pytest.mark.parametrize(("events", "session"), ENDS)
def test_session_after_each_ending(events: Any, session: Any) -> None:
    """C095, C257: a result updates, an error or missing end keeps what prompt left, a synchronous error
    or crash nothing.
    """
    report = run(Plain(playing(*events)))
    assert opened(report.session) == session
    assert opened(report.held) == (session or {"turns": 0})


@pytest.mark.parametrize(("events", "session"), ENDS)
def test_checkpoint_survives_each_ending(events: Any, session: Any) -> None:
    """C190: an accepted id is in the session the agent keeps and in the worker's, whatever the ending."""
    offered: list[Any] = []
    report = run(Keeping(playing(*events, ids=("sid",))), lambda *args: offered.append(args))
    ((session_id, supported, kept),) = offered
    assert (session_id, supported, opened(kept)) == ("sid", True, {"turns": 0, "id": "sid"})
    assert opened(report.session) == (None if session is None else {**session, "id": "sid"})
    assert opened(report.held) == {**(session or {"turns": 0}), "id": "sid"}


def test_checkpoint_survives_an_overflow() -> None:
    """C190: also in lossless mode, and after an overflow."""
    backend = Keeping(playing(Event.text("a"), Event.text("b"), ids=("sid",)))
    report = run(backend, event_retention="lossless", max_events_per_turn=1)
    assert opened(report.session) == {"turns": 1, "id": "sid"}


def test_update_session_is_for_results() -> None:
    """C187: `update_session` runs once, for a result only, on the session that prompt left."""
    good, bad = Plain(playing(Event.result("r"))), Plain(playing(Event.error("bad")))
    run(good)
    run(bad)
    assert (good.updated, bad.updated) == (["result"], [])


def test_sessions_changed_in_place_by_a_failed_turn() -> None:
    """C095: after a crash the worker goes on from the session's bytes, not from an object changed in
    place.
    """

    class Mutating(Plain):
        def prompt(self, session: Any, prompt: str, turn: Any) -> Iterable[Event]:
            session["turns"] = 99
            raise BackendError("p", "down")

    report = run(Mutating(None))
    assert report.session is None
    assert report.held.open() == {"turns": 0}


@pytest.mark.parametrize(
    ("session_id", "valid"),
    [
        ("a", True),
        ("x" * 1024, True),
        ("x" * 1025, False),
        ("é" * 512, True),
        ("é" * 513, False),
        ("", False),
        ("a\nb", False),
        ("a\x7f", False),
        ("\ud800", False),
        (b"bytes", False),
        (7, False),
    ],
)
def test_session_ids(session_id: Any, valid: bool) -> None:
    """C188: 1 to 1024 bytes of UTF-8 text without control characters."""
    assert is_valid(session_id) is valid


def test_order_of_checks() -> None:
    """C188: unsupported, then invalid, then the same, then conflicting."""
    assert checkpoint_error("", False, "a") == UnsupportedCheckpoint()
    assert checkpoint_error("", True, "a") == InvalidSessionId()
    assert checkpoint_error("a", True, "a") is None
    assert checkpoint_error("b", True, "a") == ConflictingSessionId()
    assert checkpoint_error("b", True, None) is None


@pytest.mark.parametrize(
    ("cls", "ids", "error"),
    [
        (Plain, ("sid",), UnsupportedCheckpoint()),
        (Keeping, ("bad\n",), InvalidSessionId()),
        (Keeping, ("sid", "other"), ConflictingSessionId()),
    ],
)
def test_a_refused_checkpoint_fails_the_turn(cls: Any, ids: Any, error: GenAgentError) -> None:
    """C188, C189: a refusal raises in the backend and fails the turn, also where the backend goes on to a
    result.
    """
    raised: list[Exception] = []

    def stubborn(turn: Any) -> Iterable[Event]:
        for session_id in ids:
            try:
                turn.checkpoint(session_id)
            except GenAgentError as refused:
                raised.append(refused)
        yield Event.result("r")

    backend = cls(stubborn)
    assert run(backend).outcome == error
    assert raised == [error]
    assert backend.updated == []
    assert run(cls(playing(Event.result("r"), ids=ids))).outcome == error


def test_the_first_refusal_counts() -> None:
    """C189: a later crash or refusal doesn't replace the first one."""

    def play(turn: Any) -> Iterable[Event]:
        for session_id in ("", "sid", "other"):
            with pytest.raises((InvalidSessionId, ConflictingSessionId)) if session_id != "sid" else _fine():
                turn.checkpoint(session_id)
        yield Event.text("t")
        raise ValueError

    assert run(Keeping(play)).outcome == InvalidSessionId()


class _fine:
    def __enter__(self) -> None: ...

    def __exit__(self, *args: object) -> None: ...


def test_the_same_id_again() -> None:
    """C188: the same id again is fine and changes nothing."""
    offered: list[Any] = []
    report = run(
        Keeping(playing(Event.result("r"), ids=("sid", "sid"))), lambda *args: offered.append(args[2])
    )
    assert isinstance(report.outcome, Response)
    assert [kept is not None for kept in offered] == [True, False]


def test_the_agent_refuses() -> None:
    """C074, C188: what the agent answers counts: not current raises, but is no fault of the turn."""
    raised: list[Exception] = []

    def play(turn: Any) -> Iterable[Event]:
        try:
            turn.checkpoint("sid")
        except NotCurrent as refused:
            raised.append(refused)
        yield Event.result("r")

    report = run(Keeping(play), lambda *args: NotCurrent())
    assert isinstance(report.outcome, Response)
    assert raised == [NotCurrent()]
    assert "id" not in opened(report.held)


def test_an_old_turn_is_not_current() -> None:
    """C074: a checkpoint from an old closure raises and asks nobody."""
    turns: list[Any] = []
    offered: list[Any] = []

    def play(turn: Any) -> Iterable[Event]:
        turns.append(turn)
        yield Event.result("r")

    run(Keeping(play), lambda *args: offered.append(args))
    with pytest.raises(NotCurrent):
        turns[0].checkpoint("sid")
    assert offered == []


def test_a_raising_checkpoint_session() -> None:
    """C191: a raise in `checkpoint_session` fails the turn as a crash of the worker's."""

    class Broken(Plain):
        def checkpoint_session(self, session: Any, session_id: str) -> Any:
            raise KeyError("secret")

    report = run(Broken(playing(Event.result("r"), ids=("sid",))))
    assert report.outcome == WorkerCrashed("KeyError")


def test_checkpoints_are_no_events() -> None:
    """C191: checkpoints count against no limit."""
    report = run(Keeping(playing(Event.result("r"), ids=("sid",))), max_events_per_turn=1)
    assert isinstance(report.outcome, Response)
    assert report.outcome.event_coverage.observed_events == 1


def test_errors_of_a_turn() -> None:
    """C257: synchronous and terminal errors are the same shape to whoever handles them."""
    assert run(Plain(playing(BackendError("p", "x")))).outcome == BackendError("p", "x")
    assert run(Plain(playing(Event.error(BackendError("p", "x"))))).outcome == BackendError("p", "x")
    assert run(Plain(playing(Event.error("x")))).outcome == BackendFailed("x")
    assert run(Plain(playing())).outcome == NoTerminalEvent()


def test_reset() -> None:
    """C126: a reset gives a new session, or the error and the old one."""

    class Resetting(Plain):
        def reset_session(self, session: Any) -> Any:
            if isinstance(self.play, BaseException):
                raise self.play
            return self.play

    old = {"turns": 3}
    live, sealed, error = run_reset(Resetting({"turns": 0}), old)
    assert (live, opened(sealed), error) == ({"turns": 0}, {"turns": 0}, None)
    for play, reason in (
        (ValueError("secret"), "ValueError"),
        (SystemExit(), "SystemExit"),
        (None, "invalid_reset_result"),
        (BackendError("p", "busy"), "busy"),
        (StartError("no quota"), "no quota"),
        (StartError(), "StartError"),
        (lambda: None, "Unpicklable"),
    ):
        assert run_reset(Resetting(play), old) == (old, None, ResetFailed(reason))
    assert run_reset(Plain(None), old) == (old, None, Unsupported())
