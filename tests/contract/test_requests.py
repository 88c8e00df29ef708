"""Asking, telling, polling, cancelling and interrupting on real processes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from gen_agent import PENDING, AgentTerminated, DrainTimeout, Overloaded, RequestNotFound
from gen_agent.actors.processes import Watched
from gen_agent.messages import Completion, TelemetryMessage
from gen_agent.values import mint
from tests.contract.cast import say
from tests.contract.troupe import PATIENCE_S, Troupe, process_of, told

pytestmark = pytest.mark.bases


def test_prompts_run_one_at_a_time_in_order(troupe: Troupe) -> None:
    """C052, C053, C110, C240: ten tells behind a held turn are admitted at once and run in their order."""
    agent = troupe.start()
    held = troupe.hold(agent)
    refs = [troupe.agents.tell_with_completion(agent, str(number)) for number in range(10)]
    assert troupe.agents.status(agent).queued == 10
    assert {troupe.agents.poll(agent, ref) for ref in (held, *refs)} == {PENDING}
    troupe.release()
    finished = [troupe.next(Completion) for _ in range(11)]
    assert [one.ref for one in finished] == [held, *refs]
    assert [told(one) for one in finished] == ["held", *map(str, range(10))]


def test_refs_are_for_one_request_of_one_agent(troupe: Troupe) -> None:
    """C011, C111, C119: a stale ref, also of an agent that is gone, never meets another turn."""
    old = troupe.start()
    stale = troupe.agents.tell_with_completion(old, "a")
    assert troupe.outcome(stale) == "a"
    troupe.agents.stop(old)
    new = troupe.start()
    held = troupe.hold(new)
    assert troupe.agents.interrupt_request(new, stale) == "not_current"
    assert troupe.agents.cancel_request(new, stale) == "not_found"
    with pytest.raises(RequestNotFound):
        troupe.agents.poll(new, stale)
    troupe.release()
    assert troupe.outcome(held) == "held"
    assert troupe.agents.interrupt_request(new, held) == "idle"


def test_a_completion_does_not_need_the_cache(troupe: Troupe) -> None:
    """C113, C158-C160: with room for one result both completions come; only the newest is pollable."""
    agent = troupe.start(max_tell_results=1)
    refs = [troupe.agents.tell_with_completion(agent, name) for name in ("a", "b")]
    assert troupe.outcomes(*refs) == ["a", "b"]
    with pytest.raises(RequestNotFound):
        troupe.agents.poll(agent, refs[0])
    assert [troupe.agents.poll(agent, refs[1]).text for _ in range(2)] == ["b", "b"]


def test_a_result_larger_than_the_cache_empties_it(troupe: Troupe) -> None:
    """C159-C161: older results are evicted for a huge one, and then it is, too; its completion comes."""
    agent = troupe.start(max_tell_result_bytes=4_000)
    refs = [troupe.agents.tell_with_completion(agent, prompt) for prompt in ("a", "b", "huge pad:9000")]
    assert troupe.outcomes(*refs) == ["a", "b", "huge"]
    for ref in refs:
        with pytest.raises(RequestNotFound):
            troupe.agents.poll(agent, ref)
    last = troupe.agents.tell_with_completion(agent, "small")
    assert troupe.outcome(last) == "small"
    assert troupe.agents.poll(agent, last).text == "small"


def test_a_dead_recipient_changes_nothing(troupe: Troupe) -> None:
    """C114, C181: completion and events for an agent that is gone are lost, the request is not."""
    dead = troupe.start("dead")
    troupe.agents.stop(dead)
    agent = troupe.start()
    ref = troupe.agents.tell_with_completion(agent, "a text:t", dead, stream_to=dead)
    assert troupe.ask(agent, "b") == "b"
    assert troupe.agents.poll(agent, ref).text == "a"


def test_an_asks_ref_is_pending_and_then_unknown(troupe: Troupe) -> None:
    """C118, C122, C158: the ref of an ask can be polled while it runs, never cancelled, and is not cached."""
    agent = troupe.start(telemetry_to=troupe.agents.address)
    asking = troupe.asking(agent, "held hold:here")
    troupe.stage.wait_blocked("here", PATIENCE_S)
    ref = troupe.next(TelemetryMessage).metadata["ref"]
    assert troupe.agents.poll(agent, ref) is PENDING
    assert troupe.agents.cancel_request(agent, ref) == "not_found"
    troupe.release()
    assert asking.ended() == "held"
    with pytest.raises(RequestNotFound):
        troupe.agents.poll(agent, ref)


def test_cancelling_case_by_case(troupe: Troupe) -> None:
    """C065, C122, C123: current, cancelled (twice, told once), already finished, not found; capacity is free
    at once and no callback runs."""
    agent = troupe.start(max_pending_prompts=1)
    done = troupe.agents.tell_with_completion(agent, "done")
    assert troupe.outcome(done) == "done"
    held = troupe.hold(agent)
    queued = troupe.agents.tell_with_completion(agent, "queued")
    with pytest.raises(Overloaded):
        troupe.agents.tell(agent, "no room")
    cancel = troupe.agents.cancel_request
    assert cancel(agent, held) == "current"
    assert [cancel(agent, queued), cancel("a", queued)] == ["cancelled", "cancelled"]
    assert cancel(agent, done) == "already_finished"
    assert cancel(agent, mint.request()) == "not_found"
    with pytest.raises(Exception, match="cancelled"):
        troupe.agents.poll(agent, queued)
    taken = troupe.agents.tell_with_completion(agent, "taken")
    troupe.release()
    assert troupe.outcomes(queued, held, taken) == ["cancelled", "held", "taken"]
    assert troupe.until_end(agent) == []
    assert not [line for line in troupe.lines(agent) if "queued" in line or "cancelled" in line]


def test_an_evicted_cancellation_is_not_found(troupe: Troupe) -> None:
    """C124: once newer results have pushed it out, a cancelled ref is as unknown as any."""
    agent = troupe.start(max_tell_results=1)
    troupe.agents.halt(agent)
    first, second = (troupe.agents.tell_with_completion(agent, name) for name in ("a", "b"))
    assert troupe.agents.cancel_request(agent, second) == "cancelled"
    troupe.agents.resume(agent)
    assert troupe.outcomes(second, first) == ["cancelled", "a"]
    assert troupe.agents.cancel_request(agent, second) == "not_found"


def test_an_interrupt_ends_the_turn_and_its_worker(troupe: Troupe) -> None:
    """C061, C119, C120, C245: the worker is gone, the callbacks have run and the completion is sent when the
    answer comes; a second one finds idle and the next turn is untouched."""
    agent = troupe.start()
    ref = troupe.hold(agent)
    assert troupe.agents.interrupt_request(agent, mint.request()) == "not_current"
    with Watched(troupe.stage.wait_blocked("here", PATIENCE_S)) as worker:
        assert troupe.agents.interrupt_request(agent, ref) == "accepted"
        assert troupe.written()[-2:] == ["handle_error interrupted", "post_turn interrupted"]
        assert worker.ended
    completion = troupe.agents.receive(timeout=PATIENCE_S)
    assert (completion.ref, told(completion)) == (ref, "interrupted")
    assert troupe.lines(agent)[-2:] == ["handle_error interrupted", "post_turn interrupted"]
    assert troupe.agents.interrupt_request(agent, ref) == "idle"
    troupe.agents.interrupt(agent)
    assert troupe.agents.ask(agent, "next").terminal.data["turns"] == 0


def test_interrupt_versus_finish_has_one_outcome(troupe: Troupe) -> None:
    """C121: released and interrupted at the same time, each of 30 requests has exactly one outcome."""
    agent = troupe.start(max_turns_per_worker=None)
    seen = set()
    with ThreadPoolExecutor(1) as pool:
        for _ in range(30):
            ref = troupe.hold(agent)
            released = pool.submit(troupe.stage.release, "here", PATIENCE_S)
            answer = troupe.agents.interrupt_request(agent, ref)
            released.result()
            (completion,) = troupe.until_end(agent)
            assert completion.ref == ref
            assert told(completion) == ("interrupted" if answer == "accepted" else "held")
            seen.add(answer)
    assert seen <= {"accepted", "idle"}


def test_a_stop_answers_every_ask(troupe: Troupe) -> None:
    """C071, C109, C115, C248: the active and the queued ask hear AgentTerminated, told requests nothing but a
    Down; the worker is dead before the agent's last words."""
    agent = troupe.start()
    monitor = troupe.agents.monitor(agent)
    asked = [troupe.asking(agent, "held hold:here")]
    troupe.stage.wait_blocked("here", PATIENCE_S)
    asked.append(troupe.asking(agent, "queued"))
    troupe.until(lambda: troupe.agents.status(agent).queued == 1)
    troupe.agents.tell_with_completion(agent, "told")
    with process_of(agent) as process:
        troupe.agents.stop(agent, timeout=PATIENCE_S)
        assert process.ended
    troupe.stage.wait_gone("here", PATIENCE_S)
    assert [one.ended() for one in asked] == [AgentTerminated("shutdown")] * 2
    came, down = troupe.until_down(monitor)
    assert (came, down.reason) == ([], "shutdown")
    assert troupe.written()[-2:] == ["terminate_agent shutdown", "terminate_session 0"]


