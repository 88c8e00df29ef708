"""`pre_turn`: what passes, what is rejected, and who hears of it (C026-C034, C079, C201)."""

from __future__ import annotations

from typing import Any

import pytest

from gen_agent.agent import Halt, NoReply, Proceed, Prompt, Skip
from gen_agent.core import signals as on
from gen_agent.core.model import State
from gen_agent.core.signals import Deadline
from gen_agent.errors import (
    PreTurnCrashed,
    PreTurnHalted,
    PreTurnInvalid,
    PreTurnSkipped,
    RequestNotFound,
)
from tests.core.rig import Rig, rig_in
from tests.core.rig_agents import short

REJECTIONS = [
    (lambda prompt, state: Skip((*state, "skipped")), PreTurnSkipped(), ("skipped",)),
    (lambda prompt, state: Halt((*state, "halted")), PreTurnHalted(), ("halted",)),
    (lambda prompt, state: Proceed(42, (*state, "lost")), PreTurnInvalid(), ()),  # type: ignore[arg-type]
    (lambda prompt, state: None, PreTurnInvalid(), ()),
    (ValueError("secret"), PreTurnSkipped(), ()),
]

rejecting = pytest.mark.parametrize(("gate", "error", "state"), REJECTIONS)


def test_rewrite() -> None:
    """C026: the worker gets the rewritten prompt, telemetry both."""
    rig = Rig().plan("pre_turn", lambda prompt, state: Proceed("p:" + prompt, state))
    rig.tell("x")
    assert rig.started() == ["p:x"]
    (told,) = rig.told("prompt.start")
    assert (told.about["prompt"], told.about["original_prompt"], told.about["rewritten"]) == (
        "p:x",
        "x",
        True,
    )


def test_no_rewrite() -> None:
    """C026, C226: an unchanged prompt is not told as rewritten."""
    rig = Rig()
    rig.tell("x")
    assert rig.told("prompt.start")[0].about["rewritten"] is False


def test_runs_before_every_dispatch() -> None:
    """C026: caller prompts, event prompts, self-chains and retries all pass it, as they were queued."""
    rig = Rig().always("pre_turn", lambda prompt, state: Proceed("p:" + prompt, state))
    rig.plan("handle_error", lambda ref, error, state: Prompt("retry", state))
    rig.plan("handle_response", lambda ref, response, state: Prompt("chain", state))
    rig.plan("handle_event", lambda event, state: Prompt("event", state))
    rig.tell("call")
    rig.notify("e")
    rig.end(PreTurnInvalid())
    rig.end()
    rig.end()
    assert [prompt for prompt, _ in rig.called("pre_turn")] == ["call", "retry", "chain", "event"]
    assert rig.started() == ["p:call", "p:retry", "p:chain", "p:event"]


def test_rewritten_prompts_have_no_cap() -> None:
    """C027: only the prompt as queued counts against the byte limit."""
    rig = Rig(max_pending_prompt_bytes=20)
    rig.always("pre_turn", lambda prompt, state: Proceed(prompt * 1000, state))
    rig.tell("0123456789")
    assert len(rig.started()[0]) == 10_000


@rejecting
def test_rejected_ask(gate: Any, error: Any, state: Any) -> None:
    """C028-C030, C034: the ask gets the error, nothing runs, and only a good return's state is kept."""
    rig = Rig().plan("pre_turn", gate)
    ref = rig.ask("x")
    assert rig.asked(ref) == error
    assert rig.status().agent_state == state
    assert rig.started() == []
    assert rig.called("post_turn") == rig.called("handle_error") == rig.called("handle_response") == []
    assert rig.state is (State.HALTED if isinstance(error, PreTurnHalted) else State.IDLE)
    assert len(rig.called("post_run")) == (1 if isinstance(error, PreTurnHalted) else 0)
    assert rig.told("turn.rejected")[0].about["reason_kind"] == error.code
    assert "secret" not in str(rig.logged)


@rejecting
def test_rejected_tell(gate: Any, error: Any, state: Any) -> None:
    """C031, C112: a rejected tell was accepted: it is answered with its ref, after its one completion."""
    rig = Rig().plan("pre_turn", gate)
    ref = rig.tell("x", "to")
    assert rig.completions(ref) == [error]
    assert rig.asked(ref) == ref
    assert rig.poll(ref) == error
    kinds = short(tuple(rig.trace))
    assert kinds.index("Complete") < kinds.index("Answer")


@rejecting
def test_rejected_submit(gate: Any, error: Any, state: Any) -> None:
    """C201: a rejected submit completes with the error first and is admitted then."""
    rig = Rig().plan("pre_turn", gate)
    ref = rig.submit("x")
    sent = [effect for effect in rig.trace if isinstance(effect, (on.Complete, on.Admit))]
    assert sent == [on.Complete("to", ref, error, None), on.Admit("to", ref, None)]


def test_queued_rejections() -> None:
    """C079, C202: a rejected queued prompt lets the next one be tried in the same step."""
    rig = rig_in("P")
    skip = lambda prompt, state: Skip(state) if prompt.startswith("skip") else Proceed(prompt, state)  # noqa: E731
    rig.always("pre_turn", skip)
    refs = [rig.tell("skip 1", "to"), rig.submit("skip 2"), rig.tell("run", "to")]
    assert rig.admissions(refs[1]) == [None]
    rig.end()
    assert rig.started() == ["run"]
    assert [rig.completions(ref) for ref in refs] == [[PreTurnSkipped()], [PreTurnSkipped()], []]


