"""Requests by ref: cancel, interrupt, poll, callers that die, refs that are known (C105-C126, C195-C209)."""

from __future__ import annotations

from gen_agent.agent import Prompt
from gen_agent.core import signals as on
from gen_agent.core.model import State
from gen_agent.errors import (
    Cancelled,
    Interrupted,
    NoTerminalEvent,
    RequestNotFound,
)
from gen_agent.values import PENDING, Caller, RequestRef
from tests.core.rig import Rig, rig_in
from tests.core.rig_agents import short

ME, YOU = Caller("host", 1, 2), Caller("host", 3, 4)


def test_tell_is_answered_before_its_outcome() -> None:
    """C110: an idle tell is answered with its ref in the step that starts its turn."""
    rig = Rig()
    ref = rig.tell("x", "to")
    assert rig.asked(ref) == ref
    assert rig.completions(ref) == []


def test_one_completion() -> None:
    """C112, C114: one completion per accepted request, with the response and its pickle."""
    rig = rig_in("P")
    rig.end("done")
    (complete,) = rig.all(on.Complete)
    assert (complete.recipient, complete.ref, complete.outcome.text) == ("owner", rig.active, "done")
    assert complete.sealed is not None
    assert complete.sealed.open() == complete.outcome


def test_completion_needs_no_cache() -> None:
    """C113, C160: without room in the cache completions are sent all the same."""
    rig = Rig(max_tell_results=0)
    ref = rig.tell("x", "to")
    rig.end("done")
    assert len(rig.completions(ref)) == 1
    assert rig.poll(ref) == RequestNotFound(ref)


def test_poll_does_not_consume() -> None:
    """C117: a finished tell polls the same for ever, with the pickle it came with."""
    rig = rig_in("P")
    rig.end("done")
    assert rig.poll(rig.active) == rig.poll(rig.active)
    assert rig.all(on.Answer)[-1].sealed is not None
    rig.tell("fails")
    failed = rig.tag
    assert failed is not None
    rig.end(NoTerminalEvent())
    assert rig.poll(failed.ref) == NoTerminalEvent()


def test_poll_of_asks() -> None:
    """C118: an ask's ref is pending while it is active or queued, and unknown afterwards."""
    rig = Rig()
    active, queued = rig.ask("a"), rig.ask("b")
    assert (rig.poll(active), rig.poll(queued)) == (PENDING, PENDING)
    rig.end()
    assert rig.poll(active) == RequestNotFound(active)


def test_interrupts_miss_the_next_turn() -> None:
    """C111, C119: an interrupt of an idle agent means nothing to the next turn, nor does an old ref."""
    rig = Rig()
    rig.feed(on.InterruptAsked())
    ref = rig.ask("x")
    assert rig.call(on.InterruptRequested, RequestRef("another agent", 1)) == "not_current"
    assert rig.state is State.PROCESSING
    rig.end("fine")
    assert rig.asked(ref).text == "fine"


def test_interrupt_request_of_any_origin() -> None:
    """C120, C245: event turns can be interrupted too; the answer leaves after callbacks and completion."""
    rig = Rig().plan("handle_event", lambda event, state: Prompt("follow", state))
    rig.notify("e")
    assert rig.tag is not None
    assert rig.call(on.InterruptRequested, rig.tag.ref) == "accepted"
    rig = rig_in("P")
    seen = short(rig.feed(on.InterruptRequested("me", rig.active)))
    assert seen.index("post_turn") < seen.index("Complete") < seen.index("Answer")


def test_one_outcome_when_result_and_interrupt_race() -> None:
    """C121: a result that comes while its worker is being killed is no outcome any more; one before it is."""
    rig = rig_in("P")
    tag = rig.tag
    assert tag is not None
    (kill,) = rig.machine.step(on.InterruptRequested("me", rig.active), 1.0)
    assert isinstance(kill, on.KillWorker)
    assert rig.machine.step(on.TurnEnded(tag, NoTerminalEvent()), 2.0) == ()
    assert rig.machine.step(on.InterruptRequested("you", rig.active), 3.0) == ()
    rig.feed(on.WorkerKilled(tag))
    assert rig.completions(rig.active) == [Interrupted()]
    assert [effect.by for effect in rig.all(on.Answer)] == ["me", "you"]
    rig = rig_in("P")
    rig.end("in time")
    assert rig.call(on.InterruptRequested, rig.active) == "idle"
    assert len(rig.completions(rig.active)) == 1


