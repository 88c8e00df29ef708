"""What a failing callback means, and turns without a worker (C036-C043, C050, C137, C218)."""

from __future__ import annotations

from typing import Any

import pytest

from gen_agent.agent import Halt, Prompt
from gen_agent.core import signals as on
from gen_agent.core.model import State
from gen_agent.errors import (
    NoTerminalEvent,
    WorkerUnavailable,
)
from tests.core.rig import Rig, rig_in
from tests.core.rig_agents import short


def words(trace: tuple[Any, ...]) -> list[str]:
    return [word for word in short(trace) if word not in ("ClearDeadline", "SetDeadline")]


def test_unknown_worker_is_reported() -> None:
    """C037, C043, C137, C236: without a worker the request fails after `handle_error` and `post_turn`,
    unstarted.
    """
    rig = Rig()
    rig.worker = False
    ref = rig.ask()
    assert rig.tag is not None
    seen = words(rig.feed(on.TurnRefused(rig.tag, "no fork")))
    assert seen == ["turn.rejected", "prompt.error", "handle_error", "post_turn", "Answer", "state.changed"]
    assert rig.asked(ref) == WorkerUnavailable("no fork")
    assert rig.told("turn.start") == []
    assert rig.told("turn.rejected")[0].about["reason_kind"] == "task_supervisor_unavailable"
    assert "duration_s" not in rig.told("prompt.error")[0].measured
    rig.worker = True
    rig.ask("again")
    assert len(rig.told("turn.start")) == 1


def test_without_a_worker_nothing_spins() -> None:
    """C137: an immediate `Prompt` after a missing worker is discarded, a `Halt` honoured."""
    for decision, state in (
        (lambda ref, error, state: Prompt("again", state), State.IDLE),
        (Halt, State.HALTED),
    ):
        rig = Rig().plan("handle_error", decision)
        rig.worker = False
        ref = rig.tell("x", "to")
        assert rig.tag is not None
        rig.feed(on.TurnRefused(rig.tag, "no fork"))
        assert rig.state is state
        assert not rig.snapshot().self_chain_pending
        assert rig.completions(ref) == [WorkerUnavailable("no fork")]


def test_a_retry_without_a_worker_is_final() -> None:
    """C137: on a retry the original caller gets the missing worker as its error."""
    rig = Rig().always("handle_error", lambda ref, error, state: Prompt("again", state))
    ref = rig.ask()
    rig.worker = False
    rig.end(NoTerminalEvent())
    assert rig.tag is not None
    rig.feed(on.TurnRefused(rig.tag, "no fork"))
    assert rig.asked(ref) == WorkerUnavailable("no fork")
    assert rig.told("turn.rejected")[0].about["attempt"] == 2


@pytest.mark.parametrize("does", [ValueError("secret"), lambda ref, response, state: state, SystemExit()])
def test_handle_response_fails(does: Any) -> None:
    """C036, C109, C220, C255: a failing `handle_response` ends the agent, by class name, with nothing
    delivered.
    """
    rig = Rig().plan("handle_response", does)
    refs = [rig.ask(), rig.ask("queued"), rig.tell("queued", "to")]
    rig.end()
    (leave,) = rig.all(on.Exit)
    assert leave.reason == "callback_failed"
    expected = {ValueError: ("error", "ValueError"), SystemExit: ("exit", "SystemExit")}
    assert leave.detail == expected.get(type(does), ("bad_return", "tuple"))
    assert [rig.asked(ref) for ref in refs[:2]] == [None, None]
    assert rig.all(on.Complete) == []
    assert rig.called("post_turn") == []
    assert [reason for reason, _ in rig.called("terminate_agent")] == ["callback_failed"]
    assert len(rig.all(on.CloseSession)) == 1
    assert "secret" not in str(rig.logged) + repr(leave)


@pytest.mark.parametrize("does", [ValueError("secret"), lambda ref, error, state: 42])
def test_handle_error_fails(does: Any) -> None:
    """C038, C218: a failing `handle_error` keeps the original error and the previous state, and is logged
    by class.
    """
    rig = rig_in("P").plan("handle_error", does)
    rig.end(NoTerminalEvent())
    assert rig.completions(rig.active) == [NoTerminalEvent()]
    assert rig.status().agent_state == ()
    ((level, text),) = rig.logged
    assert level == "error"
    assert "handle_error" in text
    assert "secret" not in text


@pytest.mark.parametrize("does", [ValueError("secret"), lambda outcome, ref, state: None])
def test_post_turn_fails(does: Any) -> None:
    """C042, C038: a failing `post_turn` changes neither state nor transition."""
    rig = rig_in("P").plan("handle_response", Halt).plan("post_turn", does)
    rig.model().agent_state = ("kept",)
    rig.end()
    assert rig.state is State.HALTED
    assert rig.status().agent_state == ("kept",)
    assert len(rig.logged) == 1


def test_failing_events_do_not_stop_the_batch() -> None:
    """C050: one failing deferred event is logged, the next is handled, and the ask keeps its answer."""
    rig = Rig()
    ref = rig.ask()
    rig.plan("handle_event", ValueError("secret"), lambda event, state: 42)
    for event in ("bad", "odd", "good"):
        rig.notify(event)
    rig.end("r")
    assert rig.status().agent_state == ("r", "good")
    assert rig.asked(ref).text == "r"
    assert len(rig.logged) == 2


def test_no_handle_info() -> None:
    """C041: without `handle_info` a message is logged by class, without its content, and dropped."""
    rig = Rig()
    rig.info("secret")
    ((_, text),) = rig.logged
    assert "str" in text
    assert "secret" not in text
    assert rig.status().agent_state == ()
