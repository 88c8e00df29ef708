"""Halting, resuming and draining on real processes, with work of every kind queued."""

from __future__ import annotations

import pytest

from gen_agent import PENDING, Draining, DrainTimeout, Halted
from gen_agent.messages import Admission, Completion
from tests.contract.cast import HALT, SKIP, say
from tests.contract.troupe import PATIENCE_S, Troupe, told

pytestmark = pytest.mark.bases


def test_a_halt_during_a_turn_waits_for_its_end(troupe: Troupe) -> None:
    """C066, C080: the turn and its deferred events come first, then post_run; the queue stays."""
    agent = troupe.start()
    held = troupe.hold(agent)
    second = troupe.agents.tell_with_completion(agent, "second")
    troupe.agents.notify(agent, "event")
    troupe.agents.halt(agent)
    assert troupe.agents.status(agent).halt_pending
    troupe.release()
    assert troupe.outcome(held) == "held"
    status = troupe.agents.status(agent)
    assert (status.halted, status.halt_pending, status.queued) == (True, False, 1)
    assert troupe.agents.poll(agent, second) is PENDING
    assert [line.split()[0] for line in troupe.written()[-4:]] == [
        "handle_response", "post_turn", "handle_event", "post_run",
    ]  # fmt: skip
    troupe.agents.resume(agent)
    assert troupe.outcome(second) == "second"


def test_a_resume_takes_a_pending_halt_back(troupe: Troupe) -> None:
    """C067, C081: nothing was halted, and post_run never ran."""
    agent = troupe.start()
    held = troupe.hold(agent)
    second = troupe.agents.tell_with_completion(agent, "second")
    troupe.agents.halt(agent)
    troupe.agents.resume(agent)
    assert not troupe.agents.status(agent).halt_pending
    troupe.release()
    assert troupe.outcomes(held, second) == ["held", "second"]
    assert not troupe.agents.status(agent).halted
    assert not [line for line in troupe.written() if line.startswith("post_run")]


def test_two_halts_are_one(troupe: Troupe) -> None:
    """C082, C083: a decision that halts under a pending halt, and a halt of the halted, are one halt."""
    agent = troupe.start(book={("handle_response", "held hold:here"): HALT})
    held = troupe.hold(agent)
    troupe.agents.halt(agent)
    troupe.release()
    assert troupe.outcome(held) == "held"
    troupe.agents.halt(agent)
    troupe.agents.halt(agent)
    status = troupe.agents.status(agent)
    assert (status.halted, status.halt_pending) == (True, False)
    assert len([line for line in troupe.written() if line.startswith("post_run")]) == 1


def test_a_halted_agent_keeps_what_it_is_given(troupe: Troupe) -> None:
    """C084, C182: requests wait in a halted agent longer than any watchdog, as pending, and run on resume."""
    agent = troupe.start(watchdog_s=1.0)
    troupe.agents.halt(agent)
    refs = [troupe.agents.tell_with_completion(agent, name) for name in ("a", "b")]
    assert troupe.agents.receive(timeout=1.2) is None
    assert [troupe.agents.poll(agent, ref) for ref in refs] == [PENDING, PENDING]
    troupe.agents.resume(agent)
    assert troupe.outcomes(*refs) == ["a", "b"]


@pytest.mark.parametrize("halted_by", ["event", "decision", "halt"])
def test_entering_a_halt_fails_those_who_asked_for_it(troupe: Troupe, halted_by: str) -> None:
    """C054, C056, C085, C086, C158, C246: on_halt="fail" requests are told in order, before the deferred
    event's prompt takes their place, and their end is kept."""
    book = {("handle_event", "event"): HALT, ("handle_event", "e"): say("prompted")}
    if halted_by == "decision":
        book["handle_response", "held hold:here"] = HALT
    agent = troupe.start(book=book, max_pending_prompts=3)
    held = troupe.hold(agent)
    refs = [
        troupe.agents.tell_with_completion(agent, name, on_halt="fail" if name != "b" else "queue")
        for name in ("a", "b", "c")
    ]
    troupe.agents.notify_ack(agent, halted_by)
    if halted_by == "halt":
        troupe.agents.halt(agent)
    troupe.agents.notify_ack(agent, "e")
    troupe.release()
    order = [troupe.next(Completion).ref for _ in range(3)]
    assert order == [held, refs[0], refs[2]]
    with pytest.raises(Halted):
        troupe.agents.poll(agent, refs[0])
    assert troupe.agents.poll(agent, refs[1]) is PENDING
    assert troupe.agents.runtime_snapshot(agent).pending_prompts == 2
    troupe.agents.resume(agent)
    assert troupe.outcome(refs[1]) == "b"
    troupe.until(lambda: "handle_response prompted" in troupe.lines(agent))


def test_who_will_not_wait_is_refused_by_a_halted_agent(troupe: Troupe) -> None:
    """C054, C056, C199: a call raises, a submit is not admitted; what waits already is not touched."""
    agent = troupe.start()
    troupe.agents.halt(agent)
    waiting = troupe.agents.tell_with_completion(agent, "waiting")
    with pytest.raises(Halted):
        troupe.agents.tell_with_completion(agent, "late", on_halt="fail")
    submitted = troupe.agents.submit_with_completion(agent, "late", on_halt="fail")
    admission = troupe.next(Admission)
    assert (admission.ref, admission.error) == (submitted, Halted())
    troupe.agents.resume(agent)
    assert troupe.outcome(waiting) == "waiting"