def test_cancel_cases() -> None:
    """C122: active, finished, queued, unknown, asks and event prompts, in the contract's order."""
    rig = rig_in("P").plan("handle_event", lambda event, state: Prompt("follow", state))
    queued, asked = rig.tell("b", "to"), rig.ask("c")
    cancel = lambda ref: rig.call(on.CancelRequested, ref)  # noqa: E731
    assert cancel(rig.active) == "current"
    assert (cancel(queued), cancel(queued)) == ("cancelled", "cancelled")
    assert (cancel(asked), cancel(rig.ref())) == ("not_found", "not_found")
    rig.end()
    assert cancel(rig.active) == "already_finished"
    assert cancel(asked) == "not_found"
    assert rig.completions(queued) == [Cancelled()]
    assert len(rig.told("turn.cancelled")) == 1


def test_cancel_is_complete_when_answered() -> None:
    """C123, C225, C245: room, cache, completion and telemetry come before the answer; no callback runs."""
    rig = rig_in("P", max_pending_prompts=1)
    ref = rig.tell("b", "to", stream_to="viewer")
    seen = short(rig.feed(on.CancelRequested("me", ref)))
    assert seen == ["turn.cancelled", "Complete", "Answer"]
    about = rig.told("turn.cancelled")[0].about
    assert about == {
        "agent": "n", "ref": ref, "attempt": 1, "origin": "tell", "reason_kind": "caller_cancelled",
    }  # fmt: skip
    assert rig.poll(ref) == Cancelled()
    following = rig.tell("next")
    assert rig.asked(following) == following
    assert rig.snapshot().pending_prompts == 1


def test_cancel_after_eviction() -> None:
    """C124: once its tombstone is evicted a cancelled ref is unknown."""
    rig = rig_in("P", max_tell_results=1)
    ref = rig.tell("b")
    rig.call(on.CancelRequested, ref)
    rig.end()
    assert rig.call(on.CancelRequested, ref) == "not_found"


def test_callers_are_watched_while_they_wait() -> None:
    """C108: one watch per process with queued asks, given up when the last of them leaves the queue."""
    rig = rig_in("P")
    rig.ask("a", caller=ME)
    rig.ask("b", caller=ME)
    rig.ask("c", caller=YOU)
    assert rig.all(on.WatchCaller) == [on.WatchCaller(ME), on.WatchCaller(YOU)]
    rig.end()
    assert rig.all(on.UnwatchCaller) == []
    rig.end()
    assert rig.all(on.UnwatchCaller) == [on.UnwatchCaller(ME)]
    rig.feed(on.DrainAsked("me"))
    assert rig.all(on.UnwatchCaller) == [on.UnwatchCaller(ME), on.UnwatchCaller(YOU)]


def test_a_dead_caller_frees_its_room() -> None:
    """C077, C107, C108: the dead caller's queued asks go, others stay, its active ask runs on."""
    rig = Rig(max_pending_prompts=2)
    active = rig.ask("active", caller=ME)
    rig.ask("dropped", caller=ME)
    kept = rig.ask("kept", caller=YOU)
    rig.feed(on.CallerDied(ME))
    assert rig.snapshot().pending_prompts == 1
    about = rig.told("turn.cancelled")[0].about
    assert (about["reason_kind"], about["origin"]) == ("caller_down", "ask")
    rig.end("fine")
    rig.end("fine")
    assert rig.started() == ["active", "kept"]
    assert (rig.asked(active).text, rig.asked(kept).text) == ("fine", "fine")
    rig.feed(on.CallerDied(YOU))
    assert len(rig.told("turn.cancelled")) == 1


def test_halt_and_resume_have_no_answer() -> None:
    """C125: halt and resume take effect when they are handled, and answer nobody."""
    rig = rig_in("P")
    rig.feed(on.HaltAsked())
    assert rig.status().halt_pending
    rig.trace.clear()
    rig.feed(on.ResumeAsked())
    assert rig.trace == []


def test_what_waits_behind_an_interrupt() -> None:
    """C061, C120, C239: what was sent after an interrupt is handled after it, also when all of it had to
    wait.
    """
    rig = Rig(boot=False)
    first, second = rig.tell("first", "to"), rig.ref()
    interrupts = object(), object()
    for event in (
        on.InterruptRequested(interrupts[0], first),
        on.InterruptRequested(interrupts[1], first),
        on.Told(("tell", second), second, "second", 6),
    ):
        rig.feed(event)
    rig.boot()
    assert [rig.answer(by) for by in interrupts] == ["accepted", "idle"]
    assert rig.started() == ["first", "second"]
    assert rig.told("mailbox.queued") == []
