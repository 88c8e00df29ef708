"""Retries that `handle_error` asks for, and self-chains (C093, C106, C130-C146, C204)."""

from __future__ import annotations

from typing import Any

import pytest

from gen_agent.agent import Halt, NoReply, Prompt
from gen_agent.core import signals as on
from gen_agent.core.model import State
from gen_agent.core.signals import Deadline
from gen_agent.errors import (
    AgentTerminated,
    Cancelled,
    Draining,
    Halted,
    Interrupted,
    NoTerminalEvent,
    Overloaded,
    WatchdogTimeout,
    WorkerCrashed,
)
from gen_agent.sealed import SealedRun
from gen_agent.values import PENDING
from tests.core.rig import Rig, rig_in

DOWN = NoTerminalEvent()


def retrying(rig: Rig, text: str = "retry") -> Rig:
    return rig.always("handle_error", lambda ref, error, state: Prompt(text, (*state, error.code)))


@pytest.mark.parametrize("how", ["ask", "tell", "submit"])
def test_retry_under_one_ref(how: str) -> None:
    """C106, C130, C131, C204: attempts share ref and owner, each runs the callbacks, one outcome is
    delivered.
    """
    rig = retrying(Rig())
    ref = {"ask": rig.ask, "tell": lambda: rig.tell("x", "to"), "submit": rig.submit}[how]()
    for attempt in (1, 2):
        rig.end(DOWN)
        current = rig.snapshot().current_request
        assert current is not None
        assert (current.ref, current.attempt) == (ref, attempt + 1)
        assert current.origin == ("ask" if how == "ask" else "tell")
        assert rig.poll(ref) is PENDING
    rig.end("third")
    outcomes = [rig.asked(ref)] if how == "ask" else rig.completions(ref)
    assert [outcome.text for outcome in outcomes] == ["third"]
    assert [seen for seen, _, _ in rig.called("handle_error")] == [ref, ref]
    assert [outcome for outcome, _, _ in rig.called("post_turn")][:2] == [DOWN, DOWN]
    assert rig.admissions(ref) == ([None] if how == "submit" else [])


def test_interrupted_is_never_retried() -> None:
    """C132: an interrupt ends the request; what `handle_error` prompts is an independent self-chain."""
    rig = retrying(rig_in("P"))
    rig.feed(on.InterruptAsked())
    assert rig.completions(rig.active) == [Interrupted()]
    current = rig.snapshot().current_request
    assert current is not None
    assert current.ref != rig.active
    assert (current.origin, current.attempt) == ("self_chain", 1)


def test_event_turns_are_followed_not_retried() -> None:
    """C133: a failed event turn's prompt is a self-chain under another ref."""
    rig = retrying(Rig()).plan("handle_event", lambda event, state: Prompt("follow", state))
    rig.notify("e")
    first = rig.tag
    rig.end(DOWN)
    current = rig.snapshot().current_request
    assert first is not None
    assert current is not None
    assert current.ref != first.ref
    assert (current.origin, current.attempt) == ("self_chain", 1)


def test_retry_before_the_queue() -> None:
    """C134: a retry outranks what is queued, which keeps its order."""
    rig = rig_in("P").plan("handle_error", lambda ref, error, state: Prompt("retry", state))
    rig.ask("second")
    rig.ask("third")
    rig.end(DOWN)
    rig.end()
    rig.end()
    assert rig.started() == ["retry", "second", "third"]


def test_retry_that_does_not_fit() -> None:
    """C135: the caller gets the original error, `handle_error` the overload under a new ref, and may
    recover.
    """
    rig = Rig(max_pending_prompt_bytes=50)
    rig.plan("handle_error", lambda ref, error, state: Prompt("x" * 100, state))
    rig.plan("handle_error", lambda ref, error, state: Prompt("recover", state))
    ref = rig.ask()
    rig.end(DOWN)
    assert rig.asked(ref) == DOWN
    (first, _, _), (second, overload, _) = rig.called("handle_error")
    assert first == ref != second
    assert isinstance(overload, Overloaded)
    assert (overload.queue, overload.limit) == ("self_chain", "bytes")
    assert rig.snapshot().current_request.origin == "self_chain"  # type: ignore[union-attr]
    assert rig.started()[-1] == "recover"


