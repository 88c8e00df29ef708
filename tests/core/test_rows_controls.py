"""The rows of the contract's matrix about steering, the worker and the end (C061-C077), in all five
columns.
"""

from __future__ import annotations

from typing import Any

import pytest

from gen_agent.core import signals as on
from gen_agent.core.model import State
from gen_agent.core.signals import Deadline, Tag
from gen_agent.errors import (
    Busy,
    Draining,
    Interrupted,
    NotCurrent,
    RequestNotFound,
    UnknownRequest,
    WatchdogTimeout,
    WorkerCrashed,
)
from gen_agent.sealed import Sealed, SealedRun
from gen_agent.values import Caller
from tests.core.rig import COLUMNS, Rig, rig_in

BUSY = ("P", "PH", "D")
ME = Caller("host", 1, 2)

each = pytest.mark.parametrize("column", COLUMNS)


def after_the_turn(column: str) -> State:
    """Where a turn that began in this column leaves the agent."""
    return {"P": State.IDLE, "PH": State.HALTED, "D": State.STOPPED}[column]


def untouched(rig: Rig, column: str) -> None:
    """Nothing was done in a column without a turn."""
    assert rig.state is {"I": State.IDLE, "H": State.HALTED}[column]
    assert rig.trace == []


@each
def test_interrupt(column: str) -> None:
    """C061: an interrupt kills the active turn's worker, and means nothing where none runs."""
    rig = rig_in(column)
    rig.feed(on.InterruptAsked())
    if column not in BUSY:
        untouched(rig, column)
        return
    assert len(rig.all(on.KillWorker)) == 1
    assert rig.completions(rig.active) == [Interrupted()]
    assert rig.state is after_the_turn(column)


@each
def test_interrupt_request(column: str) -> None:
    """C062, C063: exactly the active ref is interrupted; any other one is not current, or nothing runs."""
    rig = rig_in(column)
    assert rig.call(on.InterruptRequested, rig.ref()) == ("not_current" if column in BUSY else "idle")
    if column in BUSY:
        assert rig.call(on.InterruptRequested, rig.active) == "accepted"
        assert rig.completions(rig.active) == [Interrupted()]
        assert rig.state is after_the_turn(column)


@each
def test_cancel_queued(column: str) -> None:
    """C064: a queued tell is cancelled; draining has refused it before, and that is its outcome."""
    rig = rig_in("P" if column == "D" else column)
    ref = rig.tell("work", "to")
    if column == "D":
        rig.feed(on.DrainAsked("drainer"))
    said = rig.call(on.CancelRequested, ref)
    assert said == {"I": "current", "D": "already_finished"}.get(column, "cancelled")


@each
def test_cancel_active(column: str) -> None:
    """C065: an active tell can't be cancelled any more."""
    rig = rig_in(column)
    said = rig.call(on.CancelRequested, rig.active)
    assert said == ("current" if column in BUSY else "not_found")


@each
def test_halt(column: str) -> None:
    """C066: idle halts at once, a turn halts when it ends, halted and draining don't care."""
    rig = rig_in(column)
    rig.feed(on.HaltAsked())
    assert len(rig.called("post_run")) == (1 if column == "I" else 0)
    status = rig.status()
    assert status.halted == (column in ("I", "H"))
    assert status.halt_pending == (column in ("P", "PH"))


@each
def test_resume(column: str) -> None:
    """C067: halted goes on with its queue, a pending halt is taken back, everything else doesn't care."""
    rig = rig_in(column)
    queued = rig.tell("waiting") if column == "H" else None
    rig.feed(on.ResumeAsked())
    status = rig.status()
    assert (status.halted, status.halt_pending) == (False, False)
    if queued is not None:
        assert status.current_request == queued


@each
def test_drain(column: str) -> None:
    """C068: without a turn the agent ends at once and without `post_run`, with one after it; drains wait
    together.
    """
    rig = rig_in(column)
    rig.feed(on.DrainAsked("me"))
    if column in BUSY:
        assert rig.state is State.DRAINING
        rig.end("done")
    (leave,), (quits,) = rig.all(on.Exit), rig.all(on.Quit)
    assert leave.reason == quits.reason == "normal"
    assert quits.drained == (("drainer", "me") if column == "D" else ("me",))
    assert len(rig.called("post_run")) == (1 if column == "PH" else 0)


@each
def test_reset_session(column: str) -> None:
    """C069: the session is reset where no turn runs."""
    rig = rig_in(column)
    refused = {"P": Busy(), "PH": Busy(), "D": Draining()}.get(column)
    assert rig.call(on.ResetAsked) == refused
    assert len(rig.all(on.ResetWorkerSession)) == (0 if refused else 1)


