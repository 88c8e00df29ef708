"""Bounded queues on real processes: who is refused, when there is room again."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from gen_agent import Overloaded, RequestRef
from tests.contract.cast import Act
from tests.contract.troupe import Troupe

pytestmark = pytest.mark.bases


def test_prompts_and_notifications_have_a_queue_each(troupe: Troupe) -> None:
    """C147, C148, C151, C154: of each one more is refused, by count; an interrupt makes room for both."""
    agent = troupe.start(max_pending_prompts=1, max_pending_notifications=1)
    held = troupe.hold(agent)
    queued = troupe.agents.tell_with_completion(agent, "queued")
    troupe.agents.notify_ack(agent, "first")
    for refused, queue in (
        (lambda: troupe.agents.tell_with_completion(agent, "more"), "prompts"),
        (lambda: troupe.agents.notify_ack(agent, "more"), "notifications"),
    ):
        with pytest.raises(Overloaded) as caught:
            refused()
        error = caught.value
        assert (error.queue, error.limit, error.pending_count, error.max_count) == (queue, "count", 1, 1)
    troupe.agents.interrupt_request(agent, held)
    troupe.agents.notify_ack(agent, "second")
    assert troupe.outcomes(held, queued) == ["interrupted", "queued"]
    events = [line for line in troupe.lines(agent) if line.startswith("handle_event")]
    assert events == ["handle_event first", "handle_event second"]
    assert troupe.until_end(agent) == []


def test_zero_turns_a_queue_off(troupe: Troupe) -> None:
    """C060, C150, C154, C156: an idle agent works without queues; a busy one refuses prompts and acknowledged
    events and drops the rest."""
    doorkeeper = ("tests.contract.diary:doorkeeper",)
    agent = troupe.start(max_pending_prompts=0, max_pending_notifications=0, telemetry=doorkeeper)
    assert troupe.ask(agent, "a") == "a"
    troupe.agents.notify_ack(agent, "handled")
    held = troupe.hold(agent)
    with pytest.raises(Overloaded):
        troupe.agents.ask(agent, "b")
    with pytest.raises(Overloaded):
        troupe.agents.notify_ack(agent, "refused")
    troupe.agents.notify(agent, "dropped")
    troupe.agents._line.post(agent.actor, "dropped")
    troupe.agents.status(agent)
    troupe.release()
    assert troupe.outcome(held) == "held"
    events = [line for line in troupe.lines(agent) if line.startswith(("handle_event", "handle_info"))]
    assert events == ["handle_event handled"]
    refusals = [line for line in troupe.written() if line.startswith("refused")]
    assert refusals == ["refused prompts count", *["refused notifications count"] * 3]


def test_many_who_ask_at_once_never_get_more_room_than_there_is(troupe: Troupe) -> None:
    """C153: of twenty tells by five threads exactly three are admitted."""
    agent = troupe.start(max_pending_prompts=3)
    held = troupe.hold(agent)
    clients = [troupe.more() for _ in range(5)]

    def work(client: object) -> list[object]:
        return [_try(client, agent) for _ in range(4)]

    with ThreadPoolExecutor(5) as pool:
        found = [one for result in pool.map(work, clients) for one in result]
    assert (found.count("overloaded"), len(found)) == (17, 20)
    assert troupe.agents.runtime_snapshot(agent).pending_prompts == 3
    troupe.release()
    assert troupe.outcome(held) == "held"


def _try(client: object, agent: object) -> object:
    try:
        ref = client.tell(agent, "x")  # type: ignore[attr-defined]
    except Overloaded as error:
        return error.code
    assert isinstance(ref, RequestRef)
    return ref


def test_mailbox_casts_are_not_pending_prompts(troupe: Troupe) -> None:
    """C205: behind a blocked callback ten submits return; then one runs, one waits, eight are refused."""
    agent = troupe.start(book={("handle_event", "held"): Act(hold="callback")}, max_pending_prompts=1)
    troupe.agents.notify(agent, "held")
    troupe.stage.wait_blocked("callback")
    refs = [troupe.agents.submit_with_completion(agent, f"s{number} hold:here") for number in range(10)]
    troupe.release("callback")
    admissions = [troupe.next() for _ in refs]
    assert [one.ref for one in admissions] == refs
    assert [one.error.code if one.error else None for one in admissions] == [None, None, *["overloaded"] * 8]
    troupe.release()
    troupe.release()
    assert troupe.outcomes(*refs[:2]) == ["s0", "s1"]
    assert troupe.until_end(agent) == []
