"""What happens when a turn ends, in which order, and what a failing callback means (C035-C050, C090-C098)."""

from __future__ import annotations

from typing import Any

import pytest

from gen_agent.agent import Halt, NoReply, Prompt
from gen_agent.core import signals as on
from gen_agent.core.model import State
from gen_agent.core.signals import Tag
from gen_agent.errors import (
    BackendError,
    BackendFailed,
    ConflictingSessionId,
    EventCaptureOverflow,
    Interrupted,
    NoTerminalEvent,
    RequestNotFound,
    Unsupported,
    WatchdogTimeout,
    WorkerCrashed,
)
from gen_agent.sealed import Sealed
from gen_agent.values import PENDING, RequestRef
from tests.core.rig import Rig, halts, rig_in
from tests.core.rig_agents import InfoAgent, StreamAgent, short

ENDINGS = ["prompt.stop", "turn.stop", "handle_response", "post_turn"]
FAILINGS = ["prompt.error", "turn.error", "handle_error", "post_turn"]


def words(trace: tuple[Any, ...]) -> list[str]:
    return [word for word in short(trace) if word not in ("ClearDeadline", "Conclude", "SetDeadline")]


def test_success_of_a_tell() -> None:
    """C090, C091, C241, C247: telemetry, decision, `post_turn`, completion, deferred notifications, idle."""
    rig = rig_in("P")
    rig.notify("e")
    seen = words(rig.end())
    assert seen == [*ENDINGS, "Complete", "handle_event", "state.changed"]


def test_success_of_an_ask() -> None:
    """C090, C091: the answer to an ask leaves after deferred notifications and `post_run`."""
    rig = Rig()
    ref = rig.ask()
    rig.notify("e")
    rig.feed(on.HaltAsked())
    seen = words(rig.end())
    assert seen == [*ENDINGS, "handle_event", "post_run", "halted", "Answer", "state.changed"]
    assert rig.asked(ref).text == "ok"


def test_failure() -> None:
    """C092: a failing turn goes the same way, with its own telemetry and `handle_error`."""
    rig = rig_in("P")
    assert words(rig.end(NoTerminalEvent())) == [*FAILINGS, "Complete", "state.changed"]


def test_deferred_before_the_next_dispatch() -> None:
    """C241: the next turn's `pre_turn` sees what all deferred notifications did."""
    rig = rig_in("P")
    rig.tell("next")
    for event in "abcde":
        rig.notify(event)
    rig.end("r")
    assert rig.called("pre_turn")[-1] == ("next", ("r", *"abcde"))


def test_events_and_messages_share_one_fifo() -> None:
    """C242: deferred notifications and ordinary messages are handled in the order they came."""
    rig = rig_in("P", InfoAgent)
    rig.notify("a")
    rig.info("b")
    rig.notify("c")
    rig.end("r")
    assert rig.status().agent_state == ("r", "a", "b", "c")


@pytest.mark.parametrize(
    "error",
    [
        BackendError("p", "down"),
        BackendFailed("bad"),
        NoTerminalEvent(),
        EventCaptureOverflow("events"),
        WorkerCrashed("normal"),
        ConflictingSessionId(),
    ],
)
def test_every_failure_reaches_handle_error(error: Any) -> None:
    """C037, C257: each kind of failed turn reaches `handle_error` once, with its ref, and the agent is
    idle.
    """
    rig = rig_in("P")
    rig.end(error)
    assert [(ref, seen) for ref, seen, _ in rig.called("handle_error")] == [(rig.active, error)]
    assert rig.completions(rig.active) == [error]
    assert rig.state is State.IDLE


def test_post_turn_only_changes_state() -> None:
    """C042: `post_turn` sees the decision's state and outcome, and what it returns is kept."""
    rig = rig_in("P").plan("post_turn", lambda outcome, ref, state: (*state, "post"))
    rig.end("r")
    ((outcome, ref, state),) = rig.called("post_turn")
    assert (outcome.text, ref, state) == ("r", rig.active, ("r",))
    assert rig.status().agent_state == ("r", "post")


