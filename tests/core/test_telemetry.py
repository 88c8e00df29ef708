"""Telemetry of the machine: names, keys, and where each stands between callbacks and effects (C221-C237)."""

from __future__ import annotations

from typing import Any

import pytest

from gen_agent.agent import Proceed, Prompt
from gen_agent.core import signals as on
from gen_agent.errors import Draining, Interrupted, NoTerminalEvent, WatchdogTimeout, WorkerCrashed
from tests.core.rig import Rig, rig_in
from tests.core.rig_agents import Told, short

TIME = {"system_time_s": None}
TURN = {"agent", "ref", "attempt", "origin"}
PROMPT = {"agent", "ref", "attempt", "agent_state"}


def only(rig: Rig, name: str) -> Told:
    (told,) = rig.told(name)
    return told


def test_a_turn_that_succeeds() -> None:
    """C221, C222, C226, C227: start with its prompt just before, stop with the state before the decision."""
    rig = Rig()
    ref = rig.ask("x")
    assert short(tuple(rig.trace))[-2:] == ["prompt.start", "turn.start"]
    rig.end("r")
    start, stop = only(rig, "turn.start"), only(rig, "turn.stop")
    assert (start.measured, stop.measured) == (TIME, {"duration_s": 0.5})
    assert start.about == stop.about == {"agent": "n", "ref": ref, "attempt": 1, "origin": "ask"}
    begun, ended = only(rig, "prompt.start"), only(rig, "prompt.stop")
    assert set(begun.about) == PROMPT | {"prompt", "original_prompt", "rewritten"}
    assert set(ended.about) == PROMPT
    assert ended.about["agent_state"] == ()
    assert (begun.measured, ended.measured) == (TIME, {"duration_s": 0.5})


@pytest.mark.parametrize(
    ("end", "error", "kind"),
    [
        (lambda rig: rig.end(NoTerminalEvent()), NoTerminalEvent(), "backend_or_callback_error"),
        (lambda rig: rig.feed(on.InterruptAsked()), Interrupted(), "interrupted"),
        (
            lambda rig: rig.feed(on.DeadlineReached(on.Deadline("watchdog", 1))),
            WatchdogTimeout(600.0),
            "timeout",
        ),
        (
            lambda rig: rig.feed(on.WorkerDied(rig.tag, WorkerCrashed("SIGSEGV"))),
            WorkerCrashed("SIGSEGV"),
            "task_crashed",
        ),
    ],
)
def test_a_turn_that_fails(end: Any, error: Any, kind: str) -> None:
    """C223, C228: both errors before `handle_error`, the raw reason under prompt only, a kind under turn."""
    rig = rig_in("P")
    end(rig)
    failed, turn = only(rig, "prompt.error"), only(rig, "turn.error")
    assert failed.about == {"agent": "n", "ref": rig.active, "attempt": 1, "reason": error, "agent_state": ()}
    assert set(failed.measured) == {"system_time_s", "duration_s"}
    assert set(turn.about) == TURN | {"reason_kind"}
    assert turn.about["reason_kind"] == kind
    assert turn.measured["duration_s"] >= 0
    seen = short(tuple(rig.trace))
    assert seen.index("prompt.error") < seen.index("turn.error") < seen.index("handle_error")


def test_rejections_have_no_start() -> None:
    """C224: overloaded, pre_turn, halted and draining rejections are told without a start."""
    kinds = {}
    rig = rig_in("P", max_pending_prompts=1)
    rig.tell("queued", on_halt="fail")
    rig.tell("no room")
    rig.feed(on.HaltAsked())
    rig.end()
    rig.plan("pre_turn", RuntimeError())
    rig.feed(on.ResumeAsked())
    rig.tell("skipped")
    rig.ask("active")
    rig.tell("drained")
    rig.feed(on.DrainAsked("me"))
    for told in rig.told("turn.rejected"):
        assert (told.measured, set(told.about)) == (TIME, TURN | {"reason_kind"})
        kinds[told.about["reason_kind"]] = told.about["ref"]
    assert list(kinds) == ["overloaded", "halted", "pre_turn_skipped", "draining"]
    assert not set(kinds.values()) & {told.about["ref"] for told in rig.told("turn.start")}