@each
def test_status_and_snapshot(column: str) -> None:
    """C070: both always answer, and tell the column apart."""
    rig = rig_in(column)
    status, snapshot = rig.status(), rig.snapshot()
    for seen in (status, snapshot):
        assert seen.halted == (column == "H")
        assert seen.halt_pending == (column == "PH")
        assert seen.draining == (column == "D")
    assert status.state == snapshot.phase == ("processing" if column in BUSY else "idle")


@each
def test_stop(column: str) -> None:
    """C071: a stop ends the agent with shutdown, its active turn killed first."""
    rig = rig_in(column)
    rig.feed(on.StopAsked())
    (leave,) = rig.all(on.Exit)
    assert leave.reason == "shutdown"
    assert leave.active == (rig.tag if column in BUSY else None)
    assert rig.state is State.STOPPED
    assert rig.machine.terminated


@each
def test_watchdog(column: str) -> None:
    """C072: the watchdog of the active turn kills its worker; an old one means nothing."""
    rig = rig_in(column, watchdog_s=5.0)
    rig.feed(on.DeadlineReached(Deadline("watchdog", 99)))
    assert rig.all(on.KillWorker) == []
    rig.feed(on.DeadlineReached(Deadline("watchdog", 1)))
    if column in BUSY:
        assert rig.completions(rig.active) == [WatchdogTimeout(5.0)]
        assert rig.state is after_the_turn(column)
    else:
        untouched(rig, column)


@each
@pytest.mark.parametrize("word", ["result", "death"])
def test_the_worker_ends_the_turn(column: str, word: str) -> None:
    """C073: the worker's result or death ends its turn, and a late one changes nothing."""
    rig = rig_in(column)
    tag = rig.tag if column in BUSY else Tag(rig.ref(), 1, 1)
    assert tag is not None
    error = WorkerCrashed("SIGSEGV")
    event: Any = on.WorkerDied(tag, error) if word == "death" else on.TurnEnded(tag, error)
    rig.feed(event)
    if column not in BUSY:
        untouched(rig, column)
        return
    assert rig.completions(rig.active) == [error]
    assert rig.state is after_the_turn(column)
    before = len(rig.trace)
    rig.feed(event)
    assert len(rig.trace) == before


@each
def test_checkpoint(column: str) -> None:
    """C074: a checkpoint is accepted from the active turn only."""
    rig = rig_in(column)
    rig.feed(on.CheckpointAsked(Tag(rig.ref(), 1, 1), "id", True, Sealed.of("s")))
    if column in BUSY:
        assert rig.tag is not None
        rig.feed(on.CheckpointAsked(rig.tag, "id", True, Sealed.of("s")))
    answers = [effect.error for effect in rig.all(on.AnswerCheckpoint)]
    assert answers == [NotCurrent()] + ([None] if column in BUSY else [])


@each
def test_stream_event(column: str) -> None:
    """C075: an event is forwarded only if ref, attempt and turn match the active turn."""
    rig = rig_in(column, stream_to="viewer")
    active = rig.tag if column in BUSY else None
    run, ref = SealedRun(b"x", 1), rig.active
    for tag in (Tag(rig.ref(), 1, 1), Tag(ref, 2, 1), Tag(ref, 1, 2)):
        rig.feed(on.EventsStreamed(tag, run))
    assert rig.all(on.Relay) == []
    if active is not None:
        rig.feed(on.EventsStreamed(active, run))
        assert rig.all(on.Relay) == [on.Relay("viewer", ref, 1, run, False)]


@each
def test_unknown_call(column: str) -> None:
    """C076: a call nobody knows is answered so."""
    assert rig_in(column).call(on.UnknownAsked) == UnknownRequest()


@each
def test_caller_dies(column: str) -> None:
    """C077: a dead caller's queued asks are dropped and their room is free; its active ask runs on."""
    rig = rig_in(column, max_pending_prompts=2)
    asked = [rig.ask("one", caller=ME), rig.ask("two", caller=ME)]
    rig.feed(on.CallerDied(ME))
    assert rig.snapshot().pending_prompts == 0
    dropped = {"I": asked[1:], "D": []}.get(column, asked)
    cancelled = rig.told("turn.cancelled")
    assert [told.about["ref"] for told in cancelled] == dropped
    assert {told.about["reason_kind"] for told in cancelled} <= {"caller_down"}
    assert all(rig.poll(ref) == RequestNotFound(ref) for ref in dropped)
    if dropped:
        assert rig.all(on.UnwatchCaller) == [on.UnwatchCaller(ME)]