def test_own_turns_of_an_agent_have_refs_nobody_can_poll_afterwards(troupe: Troupe) -> None:
    """C094, C122: event turns and chains end in callbacks; their refs are not in the cache."""
    book = {("handle_event", "e"): say("own"), ("handle_response", "own"): say("chained")}
    agent = troupe.start(book=book)
    troupe.agents.notify_ack(agent, "e")
    troupe.until(lambda: "handle_response chained" in troupe.lines(agent))
    refs = troupe.refs(agent)
    assert len(set(refs)) == 2
    for ref in refs:
        assert troupe.agents.cancel_request(agent, ref) == "not_found"
        with pytest.raises(RequestNotFound):
            troupe.agents.poll(agent, ref)


def test_an_agent_at_work_says_at_what(troupe: Troupe) -> None:
    """C070, C184, C192-C194, C217: status and snapshot agree, and the active request is described."""
    agent = troupe.start(watchdog_s=500)
    idle = troupe.agents.runtime_snapshot(agent)
    assert (idle.phase, idle.current_request, idle.halted) == ("idle", None, False)
    held = troupe.hold(agent)
    troupe.agents.tell(agent, "queued")
    snapshot, status = troupe.agents.runtime_snapshot(agent), troupe.agents.status(agent)
    active = snapshot.current_request
    assert active is not None
    assert (active.ref, active.origin, active.attempt, active.watchdog_s) == (held, "tell", 1, 500.0)
    assert active.elapsed_s >= 0
    assert (snapshot.phase, snapshot.pending_prompts) == (status.state, status.queued) == ("processing", 1)
    assert status.current_request == held
    troupe.release()
    assert troupe.outcome(held) == "held"


def test_halted_and_draining_agents_tell_why_in_status(troupe: Troupe) -> None:
    """C066, C067, C070, C192, C193: halted, about to halt, or draining: nothing else is said of it."""
    agent, agents = troupe.start(), troupe.agents

    def said() -> tuple[bool, bool, bool]:
        status, snapshot = agents.status(agent), agents.runtime_snapshot(agent)
        flags = (status.halted, status.halt_pending, status.draining)
        assert flags == (snapshot.halted, snapshot.halt_pending, snapshot.draining)
        return flags

    assert said() == (False, False, False)
    agents.halt(agent)
    assert said() == (True, False, False)
    agents.resume(agent)
    held = troupe.hold(agent)
    agents.halt(agent)
    assert said() == (False, True, False)
    agents.resume(agent)
    assert said() == (False, False, False)
    with pytest.raises(DrainTimeout):
        agents.drain(agent, timeout=0.3)
    assert said() == (False, False, True)
    troupe.release()
    assert troupe.outcome(held) == "held"