def test_post_turn_is_not_for_what_never_ran() -> None:
    """C043: no `post_turn` for cancelled, halted or drained requests."""
    rig = rig_in("P")
    rig.call(on.CancelRequested, rig.tell("cancelled"))
    rig.tell("fails", on_halt="fail")
    rig.feed(on.HaltAsked())
    rig.end()
    rig.tell("drained")
    rig.feed(on.DrainAsked("me"))
    assert [ref for _, ref, _ in rig.called("post_turn")] == [rig.active]


def test_info_prompts() -> None:
    """C040: what `handle_info` prompts is an event-origin turn; it gets message, sender and state."""
    rig = Rig(InfoAgent).plan("handle_info", lambda message, sender, state: Prompt("follow", state))
    rig.info("tick")
    assert rig.called("handle_info") == [("tick", "sender", ())]
    assert rig.snapshot().current_request.origin == "event"  # type: ignore[union-attr]


def test_generated_turns_have_no_owner() -> None:
    """C094, C118: an event turn's ref is pending while it runs and unknown afterwards; it answers nobody."""
    rig = Rig().plan("handle_event", lambda event, state: Prompt("follow", state))
    rig.notify("e")
    assert rig.tag is not None
    assert rig.poll(rig.tag.ref) is PENDING
    before = len(rig.all(on.Answer))
    rig.end()
    assert rig.poll(rig.tag.ref) == RequestNotFound(rig.tag.ref)
    assert len(rig.all(on.Answer)) == before + 1
    assert rig.all(on.Complete) == []


def test_stream_state_comes_back() -> None:
    """C035, C096: the callbacks see the state the stream callbacks left; without one it is what it was."""
    rig = Rig(StreamAgent)
    rig.tell("x")
    (start,) = rig.all(on.StartTurn)
    assert start.state == Sealed.of(())
    rig.end("r", state=Sealed.of(("text", "result")))
    assert rig.called("handle_response")[0][2] == ("text", "result")
    rig.tell("y")
    rig.feed(on.InterruptAsked())
    assert rig.called("handle_error")[0][2] == ("text", "result", "r")


def test_state_that_can_not_be_opened() -> None:
    """C096: a state that can't be opened fails the turn, and the old one stays."""
    rig = Rig(StreamAgent)
    ref = rig.tell("x", "to")
    rig.end("r", state=Sealed(b"junk"))
    (outcome,) = rig.completions(ref)
    assert outcome.code == "undecodable"
    assert rig.status().agent_state == ("undecodable",)


def test_state_that_can_not_travel() -> None:
    """C096: a state that can't be sent to the worker rejects the request, with the class's name only."""
    rig = Rig(StreamAgent)
    rig.model().agent_state = (lambda: None,)
    ref = rig.ask()
    assert rig.asked(ref).code == "unpicklable"
    assert rig.state is State.IDLE


def test_status_during_a_turn() -> None:
    """C097: `agent_state` is the last retained one, never the worker's."""
    rig = rig_in("P")
    rig.notify("later")
    assert rig.status().agent_state == ()


def test_late_words_of_finished_turns() -> None:
    """C098: whatever an old turn's worker still says changes nothing in the next turn."""
    rig = rig_in("P")
    old = rig.tag
    assert old is not None
    rig.tell("next")
    rig.end()
    before = len(rig.trace)
    for event in (
        on.TurnStarted(old),
        on.TurnEnded(old, NoTerminalEvent()),
        on.WorkerDied(old, WorkerCrashed("SIGKILL")),
        on.WorkerKilled(old),
        on.TurnRefused(old, "late"),
        on.TurnEnded(Tag(old.ref, 1, 7), NoTerminalEvent()),
    ):
        rig.feed(event)
    assert len(rig.trace) == before
    assert rig.state is State.PROCESSING


