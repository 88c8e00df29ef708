"""Admissions, resets, and refs that are known already (C111, C126, C195-C209)."""

from __future__ import annotations

from typing import Any

import pytest

from gen_agent.core import signals as on
from gen_agent.core.model import State
from gen_agent.core.signals import Tag
from gen_agent.errors import (
    ResetFailed,
    UnknownRequest,
    Unsupported,
)
from gen_agent.sealed import Sealed
from gen_agent.values import PENDING
from tests.core.rig import Rig, rig_in
from tests.core.rig_agents import short


def test_a_ref_names_one_request() -> None:
    """C111: a ref that is active, queued, waiting or finished is refused a second time, and nothing is
    run twice.
    """
    rig = rig_in("P")
    queued = rig.tell("b")
    for ref in (rig.active, queued):
        rig.feed(on.Asked("again", ref, "x", 1))
        rig.feed(on.Submitted(ref, "x", 1, "to"))
    assert [effect.error for effect in rig.all(on.Answer) if effect.by == "again"] == [UnknownRequest()] * 2
    assert rig.all(on.Admit) == []
    rig.end()
    rig.end()
    rig.feed(on.Submitted(queued, "x", 1, "to"))
    assert rig.started() == ["b"]
    assert rig.all(on.Admit) == []


@pytest.mark.parametrize("halted", [False, True])
@pytest.mark.parametrize(
    ("session", "error"),
    [
        (Sealed.of("fresh"), None),
        (None, Unsupported()),
        (None, ResetFailed("ValueError")),
        (None, ResetFailed("invalid_reset_result")),
    ],
)
def test_reset_session(halted: bool, session: Sealed | None, error: Any) -> None:
    """C126: a good reset replaces the session, a failed one keeps it; queue and callback state are
    untouched.
    """
    rig = rig_in("H" if halted else "I")
    if halted:
        rig.tell("queued")
    rig.feed(on.ResetAsked("me"))
    assert rig.all(on.ResetWorkerSession) == [on.ResetWorkerSession("me", Sealed.of("session 0"), 1)]
    rig.ask("meanwhile")
    rig.notify("meanwhile")
    assert rig.called("handle_event") == []
    rig.feed(on.ResetEnded("me", session, error))
    assert rig.answer("me") == error
    assert rig.state is (State.HALTED if halted else State.PROCESSING)
    rig.feed(on.ResumeAsked())
    assert rig.all(on.StartTurn)[0].session == (session or Sealed.of("session 0"))


def test_a_stop_during_a_reset() -> None:
    """C071, C126: a stop doesn't wait for a reset, and a late end of it changes nothing."""
    rig = Rig()
    rig.feed(on.ResetAsked("me"))
    rig.feed(on.StopAsked())
    assert rig.machine.terminated
    assert rig.machine.step(on.ResetEnded("me", Sealed.of("late"), None), 9.0) == ()


def test_admission_waits_for_a_worker() -> None:
    """C198, C200: an idle submit is admitted once a worker has it, before any event or completion."""
    rig = Rig()
    rig.worker = False
    ref = rig.submit("x")
    assert rig.admissions(ref) == []
    assert rig.tag is not None
    rig.feed(on.TurnStarted(rig.tag))
    assert rig.admissions(ref) == [None]
    rig.end()
    sent = [type(effect) for effect in rig.trace if isinstance(effect, (on.Admit, on.Complete))]
    assert sent == [on.Admit, on.Complete]


def test_admission_without_a_worker() -> None:
    """C201: a submit for which no worker can be had completes with the error first and is admitted then."""
    rig = Rig()
    rig.worker = False
    rig.submit("x")
    assert rig.tag is not None
    rig.feed(on.TurnRefused(rig.tag, "no fork"))
    sent = [type(effect) for effect in rig.trace if isinstance(effect, (on.Admit, on.Complete))]
    assert sent == [on.Complete, on.Admit]


def test_no_admission_from_a_dying_agent() -> None:
    """C203: if the agent ends first neither admission nor completion comes."""
    rig = Rig()
    rig.worker = False
    ref = rig.submit("x")
    rig.feed(on.StopAsked())
    assert rig.admissions(ref) == rig.completions(ref) == []


def test_submits_are_bounded_when_they_are_handled() -> None:
    """C205: of ten submits one runs, the queue takes what fits, and the rest is refused in its admission."""
    rig = Rig(max_pending_prompts=1)
    refs = [rig.submit(f"{number}") for number in range(10)]
    errors = [rig.admissions(ref)[0] for ref in refs]
    assert errors[:2] == [None, None]
    assert {error.code for error in errors[2:]} == {"overloaded"}


def test_a_submit_that_is_cancelled_at_once() -> None:
    """C209: an idle agent dispatches first, so that a cancel finds the request active."""
    rig = Rig()
    assert rig.call(on.CancelRequested, rig.submit("x")) == "current"


def test_nothing_is_heard_by_a_stopped_agent() -> None:
    """C104: a call that comes while the agent ends has no answer from it; its caller sees it die."""
    rig = Rig()
    rig.machine.step(on.StopAsked(), 1.0)
    for event in (on.StatusAsked("me"), on.Asked("me", rig.ref(), "x", 1), on.Polled("me", rig.ref())):
        assert rig.machine.step(event, 2.0) == ()
    assert rig.machine.step(on.TurnStarted(Tag(rig.ref(), 1, 1)), 3.0) == ()


def test_a_submit_creates_nothing() -> None:
    """C206: a submit, running or queued, watches nobody and sets no timer but its turn's."""
    rig = rig_in("P")
    rig.submit("queued")
    assert short(tuple(rig.trace)) == ["mailbox.queued", "Admit"]


def test_a_poll_behind_a_submit() -> None:
    """C208: a ref is unknown until its submit was handled; a poll that comes after it waits its turn and
    finds it.
    """
    rig = Rig(boot=False)
    ref = rig.submit("x")
    by = object()
    rig.feed(on.Polled(by, ref))
    assert rig.answer(by) is None
    rig.boot()
    assert rig.answer(by) is PENDING
    assert rig.poll(rig.ref()).code == "not_found"
