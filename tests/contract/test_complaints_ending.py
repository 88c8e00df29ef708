"""What users of such systems complain about, tried on real agents: work that can't be ended, or isn't."""

from __future__ import annotations

import time
from typing import Any

import pytest

from gen_agent import (
    PENDING,
    AgentDown,
    AgentNotFound,
    AgentTerminated,
    CallTimeout,
    RequestNotFound,
    WatchdogTimeout,
)
from gen_agent.actors.system import AgentSystem
from gen_agent.messages import TelemetryMessage
from gen_agent.values import RequestRef, mint
from tests.contract.cast import Act, say
from tests.contract.troupe import PATIENCE_S, Troupe

ENDLESS = 10**9
LINKS = ("first hold:first", "second hold:second", "third hold:third", "fourth")
STOP_S = 5.0
"""How long a stop may take where nobody's callback needs any time: the default of shutdown_s."""

SLACK_S = 2.0
"""How late a watchdog may be on a machine that is busy with other things."""


def running(troupe: Troupe, agent: Any) -> RequestRef:
    """The ref of the request that an agent works on."""
    active = troupe.agents.runtime_snapshot(agent).current_request
    assert active is not None
    return active.ref


@pytest.mark.parametrize("link", [0, 1, 2], ids=["first", "second", "third"])
def test_each_turn_of_a_chain_can_be_interrupted(troupe: Troupe, link: int) -> None:
    """C119, C141: whichever turn of a self-chain is interrupted, its worker is gone and no later one
    begins."""
    book = {("handle_response", prompt): say(LINKS[number + 1]) for number, prompt in enumerate(LINKS[:3])}
    agent = troupe.start(book=book)
    troupe.agents.tell(agent, LINKS[0])
    for gate in ("first", "second", "third")[:link]:
        troupe.stage.wait_blocked(gate, PATIENCE_S)
        troupe.release(gate)
    gate = LINKS[link].split()[0]
    troupe.stage.wait_blocked(gate, PATIENCE_S)
    assert troupe.agents.interrupt_request(agent, running(troupe, agent)) == "accepted"
    troupe.stage.wait_gone(gate, PATIENCE_S)
    assert troupe.agents.status(agent).state == "idle"
    assert troupe.ask(agent, "next") == "next"
    begun = [line for line in troupe.written() if line.startswith("prompt ")]
    assert begun == [*(f"prompt {prompt}" for prompt in LINKS[: link + 1]), "prompt next"]


def test_an_interrupt_from_another_script_reaches_the_turn(troupe: Troupe, house: AgentSystem) -> None:
    """C119: a client that has joined the system ends the turn of a request it never made, and what the turn
    would have done next is not done."""
    agent = troupe.start()
    ref = troupe.hold(agent, "held hold:here checkpoint:too-late")
    assert house.admin_port is not None
    with AgentSystem.attach(house.admin_port) as guest:
        assert guest.interrupt_request("a", guest.status("a").current_request) == "accepted"
    troupe.stage.wait_gone("here", PATIENCE_S)
    assert troupe.outcome(ref) == "interrupted"
    assert troupe.agents.ask(agent, "next").session_id is None


def test_answers_about_what_is_over_are_immediate_and_distinct(troupe: Troupe) -> None:
    """C119, C122, C207: finished, current, cancelled and unknown requests are told apart, as often as one
    asks."""
    agent = troupe.start()
    done = troupe.agents.tell_with_completion(agent, "done")
    assert troupe.outcome(done) == "done"
    held = troupe.hold(agent)
    gone, unknown = troupe.agents.tell(agent, "gone"), mint.request()
    assert troupe.agents.cancel_request(agent, gone) == "cancelled"
    refs = (done, held, gone, unknown)
    for _ in range(2):
        cancelled = [troupe.agents.cancel_request(agent, ref) for ref in refs]
        assert cancelled == ["already_finished", "current", "cancelled", "not_found"]
        others = [troupe.agents.interrupt_request(agent, ref) for ref in (done, gone, unknown)]
        assert others == ["not_current"] * 3
    troupe.release()
    assert troupe.outcome(held) == "held"
    assert [troupe.agents.interrupt_request(agent, ref) for ref in (*refs, *refs)] == ["idle"] * 8


def test_ending_what_has_ended_is_answered_at_once(troupe: Troupe) -> None:
    """C102, C207, C213: stop and drain of an agent that is gone fail at once, by name and by address, every
    time."""
    agent = troupe.start()
    ref = troupe.agents.tell(agent, "a")
    troupe.agents.stop(agent, timeout=PATIENCE_S)
    for _ in range(2):
        for end in (troupe.agents.stop, troupe.agents.drain):
            with pytest.raises(AgentDown):
                end(agent, timeout=PATIENCE_S)
            with pytest.raises(AgentNotFound):
                end("a", timeout=PATIENCE_S)
        for control in (troupe.agents.cancel_request, troupe.agents.interrupt_request):
            with pytest.raises(AgentDown):
                control(agent, ref, timeout=PATIENCE_S)


def test_an_ask_that_timed_out_is_still_in_reach(troupe: Troupe) -> None:
    """C107, C119: the caller gave up, the turn goes on, and whoever looks finds its ref and ends it."""
    agent = troupe.start()
    with pytest.raises(CallTimeout):
        troupe.agents.ask(agent, "held hold:here", timeout=0.2)
    troupe.stage.wait_blocked("here", PATIENCE_S)
    ref = troupe.agents.status(agent).current_request
    assert troupe.agents.interrupt_request(agent, ref) == "accepted"
    troupe.stage.wait_gone("here", PATIENCE_S)
    with pytest.raises(RequestNotFound):
        troupe.agents.poll(agent, ref)


