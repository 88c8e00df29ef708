"""Draining, stopping and what runs at the end (C047-C049, C088, C089, C109, C213-C215, C248)."""

from __future__ import annotations

import pytest

from gen_agent.agent import Halt, Prompt
from gen_agent.core import signals as on
from gen_agent.errors import AgentTerminated, Draining, NoTerminalEvent
from tests.core.rig import Rig, rig_in
from tests.core.rig_agents import short


def test_drain_refuses_everything_else() -> None:
    """C088: draining settles what waits, forgets what is deferred, and lets the active turn deliver, then
    ends.
    """
    rig = rig_in("P").plan("handle_response", lambda ref, response, state: Prompt("chain", state))
    asked, told = rig.ask("a"), rig.tell("b", "to")
    rig.notify("deferred")
    rig.feed(on.DrainAsked("me"))
    assert rig.asked(asked) == Draining()
    assert rig.completions(told) == [Draining()]
    assert rig.poll(told) == Draining()
    assert [e.about["reason_kind"] for e in rig.told("turn.rejected")] == ["draining", "draining"]
    rig.end("last")
    assert [outcome.text for outcome in rig.completions(rig.active)] == ["last"]
    assert rig.called("handle_event") == []
    assert rig.started() == []
    assert [reason for reason, _ in rig.called("terminate_agent")] == ["normal"]


def test_drain_makes_no_retry() -> None:
    """C089: draining, a failed attempt is final whatever `handle_error` prompts."""
    rig = rig_in("D").plan("handle_error", lambda ref, error, state: Prompt("retry", state))
    rig.end(NoTerminalEvent())
    assert rig.completions(rig.active) == [NoTerminalEvent()]
    assert rig.machine.terminated


def test_a_halting_last_turn() -> None:
    """C089: draining, a `Halt` still runs `post_run` and its telemetry before the exit."""
    rig = rig_in("D").plan("handle_response", Halt)
    seen = short(rig.end())
    assert seen.index("post_run") < seen.index("halted") < seen.index("Exit")


def test_draining_a_halted_retry_settles_its_owner() -> None:
    """C068, C139: draining a halted agent gives a waiting retry's caller the draining error."""
    rig = Rig().plan("handle_error", lambda ref, error, state: Prompt("retry", state))
    ref = rig.ask("x")
    rig.feed(on.HaltAsked())
    rig.end(NoTerminalEvent())
    rig.feed(on.DrainAsked("me"))
    assert rig.asked(ref) == Draining()
    assert rig.all(on.Quit) == [on.Quit("normal", (), ("me",))]


def test_a_second_drain_waits_too() -> None:
    """C213, C214: drain calls are answered with the end, all of them, also one that comes while the agent
    ends.
    """
    rig = rig_in("P")
    rig.feed(on.DrainAsked("one"))
    rig.feed(on.DrainAsked("two"))
    assert rig.all(on.Answer) == []
    step = rig.machine.step
    assert rig.tag is not None
    step(on.TurnEnded(rig.tag, NoTerminalEvent()), 1.0)
    step(on.DrainAsked("three"), 2.0)
    step(on.Closing(), 3.0)
    step(on.DrainAsked("four"), 4.0)
    quits = step(on.SessionClosed(), 5.0)[-1]
    assert quits == on.Quit("normal", (), ("one", "two", "three", "four"))
    assert step(on.DrainAsked("late"), 6.0) == ()


def test_drain_terminates_normally() -> None:
    """C047, C215: after a drain `terminate_agent` gets normal, then the session is closed, then telemetry."""
    rig = Rig()
    rig.trace.clear()
    rig.feed(on.DrainAsked("me"))
    assert short(tuple(rig.trace)) == ["Exit", "terminate_agent", "CloseSession", "terminated", "Quit"]
    assert rig.called("terminate_agent") == [("normal", ())]


def test_a_stop_interrupts_a_drain() -> None:
    """C071, C109, C213: a stop while draining ends with shutdown, and the drain calls have not ended
    normally.
    """
    rig = rig_in("D")
    step = rig.machine.step
    step(on.StopAsked(), 1.0)
    step(on.DrainAsked("late"), 2.0)
    step(on.Closing(), 3.0)
    assert step(on.SessionClosed(), 4.0)[-1] == on.Quit("shutdown", (), ())


@pytest.mark.parametrize("reason", ["shutdown", "registry_lost"])
def test_stop(reason: str) -> None:
    """C014, C109, C115, C248: an orderly stop answers asks first; no completion is invented; others see a
    death.
    """
    rig = Rig().plan("handle_error", lambda ref, error, state: Prompt("retry", state))
    active, queued, told = rig.ask("a"), rig.ask("b"), rig.tell("c", "to")
    seen = short(rig.feed(on.StopAsked(reason)))
    answers = 2 if reason == "shutdown" else 0
    assert [word for word in seen if word != "ClearDeadline"] == [
        *["Answer"] * answers,
        *["Exit", "prompt.error", "turn.error", "terminate_agent", "CloseSession", "terminated", "Quit"],
    ]
    expected = AgentTerminated("shutdown") if answers else None
    assert (rig.asked(active), rig.asked(queued)) == (expected, expected)
    assert rig.completions(told) == []
    assert rig.called("terminate_agent") == [(reason, ())]


def test_stop_answers_a_halted_retry() -> None:
    """C109, C139: an ask that waits in a halted retry is answered by an orderly stop."""
    rig = Rig().plan("handle_error", lambda ref, error, state: Prompt("retry", state))
    ref = rig.ask("x")
    rig.feed(on.HaltAsked())
    rig.end(NoTerminalEvent())
    rig.feed(on.StopAsked())
    assert rig.asked(ref) == AgentTerminated("shutdown")


def test_terminate_fails() -> None:
    """C048, C218: failures of both terminate callbacks are logged by class, and the end goes on."""
    rig = Rig().plan("terminate_agent", ValueError("secret"))
    step = rig.machine.step
    step(on.StopAsked(), 1.0)
    assert any(isinstance(effect, on.CloseSession) for effect in step(on.Closing(), 2.0))
    assert isinstance(step(on.SessionClosed("OSError"), 3.0)[-1], on.Quit)
    assert [("terminate_agent" in text, "OSError" in text) for _, text in rig.logged] == [
        (True, False),
        (False, True),
    ]
    assert "secret" not in str(rig.logged)


def test_the_turn_dies_before_the_callbacks() -> None:
    """C049: `terminate_agent` waits for the word that the active turn's worker is gone."""
    rig = rig_in("P")
    effects = rig.machine.step(on.StopAsked(), 1.0)
    assert rig.called("terminate_agent") == []
    assert effects[-1] == on.Exit("shutdown", (), rig.tag)
    rig.trace.extend(rig.machine.step(on.Closing(), 2.0))
    assert rig.called("terminate_agent") == [("shutdown", ())]
    assert rig.machine.step(on.Closing(), 3.0) == ()