def test_a_chain_held_by_a_halt_comes_first_on_resume(troupe: Troupe) -> None:
    """C078, C087, C142: the chained prompt survives the halt, outside the queue, and outranks it."""
    book = {("handle_response", "held hold:here"): say("chained"), ("handle_event", "halt"): HALT}
    agent = troupe.start(book=book)
    held = troupe.hold(agent)
    queued = troupe.agents.tell_with_completion(agent, "queued")
    troupe.agents.notify_ack(agent, "halt")
    troupe.release()
    assert troupe.outcome(held) == "held"
    snapshot = troupe.agents.runtime_snapshot(agent)
    assert (snapshot.halted, snapshot.self_chain_pending, snapshot.pending_prompts) == (True, True, 1)
    troupe.agents.resume(agent)
    assert troupe.outcome(queued) == "queued"
    order = [line for line in troupe.lines(agent) if line.startswith("pre_turn")]
    assert order == ["pre_turn held hold:here", "pre_turn chained", "pre_turn queued"]


def test_a_refused_prompt_lets_the_next_one_run(troupe: Troupe) -> None:
    """C029, C079, C202: two queued requests that pre_turn skips are told so, the third runs."""
    agent = troupe.start(book={("pre_turn", "skip"): SKIP})
    held = troupe.hold(agent)
    refs = [troupe.agents.submit_with_completion(agent, name) for name in ("skip", "skip", "ok")]
    admissions = [troupe.next(Admission) for _ in refs]
    assert [(one.ref, one.error) for one in admissions] == [(ref, None) for ref in refs]
    troupe.release()
    assert troupe.outcomes(held, *refs) == ["held", "pre_turn_skipped", "pre_turn_skipped", "ok"]
    assert troupe.lines(agent).count("post_turn ok") == 2


def test_a_draining_agent_takes_nothing(troupe: Troupe) -> None:
    """C052-C060, C088: calls raise Draining, a submit is not admitted, a notify and an ordinary message are
    dropped silently."""
    agent = troupe.start()
    held = troupe.hold(agent)
    with pytest.raises(DrainTimeout):
        troupe.agents.drain(agent, timeout=0.3)
    assert troupe.agents.status(agent).draining
    agents = troupe.agents
    for refused in (agents.ask, agents.tell, agents.notify_ack, agents.tell_with_completion):
        with pytest.raises(Draining):
            refused(agent, "late")
    late = agents.submit_with_completion(agent, "late")
    with pytest.raises(Draining):
        agents.completion(late, timeout=PATIENCE_S)
    agents.notify(agent, "ignored")
    agents._line.post(agent.actor, "ignored, too")
    assert agents.status(agent).agent_state.lines == ("pre_turn held hold:here",)
    troupe.release()
    assert troupe.outcome(held) == "held"


def test_a_drain_ends_what_waits_and_lets_the_turn_finish(troupe: Troupe) -> None:
    """C088, C158, C215: queued work is told Draining, events and chains are dropped, the active turn ends as
    ever."""
    agent = troupe.start(book={("handle_response", "held hold:here"): say("chained")})
    held = troupe.hold(agent)
    monitor = troupe.agents.monitor(agent)
    queued = troupe.agents.tell_with_completion(agent, "queued")
    troupe.agents.notify_ack(agent, "dropped")
    with pytest.raises(DrainTimeout):
        troupe.agents.drain(agent, timeout=0.3)
    assert troupe.outcome(queued) == "draining"
    troupe.release()
    came, down = troupe.until_down(monitor)
    assert [(one.ref, told(one)) for one in came] == [(held, "held")]
    assert down.reason == "normal"
    written = troupe.written()
    assert not [line for line in written if line.startswith(("handle_event", "prompt chained", "post_run"))]
    assert written[-2:] == ["terminate_agent normal", "terminate_session 1"]


def test_a_drained_turns_error_is_not_retried(troupe: Troupe) -> None:
    """C089: the caller has the original error; a halting decision still runs post_run before the end."""
    for name, decision in (("a", say("again")), ("b", HALT)):
        agent = troupe.start(name, {("handle_error", "backend_failed"): decision})
        ref = troupe.hold(agent, "held hold:here error:r")
        monitor = troupe.agents.monitor(agent)
        with pytest.raises(DrainTimeout):
            troupe.agents.drain(agent, timeout=0.3)
        troupe.release()
        came, down = troupe.until_down(monitor)
        assert [(one.ref, told(one)) for one in came] == [(ref, "backend_failed")]
        assert down.reason == "normal"
    assert [line for line in troupe.written() if line.startswith("post_run")] == ["post_run 4"]


def test_draining_a_halted_agent_settles_its_queue(troupe: Troupe) -> None:
    """C068, C139: what waited for a resume, a retry included, hears Draining; post_run does not run again."""
    book = {("handle_error", "backend_error"): say("again"), ("handle_event", "halt"): HALT}
    agent = troupe.start(book=book)
    troupe.agents.halt(agent)
    ref = troupe.agents.tell_with_completion(agent, "queued")
    monitor = troupe.agents.monitor(agent)
    troupe.agents.drain(agent, timeout=PATIENCE_S)
    came, down = troupe.until_down(monitor)
    assert ([(one.ref, told(one)) for one in came], down.reason) == ([(ref, "draining")], "normal")
    assert len([line for line in troupe.written() if line.startswith("post_run")]) == 1
