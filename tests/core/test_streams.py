"""Relayed events and the deadlines of a turn (C175-C184)."""

from __future__ import annotations

from typing import Any

import pytest

from gen_agent.core import signals as on
from gen_agent.core.signals import Deadline, Relay
from gen_agent.errors import EventCaptureOverflow, Interrupted, NoTerminalEvent, WatchdogTimeout
from gen_agent.sealed import SealedRun
from tests.core.rig import Rig, rig_in

RUN = SealedRun(b"events", 2)


def stream(rig: Rig, run: SealedRun = RUN) -> None:
    assert rig.tag is not None
    rig.feed(on.EventsStreamed(rig.tag, run))


def test_off_by_default() -> None:
    """C175: without a stream recipient events go nowhere."""
    rig = rig_in("P")
    stream(rig)
    assert rig.all(Relay) == []


@pytest.mark.parametrize("batch", [False, True])
def test_runs_are_forwarded_unopened(batch: bool) -> None:
    """C175, C176, C243: runs go on as they are, with ref and attempt, before the completion."""
    rig = Rig()
    ref = rig.submit("x", "to", stream_to="to", stream_batch=batch)
    stream(rig)
    stream(rig)
    rig.end()
    sent = [effect for effect in rig.trace if isinstance(effect, (on.Admit, Relay, on.Complete))]
    assert [type(effect) for effect in sent] == [on.Admit, Relay, Relay, on.Complete]
    assert sent[1] == Relay("to", ref, 1, RUN, batch)


def test_requests_stream_when_they_run() -> None:
    """C177: each request streams its own turn's events to its own recipient."""
    rig = Rig()
    refs = [rig.tell("a", "to", stream_to="one"), rig.tell("b", "to", stream_to="two"), rig.tell("c", "to")]
    for _ in refs:
        stream(rig)
        rig.end()
    assert [(effect.recipient, effect.ref) for effect in rig.all(Relay)] == [
        ("one", refs[0]),
        ("two", refs[1]),
    ]


def test_nothing_after_the_end() -> None:
    """C179, C180: late or forged events are dropped, whatever part of their tag is wrong, and go to
    nobody.
    """
    rig = Rig()
    rig.tell("a", "to", stream_to="viewer")
    old = rig.tag
    assert old is not None
    rig.end()
    rig.tell("b", "to", stream_to="viewer")
    tag = rig.tag
    assert tag is not None
    for wrong in (
        old,
        on.Tag(old.ref, 1, tag.turn),
        on.Tag(tag.ref, 2, tag.turn),
        on.Tag(tag.ref, 1, old.turn),
    ):
        rig.feed(on.EventsStreamed(wrong, RUN))
    assert rig.all(Relay) == []
    assert rig.called("handle_event") == []


def test_nothing_from_a_dying_worker() -> None:
    """C179: once a turn is being killed its events are not forwarded any more."""
    rig = rig_in("P", stream_to="viewer")
    assert rig.tag is not None
    rig.machine.step(on.InterruptAsked(), 1.0)
    assert rig.machine.step(on.EventsStreamed(rig.tag, RUN), 2.0) == ()


@pytest.mark.parametrize("how", ["cancelled", "skipped", "halted", "overloaded", "refused", "failed"])
def test_requests_that_never_stream(how: str) -> None:
    """C178: a request that never runs, or fails at once, relays nothing and leaves nothing behind."""
    rig = rig_in(
        "I" if how in ("skipped", "refused", "failed") else "P", max_pending_prompts=int(how != "overloaded")
    )
    if how == "skipped":
        rig.plan("pre_turn", RuntimeError())
    rig.worker = how != "refused"
    ref = rig.tell("x", "to", stream_to="viewer", on_halt="fail" if how == "halted" else "queue")
    if how == "cancelled":
        rig.call(on.CancelRequested, ref)
    elif how == "halted":
        rig.feed(on.HaltAsked())
        rig.end()
    elif how == "refused":
        assert rig.tag is not None
        rig.feed(on.TurnRefused(rig.tag, "no fork"))
    elif how == "failed":
        rig.end(NoTerminalEvent())
    if rig.tag is not None:
        rig.feed(on.EventsStreamed(rig.tag, RUN))
    assert rig.all(Relay) == []