def test_a_loop_that_was_left_leaves_a_request_with_a_ref(troupe: Troupe) -> None:
    """C119: who breaks off a loop over a stream without closing it can still end exactly that request."""
    agent = troupe.start()
    stream = troupe.agents.stream(agent, "held text:a hold:here", timeout=PATIENCE_S)
    for event in stream:
        assert event.data["text"] == "a"
        break
    assert troupe.agents.poll(agent, stream.ref) is PENDING
    assert troupe.agents.interrupt_request(agent, stream.ref) == "accepted"
    troupe.stage.wait_gone("here", PATIENCE_S)


def test_a_single_request_can_have_a_limit_of_its_own(troupe: Troupe) -> None:
    """C119, C184: without any watchdog a stream's timeout is the limit of its request, which is ended when
    the stream is left."""
    agent = troupe.start(watchdog_s=None)
    with troupe.agents.stream(agent, "held text:a hold:here", timeout=1.0) as stream:
        assert next(stream).data["text"] == "a"
        with pytest.raises(CallTimeout):
            next(stream)
    troupe.stage.wait_gone("here", PATIENCE_S)
    assert troupe.ask(agent, "next") == "next"


def test_a_stop_in_the_middle_of_a_flood_is_prompt(troupe: Troupe) -> None:
    """C071, C109, C129: while a backend gives events as fast as it can, a stop ends the agent, and answers
    every ask that was queued, in no more than the time an agent is given to stop."""
    agent = troupe.start()
    monitor = troupe.agents.monitor(agent)
    ref = troupe.agents.tell_with_completion(agent, f"flood many:{ENDLESS}", stream_to=troupe.agents.address)
    asked = [troupe.asking(agent, "queued") for _ in range(3)]
    troupe.agents.receive(lambda message: getattr(message, "ref", None) == ref, timeout=PATIENCE_S)
    stopper = troupe.more()
    while stopper.status(agent).queued < len(asked):
        pass
    began = time.monotonic()
    stopper.stop(agent, timeout=PATIENCE_S)
    took = time.monotonic() - began
    assert [one.ended() for one in asked] == [AgentTerminated("shutdown")] * 3
    assert troupe.until_down(monitor)[1].reason == "shutdown"
    assert took < STOP_S


def test_a_watchdog_is_on_time_whatever_else_arrives(troupe: Troupe) -> None:
    """C182, C183: an agent that is sent notifications without a pause ends its turn when it is due, not
    before and not much later."""
    agent = troupe.start(watchdog_s=1.0, telemetry_to=troupe.agents.address)
    ref = troupe.agents.tell_with_completion(agent, "held hold:never")
    sent = 0
    while troupe.agents.receive(lambda one: getattr(one, "ref", None) == ref, timeout=0.0) is None:
        for _ in range(100):
            troupe.agents.notify("a", sent)
            sent += 1
    assert sent > 100
    error = troupe.agents.receive(
        lambda one: isinstance(one, TelemetryMessage) and one.name[-1] == "error", timeout=PATIENCE_S
    )
    assert error.metadata["ref"] == ref
    assert 1.0 <= error.measurements["duration_s"] < 1.0 + SLACK_S


def test_a_watchdog_outlives_a_halt_and_a_resume(troupe: Troupe) -> None:
    """C081, C182, C183: halted and resumed while its turn hangs, an agent still ends that turn in time."""
    agent = troupe.start(watchdog_s=1.0)
    ref = troupe.hold(agent)
    for _ in range(3):
        troupe.agents.halt(agent)
        assert troupe.agents.status(agent).halt_pending
        troupe.agents.resume(agent)
    assert troupe.agents.completion(ref, timeout=PATIENCE_S).outcome == WatchdogTimeout(1.0)
    assert troupe.ask(agent, "next") == "next"


def test_every_start_of_a_turn_has_one_end(troupe: Troupe) -> None:
    """C222, C223, C235: whatever ends a turn, a stop of its agent included, its start is followed by exactly
    one end of the same attempt."""
    book = {("handle_error", "backend_failed"): say("retried")}
    agent = troupe.start(book=book, watchdog_s=2.0, telemetry_to=troupe.agents.address)
    monitor = troupe.agents.monitor(agent)
    for prompt in ("a", "b fail", "c crash", "d exit:3", "e silent", "f error:r", "g hold:never"):
        troupe.agents.tell(agent, prompt)
    for end in ("interrupt", "stop"):
        troupe.agents.tell(agent, f"{end} hold:{end}")
        troupe.stage.wait_blocked(end, PATIENCE_S)
        troupe.agents.interrupt(agent) if end == "interrupt" else troupe.agents.stop(agent, timeout=20)
    told = [one for one in troupe.until_down(monitor)[0] if isinstance(one, TelemetryMessage)]
    seen: dict[Any, list[str]] = {}
    for one in told:
        seen.setdefault((one.metadata["ref"], one.metadata["attempt"]), []).append(one.name[-1])
    assert len(seen) == 10
    assert sorted(map(tuple, seen.values())) == [("start", "error")] * 8 + [("start", "stop")] * 2


def test_a_callback_never_waits_for_its_own_end(troupe: Troupe) -> None:
    """C128, C129: a callback that tries to stop its own agent is refused at once, and a stop from outside
    still ends it."""
    agent = troupe.start(book={("handle_event", "end"): Act("stop", "a")})
    troupe.agents.notify_ack(agent, "end", timeout=PATIENCE_S)
    assert "stop SelfStop" in troupe.written()
    troupe.agents.stop(agent, timeout=PATIENCE_S)
    assert troupe.agents.whereis("a") is None
