"""The session and its checkpoints as the agent keeps them (C185-C191)."""

from __future__ import annotations

from typing import Any

import pytest

from gen_agent.core import signals as on
from gen_agent.core.signals import Deadline
from gen_agent.errors import (
    ConflictingSessionId,
    GenAgentError,
    Interrupted,
    InvalidSessionId,
    NotCurrent,
    NoTerminalEvent,
    UnsupportedCheckpoint,
    WatchdogTimeout,
    WorkerCrashed,
)
from gen_agent.sealed import Sealed
from tests.core.rig import Rig, rig_in

KEPT = Sealed.of("kept")


def offer(rig: Rig, session_id: Any = "sid", supported: bool = True) -> Any:
    assert rig.tag is not None
    rig.feed(on.CheckpointAsked(rig.tag, session_id, supported, KEPT if supported else None))
    return rig.all(on.AnswerCheckpoint)[-1].error


def next_session(rig: Rig) -> Any:
    """What the next turn starts from."""
    rig.ask("next")
    return rig.all(on.StartTurn)[-1].session.open()


def test_the_session_goes_from_turn_to_turn() -> None:
    """C185: each turn starts from what the last one left, and the end closes the newest."""
    rig = Rig()
    for number in (1, 2):
        rig.ask("x")
        rig.end("r", session=Sealed.of(f"session {number}"))
    rig.feed(on.StopAsked())
    assert [effect.session.open() for effect in rig.all(on.StartTurn)] == ["session 0", "session 1"]
    (closed,) = rig.all(on.CloseSession)
    assert closed.session.open() == "session 2"


def test_versions_tell_what_a_worker_holds() -> None:
    """C185: the version grows with each change and stays where nothing changed."""
    rig = Rig()
    versions = []
    for session in (None, Sealed.of("a"), None):
        rig.ask("x")
        rig.end("r", session=session)
        versions.append(rig.machine.session_version)
    assert versions == [1, 2, 2]
    assert [effect.session_version for effect in rig.all(on.StartTurn)] == [1, 1, 2]


def test_answers_to_checkpoints() -> None:
    """C188: unsupported, invalid, accepted, the same, conflicting; not current for another turn."""
    assert offer(rig_in("P"), supported=False) == UnsupportedCheckpoint()
    assert offer(rig_in("P"), "") == InvalidSessionId()
    rig = rig_in("P")
    assert (offer(rig), offer(rig), offer(rig, "other")) == (None, None, ConflictingSessionId())
    old = rig.tag
    assert old is not None
    rig.end()
    rig.ask("next")
    rig.feed(on.CheckpointAsked(old, "sid", True, KEPT))
    assert rig.all(on.AnswerCheckpoint)[-1] == on.AnswerCheckpoint(old, NotCurrent())


@pytest.mark.parametrize(
    ("end", "error"),
    [
        ("result", ConflictingSessionId()),
        ("error", ConflictingSessionId()),
        ("death", ConflictingSessionId()),
        ("interrupt", Interrupted()),
        ("watchdog", WatchdogTimeout(600.0)),
        ("alarm", WatchdogTimeout(600.0)),
    ],
)
def test_a_refused_checkpoint_fails_the_turn(end: str, error: GenAgentError) -> None:
    """C189: the first refusal fails even a result and replaces error and crash, but not interrupt and
    timeout.
    """
    rig = rig_in("P")
    offer(rig)
    offer(rig, "other")
    offer(rig, "")
    finish(rig, end)
    assert rig.completions(rig.active) == [error]
    assert next_session(rig) == "kept"


def finish(rig: Rig, end: str) -> None:
    tag = rig.tag
    assert tag is not None
    if end == "result":
        rig.end("r")
    elif end == "error":
        rig.end(NoTerminalEvent())
    elif end == "death":
        rig.feed(on.WorkerDied(tag, WorkerCrashed("SIGSEGV")))
    elif end == "alarm":
        rig.feed(on.WorkerDied(tag, WatchdogTimeout(600.0)))
    else:
        event = on.InterruptAsked() if end == "interrupt" else on.DeadlineReached(Deadline("watchdog", 1))
        rig.feed(event)


@pytest.mark.parametrize("end", ["error", "death", "interrupt", "watchdog", "alarm"])
def test_an_accepted_checkpoint_survives(end: str) -> None:
    """C190: whatever becomes of the turn, the next one starts from the accepted session."""
    rig = rig_in("P")
    offer(rig)
    finish(rig, end)
    assert next_session(rig) == "kept"


@pytest.mark.parametrize("end", ["death", "interrupt", "watchdog"])
def test_without_one_the_session_stays(end: str) -> None:
    """C095: crash, interrupt and watchdog leave the session as it was before the turn."""
    rig = rig_in("P")
    finish(rig, end)
    assert next_session(rig) == "session 0"


def test_not_current_is_no_fault() -> None:
    """C074, C189: a checkpoint that was not current does not fail the turn it was not of."""
    rig = rig_in("P")
    rig.feed(on.CheckpointAsked(on.Tag(rig.active, 2, 1), "sid", True, KEPT))
    rig.end("fine")
    assert rig.completions(rig.active)[0].text == "fine"


def test_a_killed_turn_keeps_no_more_checkpoints() -> None:
    """C074: while its worker is being killed, a turn's checkpoint is not current any more."""
    rig = rig_in("P")
    assert rig.tag is not None
    rig.machine.step(on.InterruptAsked(), 1.0)
    (answer,) = rig.machine.step(on.CheckpointAsked(rig.tag, "sid", True, KEPT), 2.0)
    assert answer.error == NotCurrent()  # type: ignore[union-attr]