def test_watchdog_counts_from_processing() -> None:
    """C182: the deadline is set when the turn is dispatched, not while the request waits, and cleared at
    its end.
    """
    rig = Rig(watchdog_s=5.0)
    rig.ask("a")
    rig.ask("b")
    assert rig.all(on.SetDeadline) == [on.SetDeadline(Deadline("watchdog", 1), 5.0)]
    rig.end()
    assert rig.all(on.ClearDeadline) == [on.ClearDeadline(Deadline("watchdog", 1))]
    assert rig.all(on.SetDeadline)[1:] == [on.SetDeadline(Deadline("watchdog", 2), 5.0)]


def test_no_watchdog() -> None:
    """C182: None disables it."""
    rig = Rig(watchdog_s=None)
    rig.ask()
    rig.end()
    assert rig.all(on.SetDeadline) == rig.all(on.ClearDeadline) == []


def test_watchdog_ends_the_turn() -> None:
    """C183: on expiry the worker is killed, the request ends with its limit, and the agent is usable."""
    rig = Rig(watchdog_s=5.0)
    ref = rig.ask()
    rig.feed(on.DeadlineReached(Deadline("watchdog", 1)))
    assert rig.asked(ref) == WatchdogTimeout(5.0, False)
    next_one = rig.ask("next")
    rig.end("fine")
    assert rig.asked(next_one).text == "fine"


def test_an_old_deadline() -> None:
    """C182, C138: a deadline of an earlier turn or attempt means nothing."""
    rig = Rig()
    rig.ask("a")
    rig.ask("b")
    rig.end()
    rig.feed(on.DeadlineReached(Deadline("watchdog", 1)))
    rig.feed(on.DeadlineReached(Deadline("paced", 2)))
    assert rig.all(on.KillWorker) == []


def test_idle_watchdog() -> None:
    """C183: the idle deadline counts from the worker's start and from each event, also when nobody
    streams.
    """
    rig = Rig(idle_watchdog_s=2.0, watchdog_s=None)
    rig.worker = False
    ref = rig.ask()
    assert rig.all(on.SetDeadline) == []
    assert rig.tag is not None
    rig.feed(on.TurnStarted(rig.tag))
    stream(rig, SealedRun(b"", 0))
    assert rig.all(on.SetDeadline) == [on.SetDeadline(Deadline("idle", 1), 2.0)] * 2
    rig.feed(on.DeadlineReached(Deadline("idle", 1)))
    assert rig.asked(ref) == WatchdogTimeout(2.0, True)
    assert rig.all(on.ClearDeadline) == [on.ClearDeadline(Deadline("idle", 1))]


def test_a_sign_of_life_is_not_relayed() -> None:
    """C175: an empty run only proves that the backend lives."""
    rig = rig_in("P", stream_to="viewer")
    stream(rig, SealedRun(b"", 0))
    assert rig.all(Relay) == []


def test_the_first_cause_wins() -> None:
    """C119, C183: a watchdog that fires while an interrupt is under way changes nothing, and the other
    way round.
    """
    for events, error in (
        ((on.InterruptAsked(), on.DeadlineReached(Deadline("watchdog", 1))), Interrupted()),
        ((on.DeadlineReached(Deadline("watchdog", 1)), on.InterruptAsked()), WatchdogTimeout(600.0)),
    ):
        rig = rig_in("P")
        tag = rig.tag
        assert tag is not None
        effects: list[Any] = [effect for event in events for effect in rig.machine.step(event, 1.0)]
        assert effects == [on.KillWorker(tag)]
        rig.feed(on.WorkerKilled(tag))
        assert rig.completions(rig.active) == [error]


def test_elapsed_is_an_observation() -> None:
    """C184, C004: the snapshot shows the configured limit and the time since the turn was dispatched."""
    rig = rig_in("P")
    rig.now += 100.0
    current = rig.snapshot().current_request
    assert current is not None
    assert current.watchdog_s == 600.0
    assert current.elapsed_s > 100.0


def test_an_interrupt_before_an_overflow_wins() -> None:
    """C169: an overflow that comes while the turn is being interrupted is no outcome any more."""
    rig = rig_in("P", event_retention="lossless")
    tag = rig.tag
    assert tag is not None
    rig.machine.step(on.InterruptAsked(), 1.0)
    assert rig.machine.step(on.TurnEnded(tag, EventCaptureOverflow("events")), 2.0) == ()
    rig.feed(on.WorkerKilled(tag))
    assert rig.completions(rig.active) == [Interrupted()]