def test_recovery_that_does_not_fit_either() -> None:
    """C135: a second prompt without room is dropped silently."""
    rig = retrying(Rig(max_pending_prompt_bytes=50), "x" * 100)
    rig.ask()
    rig.end(DOWN)
    assert len(rig.called("handle_error")) == 2
    assert rig.state is State.IDLE
    assert not rig.snapshot().self_chain_pending


@pytest.mark.parametrize("how", ["watchdog", "crash"])
def test_timeouts_and_crashes_are_retried(how: str) -> None:
    """C138: watchdog and crash are retryable, and each attempt has its own watchdog."""
    rig = retrying(Rig(watchdog_s=5.0))
    ref = rig.ask()
    assert rig.tag is not None
    crash = on.WorkerDied(rig.tag, WorkerCrashed("SIGSEGV"))
    rig.feed(on.DeadlineReached(Deadline("watchdog", 1)) if how == "watchdog" else crash)
    assert [effect.key.turn for effect in rig.all(on.SetDeadline)] == [1, 2]
    rig.feed(on.DeadlineReached(Deadline("watchdog", 1)))
    rig.end("second")
    assert rig.asked(ref).text == "second"
    error = WatchdogTimeout(5.0) if how == "watchdog" else WorkerCrashed("SIGSEGV")
    assert [seen for _, seen, _ in rig.called("handle_error")] == [error]


def waiting_retry(on_halt: Any = "queue", ask: bool = False) -> tuple[Rig, Any]:
    """A retry that waits because a deferred event halted during its first attempt."""
    rig = Rig().plan("handle_error", lambda ref, error, state: Prompt("retry", state))
    ref = rig.ask("x") if ask else rig.tell("x", "to", on_halt=on_halt)
    rig.plan("handle_event", Halt)
    rig.notify("halt")
    rig.end(DOWN)
    assert rig.state is State.HALTED
    return rig, ref


def test_a_halted_retry_waits_for_resume() -> None:
    """C139, C194: pending until a resume; the slot is shown, and is not counted as queued."""
    rig, ref = waiting_retry()
    assert (rig.poll(ref), rig.snapshot().self_chain_pending, rig.snapshot().pending_prompts) == (
        PENDING,
        True,
        0,
    )
    rig.feed(on.ResumeAsked())
    rig.end("fine")
    assert [outcome.text for outcome in rig.completions(ref)] == ["fine"]


def test_a_halted_retry_may_fail_cancel_drain_or_stop() -> None:
    """C139, C140: the other four ends of a retry that waits while the agent is halted."""
    rig, ref = waiting_retry("fail")
    assert rig.completions(ref) == [Halted()]
    rig, ref = waiting_retry()
    assert rig.call(on.CancelRequested, ref) == "cancelled"
    assert rig.completions(ref) == [Cancelled()]
    assert rig.told("turn.cancelled")[0].about["attempt"] == 2
    rig.feed(on.ResumeAsked())
    assert rig.started() == ["x"]
    rig, ref = waiting_retry()
    rig.feed(on.DrainAsked("me"))
    assert rig.completions(ref) == [Draining()]
    rig, ref = waiting_retry(ask=True)
    assert rig.call(on.CancelRequested, ref) == "not_found"
    rig.feed(on.StopAsked())
    assert rig.asked(ref) == AgentTerminated("shutdown")


def test_streams_go_on_over_attempts() -> None:
    """C140, C244: events of all attempts go to the same recipient under the one ref, before the one
    completion.
    """
    rig = retrying(Rig())
    ref = rig.tell("x", "to", stream_to="to")
    for attempt in (1, 2):
        assert rig.tag is not None
        rig.feed(on.EventsStreamed(rig.tag, SealedRun(b"x", 1)))
        rig.end(DOWN) if attempt == 1 else rig.end("fine")
    sent = [effect for effect in rig.trace if isinstance(effect, (on.Relay, on.Complete))]
    assert [type(effect) for effect in sent] == [on.Relay, on.Relay, on.Complete]
    assert [(effect.ref, getattr(effect, "attempt", None)) for effect in sent] == [
        (ref, 1),
        (ref, 2),
        (ref, None),
    ]


