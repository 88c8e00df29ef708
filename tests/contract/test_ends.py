"""How agents end on real processes, and whose they are."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

import pytest
from thespian.actors import ActorExitRequest

from gen_agent import AgentDown, AgentNotFound, CallTimeout, DrainTimeout, child_spec
from gen_agent.actors.processes import Watched
from gen_agent.messages import Completion
from tests.actors.boss import Boss
from tests.actors.crew import Customer
from tests.contract.cast import RAISE, Act, Puppet
from tests.contract.history_desk import Beside
from tests.contract.stagehand import Stagehand
from tests.contract.troupe import PATIENCE_S, Troupe, kill, parent_of, process_of

pytestmark = pytest.mark.bases


def test_a_worker_is_its_agents_child(troupe: Troupe) -> None:
    """C007, C100: each held turn runs in a child of its own agent; killing one agent ends its worker and
    nobody else's."""
    first, second = troupe.start("a"), troupe.start("b")
    refs = [troupe.hold(first), troupe.agents.tell_with_completion(second, "b hold:there")]
    workers = [troupe.stage.wait_blocked(tag, PATIENCE_S) for tag in ("here", "there")]
    assert [parent_of(worker) for worker in workers] == [first.incarnation.pid, second.incarnation.pid]
    monitor = troupe.agents.monitor(first)
    kill(first)
    assert troupe.until_down(monitor)[1].reason == "killed"
    troupe.stage.wait_gone("here", PATIENCE_S)
    troupe.release("there")
    assert troupe.outcome(refs[1]) == "b"


def test_a_caller_owned_agent_ends_with_its_owner(troupe: Troupe) -> None:
    """C007, C015, C127: an actor's own agent ends in order when the actor does: its worker dies first, its
    last words are said; no other's stop reaches it."""
    with_owner = troupe.more()
    boss = Boss(with_owner, Customer)
    spec = child_spec(
        Puppet, name="kid", backend=Stagehand, book={}, stage=troupe.stage.address, diary=troupe.diary
    )
    boss.do("start_child", spec)
    agent = boss.got().result()
    troupe.hold(agent)
    monitor = troupe.agents.monitor(agent)
    with pytest.raises(AgentNotFound):
        troupe.agents.stop("kid")
    assert troupe.agents.status(agent).state == "processing"
    boss.endpoint.post(boss.customer, ActorExitRequest())
    came, down = troupe.until_down(monitor)
    assert (came, down.reason) == ([], "shutdown")
    troupe.stage.wait_gone("here", PATIENCE_S)
    assert troupe.written()[-2:] == ["terminate_agent shutdown", "terminate_session 0"]


def test_what_happens_to_an_agents_own_actors_is_told_to_it(troupe: Troupe) -> None:
    """C098, C099: the death of an actor that a callback made arrives in handle_info; deaths of workers never
    do; the agent goes on."""
    agent = troupe.start(book={("handle_event", "make"): Act("make")})
    troupe.agents.notify_ack(agent, "make")
    troupe.until(lambda: any(line.startswith("handle_info pid ") for line in troupe.lines(agent)))
    pid = int(next(line for line in troupe.lines(agent) if line.startswith("handle_info pid ")).split()[-1])
    troupe.agents.interrupt_request(agent, troupe.hold(agent))
    assert troupe.ask(agent, "a exit:3") == "task_crashed"
    os.kill(pid, signal.SIGKILL)
    troupe.until(lambda: "handle_info ChildActorExited" in troupe.lines(agent))
    assert troupe.ask(agent, "b") == "b"
    infos = [line for line in troupe.lines(agent) if line.startswith("handle_info")]
    assert infos == [f"handle_info pid {pid}", "handle_info ChildActorExited"]


def test_a_death_told_late_hides_none(troupe: Troupe) -> None:
    """C099: Thespian's word on an end comes again, when an actor of the agent's own is dead and not looked
    for yet; handle_info hears of that one as well."""
    agent = troupe.start(book={("handle_event", "make"): Act("make"), ("handle_event", "*"): Act("lose")})
    troupe.agents.notify_ack(agent, "make")
    troupe.until(lambda: any(line.startswith("handle_info pid ") for line in troupe.lines(agent)))
    pid = next(line for line in troupe.lines(agent) if line.startswith("handle_info pid ")).split()[-1]
    troupe.agents.notify_ack(agent, pid)
    troupe.until(lambda: troupe.lines(agent).count("handle_info ChildActorExited") == 2)


