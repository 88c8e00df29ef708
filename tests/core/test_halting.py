"""Halting, resuming and draining (C044-C046, C078-C089, C213-C215, C246)."""

from __future__ import annotations

from typing import Any

import pytest

from gen_agent.agent import Halt, NoReply, Prompt
from gen_agent.core import signals as on
from gen_agent.core.model import State
from gen_agent.errors import Halted, NoTerminalEvent
from gen_agent.values import PENDING
from tests.core.rig import Rig, halts, rig_in
from tests.core.rig_agents import short


def test_next_work() -> None:
    """C078, C240: after a turn the slot is served before the queue, and the queue in order."""
    rig = rig_in("P").plan("handle_response", lambda ref, response, state: Prompt("slot", state))
    for prompt in ("first", "second", "third"):
        rig.tell(prompt)
    for _ in range(4):
        rig.end()
    assert rig.started() == ["slot", "first", "second", "third"]


def test_pending_halt() -> None:
    """C080, C084: the turn and its deferred notifications come first, then `post_run`; what is queued
    stays.
    """
    rig = rig_in("P")
    queued = rig.tell("queued", "to")
    rig.notify("deferred")
    rig.feed(on.HaltAsked())
    seen = short(rig.end("r"))
    assert seen.index("Complete") < seen.index("handle_event") < seen.index("post_run") < seen.index("halted")
    status = rig.status()
    assert (status.halted, status.halt_pending, status.queued) == (True, False, 1)
    assert rig.poll(queued) is PENDING
    assert rig.called("post_run") == [(("r", "deferred"),)]
    rig.feed(on.ResumeAsked())
    assert rig.started() == ["queued"]


def test_halted_work_has_no_watchdog() -> None:
    """C084, C182: what waits for a resume has no deadline; its turn sets one."""
    rig = rig_in("H", watchdog_s=0.05)
    rig.tell("waiting")
    assert rig.all(on.SetDeadline) == []
    rig.feed(on.ResumeAsked())
    assert len(rig.all(on.SetDeadline)) == 1


def test_resume_takes_a_pending_halt_back() -> None:
    """C081: after halt and resume during a turn nothing halts."""
    rig = rig_in("PH")
    rig.feed(on.ResumeAsked())
    rig.end()
    assert rig.state is State.IDLE
    assert rig.called("post_run") == []


def test_halt_is_idempotent() -> None:
    """C044, C082: one `post_run` for each transition into halted, and a new one after a resume."""
    rig = Rig()
    for event in (on.HaltAsked(), on.HaltAsked(), on.ResumeAsked(), on.HaltAsked()):
        rig.feed(event)
    assert len(rig.called("post_run")) == len(rig.told("halted")) == 2


def test_two_reasons_to_halt_are_one_halt() -> None:
    """C083: a decision to halt while a halt is pending gives one `post_run` and leaves nothing pending."""
    rig = rig_in("PH").plan("handle_response", Halt)
    rig.notify("deferred")
    rig.plan("handle_event", Halt)
    rig.end()
    assert len(rig.called("post_run")) == 1
    assert not rig.status().halt_pending


@pytest.mark.parametrize("limits", [{"max_pending_prompts": 1}, {"max_pending_prompt_bytes": 8}])
@pytest.mark.parametrize("who", ["decision", "event", "halt"])
def test_failing_requests_make_room_first(limits: Any, who: str) -> None:
    """C085, C246: what fails on a halt is failed, and its room free, before a deferred event may prompt."""
    rig = rig_in("P", **limits).always("handle_event", lambda event, state: event(state))
    fails = rig.tell("8 bytes!", "to", on_halt="fail")
    if who == "event":
        rig.notify(Halt)
    rig.feed(on.Notified(lambda state: Prompt("follow", state), 1))
    if who == "decision":
        rig.plan("handle_response", Halt)
    elif who == "halt":
        rig.feed(on.HaltAsked())
    seen = short(rig.end())
    assert rig.completions(fails) == [Halted()]
    assert rig.snapshot().pending_prompts == 1
    assert seen.index("turn.rejected") < seen.index("mailbox.queued") < seen.index("post_run")
    assert rig.poll(fails) == Halted()