def test_self_chain_needs_no_count() -> None:
    """C141, C142: a self-chain works without any queue, under a fresh ref, and the caller has its own
    response.
    """
    rig = Rig(max_pending_prompts=0, max_pending_prompt_bytes=300)
    rig.plan("handle_response", lambda ref, response, state: Prompt("x" * 200, state))
    ref = rig.ask("first")
    rig.end("one")
    assert rig.asked(ref).text == "one"
    assert rig.tag is not None
    assert rig.tag.ref != ref
    assert rig.started() == ["first", "x" * 200]


def test_self_chain_beyond_the_byte_cap() -> None:
    """C141, C145, C252: a chain beyond the byte cap is reported, and what `handle_error` then decides is
    honoured.
    """
    for decision, state in ((NoReply, State.IDLE), (Halt, State.HALTED)):
        rig = Rig(max_pending_prompt_bytes=100).plan("handle_error", decision)
        rig.plan("handle_response", lambda ref, response, state: Prompt("x" * 200, state))
        ref = rig.ask("first")
        rig.end()
        ((other, error, _),) = rig.called("handle_error")
        assert other != ref
        assert error == Overloaded("self_chain", "bytes", 0, 0, 200, 1, 100)
        assert [told.about["reason"] for told in rig.told("input.rejected")] == [error]
        assert [told.about["reason"] for told in rig.told("prompt.error")] == [error]
        assert rig.state is state
        assert rig.asked(ref).text == "ok"


def test_slot_before_queue() -> None:
    """C143: queued prompts wait behind the whole chain."""
    rig = rig_in("P")
    chain = lambda ref, response, state: Prompt(f"chained {len(state)}", (*state, 1))  # noqa: E731
    rig.plan("handle_response", chain, chain)
    rig.tell("queued")
    for _ in range(3):
        rig.end()
    assert rig.started() == ["chained 0", "chained 1", "queued"]


def test_slot_taken() -> None:
    """C144: a chain that finds the slot taken by a paced prompt is an overload by count."""
    rig = Rig().plan("pre_turn", RuntimeError())
    rig.plan("handle_event", lambda event, state: Prompt("g", state))
    rig.plan("handle_error", lambda ref, error, state: Prompt("paced", state))
    rig.notify("e")
    rig.plan("handle_response", lambda ref, response, state: Prompt("chain", state))
    rig.ask("x")
    rig.end()
    _, error, _ = rig.called("handle_error")[-1]
    assert error == Overloaded("self_chain", "count", 1, 5, 5, 1, 1_048_576)
    assert rig.started() == ["x", "paced"]


def test_deferred_prompts_go_to_the_tail() -> None:
    """C146, C155: what deferred events prompt is queued last; without room `handle_error` hears of it."""
    rig = rig_in("P", max_pending_prompts=1).plan(
        "handle_event", lambda event, state: Prompt("follow", state)
    )
    rig.tell("queued")
    rig.notify("e", by="me")
    assert [effect.by for effect in rig.all(on.Answer)].count("me") == 1
    rig.end()
    assert [error.queue for _, error, _ in rig.called("handle_error")] == ["prompts"]
    assert rig.started() == ["queued"]
    rig = rig_in("P").plan("handle_event", lambda event, state: Prompt("follow", state))
    rig.notify("e")
    rig.tell("queued")
    rig.end()
    rig.end()
    assert rig.started() == ["queued", "follow"]


def test_a_paced_prompt_that_does_not_fit() -> None:
    """C033, C135, C145: what answers a rejected prompt and doesn't fit is reported once; that answer is
    dropped.
    """
    rig = Rig(max_pending_prompt_bytes=20).plan("pre_turn", RuntimeError())
    rig.plan("handle_event", lambda event, state: Prompt("g", state))
    rig.always("handle_error", lambda ref, error, state: Prompt("x" * 50, state))
    rig.notify("e")
    (first, _, _), (second, error, _) = rig.called("handle_error")
    assert first != second
    assert error == Overloaded("self_chain", "bytes", 0, 0, 50, 1, 20)
    assert not rig.snapshot().self_chain_pending