def test_two_deaths_at_once(troupe: Troupe) -> None:
    """C098, C099: when an actor of the agent's own and its worker die while it is busy, handle_info hears of
    the one, whoever is found first, and never of the other."""
    book = {("handle_event", "make"): Act("make"), ("handle_event", "held"): Act(hold="callback")}
    agent = troupe.start(book=book)
    troupe.agents.notify_ack(agent, "make")
    troupe.until(lambda: any(line.startswith("handle_info pid ") for line in troupe.lines(agent)))
    own = int(next(line for line in troupe.lines(agent) if line.startswith("handle_info pid ")).split()[-1])
    ref = troupe.hold(agent)
    worker = troupe.stage.wait_blocked("here", PATIENCE_S)
    troupe.release()
    assert troupe.outcome(ref) == "held"
    troupe.agents.notify(agent, "held")
    troupe.stage.wait_blocked("callback", PATIENCE_S)
    for pid in (own, worker):  # told of the first, it looks at its children and finds both dead
        with Watched(pid) as process:
            process.signal(signal.SIGKILL)
            assert process.wait(PATIENCE_S)
    troupe.release("callback")
    troupe.until(lambda: "handle_info ChildActorExited" in troupe.lines(agent))
    troupe.until(lambda: troupe.ask(agent, "b") == "b")
    infos = [line for line in troupe.lines(agent) if line.startswith("handle_info")]
    assert infos == [f"handle_info pid {own}", "handle_info ChildActorExited"]


def test_a_stop_says_the_last_words_in_order(troupe: Troupe) -> None:
    """C047, C049, C234, C248: the worker is dead before terminate_agent, which comes before the session's end
    and the telemetry."""
    agent = troupe.start(
        book={("terminate_agent", "shutdown"): Act(hold="ending")},
        telemetry=("tests.contract.diary:diarist",),
    )
    troupe.hold(agent)
    stopping = threading.Thread(target=lambda: troupe.more().stop(agent, timeout=PATIENCE_S))
    stopping.start()
    troupe.stage.wait_blocked("ending", PATIENCE_S)
    troupe.stage.wait_gone("here", PATIENCE_S)
    troupe.release("ending")
    stopping.join(PATIENCE_S)
    told_last = [line for line in troupe.written() if "terminate" in line]
    assert told_last == ["terminate_agent shutdown", "terminate_session 0", "telemetry terminated"]


def test_a_raising_last_word_is_not_the_last(troupe: Troupe) -> None:
    """C048: terminate_session runs all the same, and the stop is an orderly one."""
    agent = troupe.start(book={("terminate_agent", "shutdown"): RAISE})
    monitor = troupe.agents.monitor(agent)
    troupe.agents.stop(agent, timeout=PATIENCE_S)
    assert troupe.until_down(monitor)[1].reason == "shutdown"
    assert troupe.written()[-1] == "terminate_session 0"


def test_a_kill_says_nothing(troupe: Troupe) -> None:
    """C047, C104, C115: no callback runs, an ask that waits ends with AgentDown(killed)."""
    agent = troupe.start()
    asking = troupe.asking(agent, "held hold:here")
    troupe.stage.wait_blocked("here", PATIENCE_S)
    kill(agent)
    error = asking.ended()
    assert (type(error), error.reason) == (AgentDown, "killed")
    troupe.stage.wait_gone("here", PATIENCE_S)
    assert not [line for line in troupe.written() if line.startswith("terminate")]


def test_a_stop_waits_for_a_callback_no_longer_than_allowed(troupe: Troupe) -> None:
    """C129: longer than shutdown_s and it is killed without cleanup, as the Down says."""
    agent = troupe.start(book={("handle_event", "held"): Act(hold="callback")}, shutdown_s=0.3)
    monitor = troupe.agents.monitor(agent)
    troupe.agents.notify(agent, "held")
    troupe.stage.wait_blocked("callback")
    troupe.agents.stop(agent, timeout=PATIENCE_S)
    assert troupe.until_down(monitor)[1].reason == "killed"
    assert not [line for line in troupe.written() if line.startswith("terminate")]


def test_an_agent_does_not_stop_itself_but_others(troupe: Troupe) -> None:
    """C128: by name or address it is SelfStop at once, and the turn goes on; another agent is stopped."""
    book = {("handle_response", "me"): Act("stop", "a"), ("handle_response", "it"): Act("stop", "b")}
    agent, other = troupe.start("a", book), troupe.start("b")
    monitor = troupe.agents.monitor(other)
    assert troupe.ask(agent, "me") == "me"
    assert "stop SelfStop" in troupe.written()
    assert troupe.ask(agent, "it") == "it"
    assert troupe.until_down(monitor)[1].reason == "shutdown"
    assert troupe.ask(agent, "still") == "still"