def test_a_waiting_retry_fails_before_the_queue() -> None:
    """C085, C139: a retry that fails on a halt fails first, under its own attempt."""
    rig = Rig().plan("handle_error", lambda ref, error, state: Prompt("retry", state))
    first = rig.tell("x", "to", on_halt="fail")
    second = rig.tell("y", "to", on_halt="fail")
    rig.feed(on.HaltAsked())
    rig.end(NoTerminalEvent())
    assert [(effect.ref, effect.outcome) for effect in rig.all(on.Complete)] == [
        (first, Halted()),
        (second, Halted()),
    ]
    assert [told.about["attempt"] for told in rig.told("turn.rejected")] == [2, 1]


def test_ordinary_requests_survive() -> None:
    """C086: only the failing ones fail, each once; the rest runs after a resume."""
    rig = rig_in("P")
    refs = [rig.tell("a", "to", on_halt="fail"), rig.tell("b", "to"), rig.tell("c", "to", on_halt="fail")]
    rig.feed(on.HaltAsked())
    rig.end()
    assert [rig.completions(ref) for ref in refs] == [[Halted()], [], [Halted()]]
    rig.feed(on.ResumeAsked())
    rig.end("done")
    assert [len(rig.completions(ref)) for ref in refs] == [1, 1, 1]


def test_a_refused_request_touches_nothing() -> None:
    """C237: `on_halt="fail"` while halted is refused without telemetry and without touching queued work."""
    rig = rig_in("H")
    waiting = rig.tell("waiting")
    before = len(rig.all(object))
    rig.submit("refused", on_halt="fail")
    assert short(tuple(rig.trace[before:])) == ["Admit"]
    assert rig.poll(waiting) is PENDING


def test_a_self_chain_survives_a_halt() -> None:
    """C087: a chained prompt waits through a halt and is the first thing a resume runs."""
    rig = rig_in("P").plan("handle_response", lambda ref, response, state: Prompt("chain", state))
    rig.always("handle_event", halts())
    rig.tell("queued")
    rig.notify("halt")
    rig.end()
    assert rig.snapshot().self_chain_pending
    rig.feed(on.ResumeAsked())
    assert rig.started() == ["chain"]
    assert rig.snapshot().current_request.origin == "self_chain"  # type: ignore[union-attr]


def test_post_run_fails() -> None:
    """C044: a failing `post_run` is logged and the halt is complete."""
    rig = Rig().plan("post_run", ValueError("secret"))
    rig.feed(on.HaltAsked())
    assert rig.state is State.HALTED
    assert len(rig.told("halted")) == len(rig.logged) == 1


def test_post_run_is_for_halts_only() -> None:
    """C044: no `post_run` on stop, drain or crash."""
    for event in (on.StopAsked(), on.DrainAsked("me"), on.Crashed("KeyError")):
        rig = Rig()
        rig.feed(event)
        assert rig.called("post_run") == []


def test_rejected_prompts_halt_in_their_place() -> None:
    """C045, C146: a deferred prompt without room whose `handle_error` halts: one `post_run`, after the
    batch.
    """
    rig = rig_in("P", max_pending_prompts=0).plan("handle_error", Halt)
    rig.plan("handle_event", NoReply, Halt, lambda event, state: Prompt("no room", state), NoReply)
    for event in ("first", "halt", "prompt", "last"):
        rig.notify(event)
    rig.end()
    seen = [word for word in short(tuple(rig.trace)) if word.startswith(("handle", "post"))]
    assert seen == [
        "handle_response", "post_turn", "handle_event", "handle_event", "handle_event", "handle_error",
        "handle_event", "post_run",
    ]  # fmt: skip


def test_rejected_chains_halt_before_the_batch() -> None:
    """C145: a chain without room whose `handle_error` halts comes before the deferred notifications."""
    rig = rig_in("P", max_pending_prompt_bytes=4)
    rig.plan("handle_response", lambda ref, response, state: Prompt("too long", state)).plan(
        "handle_error", Halt
    )
    rig.notify("first")
    rig.end()
    seen = [word for word in short(tuple(rig.trace)) if word.startswith(("handle", "post"))]
    assert seen == ["handle_response", "post_turn", "handle_error", "handle_event", "post_run"]
    assert rig.state is State.HALTED