def test_halting_decision_delivers_first() -> None:
    """C093: a `Halt` after an error delivers the error to the caller, then halts."""
    rig = rig_in("P").plan("handle_error", Halt)
    rig.end(NoTerminalEvent())
    assert rig.completions(rig.active) == [NoTerminalEvent()]
    assert rig.state is State.HALTED


def test_what_a_timeout_and_an_interrupt_share() -> None:
    """C119, C183: interrupt and watchdog run `handle_error` and `post_turn` and leave the agent usable."""
    for event, error in (
        (on.InterruptAsked(), Interrupted()),
        (on.DeadlineReached(on.Deadline("watchdog", 1)), WatchdogTimeout(600.0)),
    ):
        rig = rig_in("P")
        seen = words(rig.feed(event))
        assert seen == ["KillWorker", *FAILINGS, "Complete", "state.changed"]
        assert rig.completions(rig.active) == [error]
        ref = rig.ask("next")
        rig.end("fine")
        assert rig.asked(ref).text == "fine"


def test_halting_batch() -> None:
    """C045, C046: all deferred notifications are handled, then `post_run` and its telemetry see the last
    state.
    """
    rig = rig_in("P").always("handle_event", halts())
    for event in ("first", "halt", "last"):
        rig.notify(event)
    rig.end("r")
    final = ("r", "first", "halt", "last")
    assert rig.called("post_run") == [(final,)]
    assert rig.told("halted")[0].about["agent_state"] == final
    rig.notify("halt")
    assert len(rig.called("post_run")) == 1


def test_noreply_is_nothing_more() -> None:
    """C039: an idle event is handled at once and starts nothing."""
    rig = Rig().plan("handle_event", NoReply)
    assert words(rig.notify("e")) == ["event.received", "handle_event"]


def conclude_later(rig: Rig) -> list[str]:
    """End the turn and perform nothing of it: what was given out until the end was put off."""
    assert rig.tag is not None
    effects = rig.machine.step(on.TurnEnded(rig.tag, WorkerCrashed("SIGKILL")), 1.0)
    assert type(effects[-1]) is on.Conclude
    return words(effects)


def test_the_rest_waits_for_what_was_given_out() -> None:
    """C091, C247: a turn's end stops before deferred notifications until its completion has left."""
    rig = rig_in("P")
    rig.notify("e")
    assert conclude_later(rig) == [*FAILINGS, "Complete"]
    assert rig.machine.state is State.PROCESSING
    assert words(rig.machine.step(on.Concluding(), 1.0)) == ["handle_event", "state.changed"]
    assert rig.machine.state is State.IDLE


def test_the_rest_comes_before_any_other_event() -> None:
    """C091: whatever arrives before the rest of a turn's end finds that turn ended."""
    rig = rig_in("P")
    rig.notify("e")
    conclude_later(rig)
    seen = rig.machine.step(on.InterruptRequested("me", RequestRef("x", 1)), 1.0)
    assert words(seen) == ["handle_event", "state.changed", "Answer"]
    assert seen[-1].value == "idle"
    assert rig.machine.step(on.Concluding(), 1.0) == ()


def test_a_slow_pre_turn_does_not_hold_back_a_completion() -> None:
    """C091: the next prompt's `pre_turn` runs once the completion of the last turn has left."""
    rig = rig_in("P")
    rig.tell("next")
    assert conclude_later(rig) == [*FAILINGS, "Complete", "state.changed"]
    assert words(rig.machine.step(on.Concluding(), 1.0))[:2] == ["pre_turn", "state.changed"]


def test_the_rest_comes_before_what_has_waited() -> None:
    """C078, C091: messages that waited for a reset overtake no chain whose turn's end was put off."""
    rig = Rig().plan("handle_error", lambda ref, error, state: Prompt("chained", state))
    rig.feed(on.ResetAsked("resetter"))
    rig.ask("asked")
    rig.feed(on.InterruptAsked())
    rig.tell("told")
    rig.feed(on.ResetEnded("resetter", None, Unsupported()))
    assert [prompt for prompt, _ in rig.called("pre_turn")] == ["asked", "chained"]
    assert rig.snapshot().pending_prompts == 1