def test_two_drains_wait_for_one_end(troupe: Troupe) -> None:
    """C213, C214: a drain that timed out goes on; a second one waits for the same end, and both are
    content."""
    agent = troupe.start()
    ref = troupe.hold(agent)
    with pytest.raises(DrainTimeout):
        troupe.agents.drain(agent, timeout=0.3)
    clients = [troupe.more(), troupe.more()]
    ended: list[object] = []
    drains = [
        threading.Thread(target=lambda client=client: ended.append(client.drain(agent, timeout=PATIENCE_S)))  # type: ignore[misc]
        for client in clients
    ]
    for drain in drains:
        drain.start()
    with process_of(agent) as process:
        troupe.release()
        for drain in drains:
            drain.join(PATIENCE_S)
        assert process.ended
    assert ended == [None, None]
    assert troupe.outcome(ref) == "held"
    with pytest.raises(AgentNotFound):
        troupe.agents.drain("a")


def test_a_drain_of_an_agent_that_is_killed(troupe: Troupe) -> None:
    """C213: an end that was no drain is AgentDown with its reason."""
    agent = troupe.start()
    troupe.hold(agent)
    outcome: list[object] = []
    client = troupe.more()

    def drain() -> None:
        try:
            client.drain(agent, timeout=PATIENCE_S)
        except AgentDown as error:
            outcome.append(error.reason)

    thread = threading.Thread(target=drain)
    thread.start()
    troupe.until(lambda: troupe.agents.status(agent).draining)
    kill(agent)
    thread.join(PATIENCE_S)
    assert outcome == ["killed"]


def test_a_drain_that_was_not_taken_in_time(troupe: Troupe) -> None:
    """C213: while a callback blocks it is CallTimeout, not DrainTimeout; what was asked for happens all the
    same."""
    agent = troupe.start(book={("handle_event", "held"): Act(hold="callback")})
    monitor = troupe.agents.monitor(agent)
    troupe.agents.notify(agent, "held")
    troupe.stage.wait_blocked("callback", PATIENCE_S)
    with pytest.raises(CallTimeout):
        troupe.agents.drain(agent, timeout=0.3)
    troupe.release("callback")
    assert troupe.until_down(monitor)[1].reason == "normal"
    with pytest.raises(AgentDown):
        troupe.agents.drain(agent)


def test_an_end_that_was_no_drain(troupe: Troupe) -> None:
    """C109, C213: a stop during a drain is AgentDown(shutdown) for whoever drains, and so is a crash with its
    own reason."""
    reasons = {"stopped": "shutdown", "crashed": "callback_failed"}
    for name, reason in reasons.items():
        agent = troupe.start(name, {("handle_response", "held hold:here"): RAISE})
        troupe.hold(agent)
        drain = Beside(troupe.more(), lambda client, agent=agent: _drain(client, agent))  # type: ignore[misc]
        troupe.until(lambda agent=agent: troupe.agents.status(agent).draining)  # type: ignore[misc]
        if name == "stopped":
            troupe.agents.stop(agent, timeout=PATIENCE_S)
            troupe.stage.wait_gone("here", PATIENCE_S)
        else:
            troupe.release()
        drain.read([("answer", reason)])


def _drain(client: Any, agent: Any) -> Any:
    try:
        return client.drain(agent, timeout=PATIENCE_S)
    except AgentDown as error:
        return error.reason


def test_a_new_agent_of_a_name_is_new(troupe: Troupe) -> None:
    """C012, C013, C111: after a kill the name is free; state, session and refs begin anew."""
    first = troupe.start()
    old = troupe.agents.tell(first, "a")
    monitor = troupe.agents.monitor(first)
    kill(first)
    assert troupe.until_down(monitor)[1].reason in ("killed", "noproc")
    second = troupe.start()
    assert second != first
    assert troupe.lines(second) == []
    assert troupe.agents.ask("a", "b").terminal.data["turns"] == 0
    with pytest.raises(LookupError):
        troupe.agents.poll("a", old)


def test_a_down_comes_last(troupe: Troupe) -> None:
    """C115, C203, C206: it ends what came of its agent, which is what was sent first, without a gap."""
    agent = troupe.start()
    monitor = troupe.agents.monitor(agent)
    refs = [troupe.agents.submit_with_completion(agent, str(number)) for number in range(100)]
    troupe.until(
        lambda: troupe.agents.receive(lambda one: isinstance(one, Completion), timeout=1) is not None
    )
    kill(agent)
    came, down = troupe.until_down(monitor)
    assert down.reason == "killed"
    finished = [one.ref for one in came if isinstance(one, Completion)]
    assert finished == refs[1 : len(finished) + 1]
    assert troupe.agents.receive(timeout=0.05) is None