def test_input() -> None:
    """C229, C231, C232: notifications seen outside a drain, depths after insertion, and every refusal."""
    rig = rig_in("P", max_pending_notifications=0)
    rig.notify({"n": 1})
    rig.tell("a")
    rig.tell("b")
    assert only(rig, "event.received").about == {"agent": "n", "event": {"n": 1}}
    assert [told.measured for told in rig.told("mailbox.queued")] == [{"depth": 1}, {"depth": 2}]
    assert only(rig, "input.rejected").about["reason"].code == "overloaded"
    rig = rig_in("D")
    rig.notify("e")
    rig.ask("x")
    assert rig.told("event.received") == []
    assert [told.about["reason"] for told in rig.told("input.rejected")] == [Draining(), Draining()]


def test_phases() -> None:
    """C230: nil to idle, idle to processing and back; a halt is no change of phase."""
    rig = Rig()
    rig.ask("x")
    rig.feed(on.HaltAsked())
    rig.end()
    rig.feed(on.ResumeAsked())
    assert [(told.about["from"], told.about["to"]) for told in rig.told("state.changed")] == [
        (None, "idle"),
        ("idle", "processing"),
        ("processing", "idle"),
    ]
    assert rig.told("state.changed")[0].measured == TIME


def test_halted_and_terminated() -> None:
    """C233, C234: told after `post_run` and after both terminate callbacks."""
    rig = Rig()
    rig.feed(on.HaltAsked())
    assert only(rig, "halted").about == {"agent": "n", "agent_state": ()}
    rig.feed(on.StopAsked())
    seen = short(tuple(rig.trace))
    assert seen.index("post_run") < seen.index("halted")
    assert seen.index("terminate_agent") < seen.index("CloseSession") < seen.index("terminated")
    assert only(rig, "terminated").about == {"agent": "n", "reason": "shutdown"}


def test_turn_events_hold_no_content() -> None:
    """C235: nothing under `turn` shows a prompt, response, reason or state."""
    secret = "secret"
    rig = Rig(max_pending_prompts=1).always(
        "pre_turn", lambda prompt, state: Proceed(prompt + secret, (secret,))
    )
    rig.ask(secret)
    rig.tell(secret)
    rig.tell(secret)
    rig.end(secret)
    rig.end(WorkerCrashed(secret))
    rig.feed(on.StopAsked())
    turns = [told for told in rig.all(Told) if told.name.startswith("turn.")]
    assert len(turns) == 5
    assert secret not in repr(turns)


def test_every_start_has_one_end() -> None:
    """C235: three attempts are three starts, two errors and one stop, all under one ref."""
    rig = Rig().always("handle_error", lambda ref, error, state: Prompt("retry", state))
    ref = rig.ask("x")
    rig.end(NoTerminalEvent())
    rig.end(NoTerminalEvent())
    rig.end("fine")
    told = {name: rig.told(f"turn.{name}") for name in ("start", "error", "stop")}
    assert {name: [each.about["attempt"] for each in events] for name, events in told.items()} == {
        "start": [1, 2, 3],
        "error": [1, 2],
        "stop": [3],
    }
    assert {each.about["ref"] for events in told.values() for each in events} == {ref}


def test_a_turn_cut_short_before_it_started() -> None:
    """C235: a turn that is interrupted before a worker had it has a start all the same."""
    rig = Rig()
    rig.worker = False
    rig.ask("x")
    rig.feed(on.InterruptAsked())
    names = [told.name for told in rig.all(Told) if told.name.startswith(("turn", "prompt"))]
    assert names == ["prompt.start", "turn.start", "prompt.error", "turn.error"]


def test_a_turn_cut_short_by_the_end() -> None:
    """C235: a stop ends the active turn's telemetry too, once it is gone."""
    rig = rig_in("P")
    rig.feed(on.StopAsked())
    assert only(rig, "turn.error").about["ref"] == rig.active


def test_failed_dispatch() -> None:
    """C236: without a worker there is a rejection and an error without a duration, and no start."""
    rig = Rig()
    rig.worker = False
    rig.ask("x")
    assert rig.tag is not None
    rig.feed(on.TurnRefused(rig.tag, "no fork"))
    assert only(rig, "prompt.error").measured == TIME
    assert only(rig, "turn.rejected").about["reason_kind"] == "task_supervisor_unavailable"
    assert rig.told("turn.start") == []


def test_nothing_is_put_together_for_nobody() -> None:
    """While nobody listens nothing is told; whoever comes later hears what happens from then on."""
    rig = Rig()
    rig.heard = False
    rig.ask("x")
    rig.heard = True
    rig.end("r")
    told = [entry for entry in short(tuple(rig.trace)) if isinstance(entry, str)]
    assert "turn.start" not in told
    assert "turn.stop" in told