@pytest.mark.parametrize(
    ("gate", "error"),
    [
        (Skip, PreTurnSkipped()),
        (ValueError("secret"), PreTurnCrashed("ValueError")),
        (lambda prompt, state: None, PreTurnInvalid()),
    ],
)
def test_rejected_event_prompt(gate: Any, error: Any) -> None:
    """C032, C034, C228: a rejected event prompt is told, and goes to `handle_error` under a fresh ref."""
    rig = Rig().plan("pre_turn", gate)
    rig.plan("handle_event", lambda event, state: Prompt("follow", state))
    rig.notify("e")
    ((ref, seen, _),) = rig.called("handle_error")
    assert seen == error
    assert rig.poll(ref) == RequestNotFound(ref)
    (failed,), (rejected,) = rig.told("prompt.error"), rig.told("turn.rejected")
    assert (failed.about["reason"], failed.about["attempt"], "duration_s" in failed.measured) == (
        error,
        1,
        False,
    )
    kind = ("pre_turn_crashed", "ValueError") if isinstance(error, PreTurnCrashed) else error.code
    assert rejected.about == {"agent": "n", "ref": ref, "attempt": 1, "origin": "event", "reason_kind": kind}
    assert rig.state is State.IDLE


def test_halting_an_event_prompt_just_halts() -> None:
    """C032: `Halt` from `pre_turn` on a generated prompt halts, and `handle_error` is not called."""
    rig = Rig().plan("pre_turn", Halt)
    rig.plan("handle_event", lambda event, state: Prompt("follow", state))
    rig.notify("e")
    assert rig.state is State.HALTED
    assert rig.called("handle_error") == []
    assert len(rig.called("post_run")) == 1


def test_handle_error_of_a_rejected_prompt_may_halt() -> None:
    """C032: the decision of that `handle_error` is honoured."""
    rig = Rig().plan("pre_turn", Skip).plan("handle_error", Halt)
    rig.plan("handle_event", lambda event, state: Prompt("follow", state))
    rig.notify("e")
    assert rig.state is State.HALTED


def again(rig: Rig) -> int:
    """The number of the newest pacing deadline."""
    return max(effect.key.turn for effect in rig.all(on.SetDeadline) if effect.key.kind == "paced")


def spinning() -> Rig:
    """A rig whose generated prompts are always skipped and whose `handle_error` always prompts again."""
    rig = Rig().always(
        "pre_turn", lambda prompt, state: Skip(state) if prompt == "g" else Proceed(prompt, state)
    )
    rig.always("handle_error", lambda ref, error, state: Prompt("g", state))
    rig.plan("handle_event", lambda event, state: Prompt("g", state))
    rig.notify("e")
    return rig


def test_rejected_generated_prompts_are_paced() -> None:
    """C033: a prompt after a rejection waits 10 ms, so that calls are served in between."""
    rig = spinning()
    assert [effect for effect in rig.trace if isinstance(effect, on.SetDeadline)] == [
        on.SetDeadline(Deadline("paced", 1), 0.01)
    ]
    assert rig.snapshot().self_chain_pending
    for _ in range(3):
        before = len(rig.called("pre_turn"))
        rig.feed(on.DeadlineReached(Deadline("paced", again(rig))))
        assert len(rig.called("pre_turn")) == before + 1
        assert rig.status().state == "idle"
    rig.feed(on.DeadlineReached(Deadline("paced", 1)))
    assert len(rig.called("pre_turn")) == 4
    rig.feed(on.StopAsked())
    assert rig.machine.terminated


def test_pacing_yields_to_a_turn() -> None:
    """C033: busy meanwhile, the deadline means nothing and the slot is served when that turn ends."""
    rig = spinning()
    rig.tell("call")
    rig.feed(on.DeadlineReached(Deadline("paced", 1)))
    assert rig.started() == ["call"]
    before = len(rig.called("pre_turn"))
    rig.end()
    assert rig.called("pre_turn")[before][0] == "g"


def test_pacing_does_not_hold_up_the_queue() -> None:
    """C033, C079: while a rejected prompt waits, what is queued is tried."""
    rig = Rig().always("handle_error", lambda ref, error, state: Prompt("g", state))
    rig.always("pre_turn", lambda prompt, state: Skip(state) if prompt == "g" else Proceed(prompt, state))
    rig.plan("handle_response", lambda ref, response, state: Prompt("g", state))
    rig.tell("one")
    rig.tell("two")
    rig.end()
    assert rig.started() == ["one", "two"]
    assert rig.snapshot().self_chain_pending


def test_a_paced_prompt_survives_a_halt() -> None:
    """C033, C087: halted, the deadline means nothing; resume serves the slot."""
    rig = spinning()
    rig.feed(on.HaltAsked())
    before = len(rig.called("pre_turn"))
    rig.feed(on.DeadlineReached(Deadline("paced", 1)))
    assert len(rig.called("pre_turn")) == before
    rig.feed(on.ResumeAsked())
    assert len(rig.called("pre_turn")) == before + 1
    assert on.ClearDeadline(Deadline("paced", 1)) in rig.trace


def test_rejected_retry() -> None:
    """C136: `pre_turn` runs for a retry, and its rejection is the original caller's outcome."""
    for gate, error in ((Skip, PreTurnSkipped()), (Halt, PreTurnHalted()), (None, PreTurnInvalid())):
        rig = Rig().plan("handle_error", lambda ref, error, state: Prompt("retry", state))
        ref = rig.ask("x")
        rig.plan("pre_turn", gate if gate else lambda prompt, state: NoReply(state))
        rig.end(PreTurnInvalid())
        assert rig.asked(ref) == error
        assert len(rig.called("handle_error")) == 1
