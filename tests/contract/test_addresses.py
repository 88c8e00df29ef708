"""Captured addresses on real processes: sent to at once, never looked up, never retargeted."""

from __future__ import annotations

import pytest
from thespian.actors import ActorExitRequest

from gen_agent import AgentDown, AgentNotFound, CallTimeout, RequestNotFound
from gen_agent.actors.processes import Watched
from gen_agent.messages import Admission
from gen_agent.values import mint
from tests.actors.boss import Boss
from tests.contract.cast import BAD, HALT, RAISE, SKIP, Act
from tests.contract.history_actor import Numbered
from tests.contract.troupe import BUSY_S, PATIENCE_S, Troupe, kill, process_of, told

pytestmark = pytest.mark.bases


def test_submitting_to_the_dead(troupe: Troupe) -> None:
    """C196, C206, C211: a ref at once, and no message ever: not from the dead, nor from who has its name."""
    dead = troupe.start()
    troupe.agents.stop(dead)
    ref = troupe.agents.submit_with_completion(dead, "a")
    assert ref.issuer
    heir = troupe.start()
    assert troupe.until_end(heir) == []
    assert [line for line in troupe.lines(heir) if line.startswith("pre_turn")] == ["pre_turn end-of-test"]


def test_notifying_an_address(troupe: Troupe) -> None:
    """C210, C211: "ok" for who is there, "not_alive" for the dead; an heir of its name hears nothing."""
    old = troupe.start()
    assert troupe.agents.notify(old, "mine") == "ok"
    assert troupe.lines(old) == ["handle_event mine"]
    troupe.agents.stop(old)
    heir = troupe.start()
    assert troupe.agents.notify(old, "lost") == "not_alive"
    assert troupe.lines(heir) == []


def test_an_actor_speaks_to_the_dead(troupe: Troupe) -> None:
    """C104, C210, C211: an actor's client, too, knows at once who is there; a call to the dead ends as that,
    and an heir of its name hears nothing."""
    boss = Boss(troupe.more(), Numbered)
    old = troupe.start()
    assert boss.do("notify", old, "mine") == "ok"
    boss.do("status", old)
    assert boss.got().result().agent_state.lines == ("handle_event mine",)
    troupe.agents.stop(old)
    heir = troupe.start()
    assert boss.do("notify", old, "lost") == "not_alive"
    call = boss.do("ask", old, "lost")
    assert (reply := boss.got()).call == call
    assert isinstance(reply.error, AgentDown)
    assert troupe.lines(heir) == []
    with Watched(boss.do("pid")) as process:
        boss.endpoint.post(boss.customer, ActorExitRequest())
        assert process.wait(PATIENCE_S)


def test_an_address_is_no_name(troupe: Troupe) -> None:
    """C011, C055: calls take it as that agent; where only a name will do it is a TypeError."""
    agent = troupe.start()
    assert troupe.agents.status(agent).name == "a"
    with pytest.raises(TypeError):
        troupe.agents.whereis(agent)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        troupe.start(agent)
    with pytest.raises(AgentNotFound):
        troupe.agents.status("b")


@pytest.mark.parametrize(
    ("act", "code"),
    [
        (SKIP, "pre_turn_skipped"),
        (HALT, "pre_turn_halted"),
        (BAD, "pre_turn_invalid"),
        (RAISE, "pre_turn_skipped"),
    ],
)
def test_an_idle_agents_refusal_is_an_acceptance(troupe: Troupe, act: Act, code: str) -> None:
    """C031, C198, C201: the completion comes first, then the one admission, which accepted."""
    agent = troupe.start(book={("pre_turn", "no"): act})
    ref = troupe.agents.submit_with_completion(agent, "no")
    completion, admission = troupe.next(), troupe.next()
    assert (completion.ref, told(completion)) == (ref, code)
    assert (admission.ref, admission.accepted) == (ref, True)


def test_a_rejected_submit_leaves_nothing(troupe: Troupe) -> None:
    """C199, C237: refused while halted: one admission with the error; nothing to poll, no completion."""
    agent = troupe.start()
    troupe.agents.halt(agent)
    ref = troupe.agents.submit_with_completion(agent, "a", on_halt="fail")
    admission = troupe.next()
    assert isinstance(admission, Admission)
    assert (admission.ref, admission.error.code) == (ref, "halted")
    with pytest.raises(RequestNotFound):
        troupe.agents.poll(agent, ref)
    troupe.agents.resume(agent)
    assert troupe.until_end(agent) == []


def test_a_cancel_may_come_too_late(troupe: Troupe) -> None:
    """C209: an idle agent dispatches a submit before the cancel behind it, which finds it current."""
    agent = troupe.start()
    ref = troupe.agents.submit_with_completion(agent, "a hold:here")
    assert troupe.agents.cancel_request(agent, ref) == "current"
    assert troupe.agents.interrupt_request(agent, ref) == "accepted"
    assert troupe.outcome(ref) == "interrupted"


def test_a_cancel_never_overtakes_its_submit(troupe: Troupe) -> None:
    """C239, C243: behind a held turn, fifty submits are each cancelled by the call that follows them."""
    agent = troupe.start()
    troupe.agents.halt(agent)
    for number in range(50):
        ref = troupe.agents.submit_with_completion(agent, str(number))
        assert troupe.agents.cancel_request(agent, ref) == "cancelled"
        admission, completion = troupe.next(), troupe.next()
        assert (admission.ref, completion.ref, told(completion)) == (ref, ref, "cancelled")


def test_a_death_leaves_the_outcome_open(troupe: Troupe) -> None:
    """C115, C203, C206: an admitted submit has no completion, one behind a blocked callback no admission,
    when the agent is killed; the monitor is the only word."""
    busy, blocked = troupe.start("a"), troupe.start("b", {("handle_event", "held"): Act(hold="callback")})
    monitors = [troupe.agents.monitor(agent) for agent in (busy, blocked)]
    admitted = troupe.agents.submit_with_completion(busy, "a hold:here")
    assert troupe.next(Admission).ref == admitted
    troupe.stage.wait_blocked("here", PATIENCE_S)
    troupe.agents.notify(blocked, "held")
    troupe.stage.wait_blocked("callback", PATIENCE_S)
    troupe.agents.submit_with_completion(blocked, "b")
    kill(busy)
    kill(blocked)
    downs = [troupe.next() for _ in monitors]
    assert {(down.monitor, down.reason) for down in downs} == {(one, "killed") for one in monitors}
    assert troupe.agents.receive(timeout=BUSY_S) is None


def test_controls_of_the_dead_and_the_blocked_raise(troupe: Troupe) -> None:
    """C104, C207, C208: a dead address is AgentDown, a blocked agent CallTimeout; what was submitted behind
    the callback is found after it."""
    agent = troupe.start(book={("handle_event", "held"): Act(hold="callback")})
    troupe.agents.notify(agent, "held")
    troupe.stage.wait_blocked("callback")
    ref = troupe.agents.submit_with_completion(agent, "a")
    for control in (troupe.agents.poll, troupe.agents.cancel_request, troupe.agents.interrupt_request):
        with pytest.raises(CallTimeout):
            control(agent, mint.request(), timeout=BUSY_S)
    troupe.release("callback")
    assert troupe.outcome(ref) == "a"
    assert troupe.agents.poll(agent, ref).text == "a"
    with process_of(agent) as process:
        troupe.agents.stop(agent)
        assert process.ended
    for control in (troupe.agents.poll, troupe.agents.cancel_request, troupe.agents.interrupt_request):
        with pytest.raises(AgentDown):
            control(agent, ref)


def test_a_bad_argument_reaches_nobody(troupe: Troupe) -> None:
    """C105, C116, C197: it raises in the caller; the agent's state and cache know nothing of it."""
    agent = troupe.start()
    submit = troupe.agents.submit_with_completion
    for bad in (
        lambda: submit("a", "x"),
        lambda: submit(agent, 42),  # type: ignore[arg-type]
        lambda: submit(agent, "x", "nobody"),
        lambda: submit(agent, "x", on_halt="wait"),  # type: ignore[arg-type]
        lambda: submit(agent, "x", stream_to="x"),
    ):
        with pytest.raises((TypeError, ValueError)):
            bad()
    assert troupe.until_end(agent) == []
    assert [line for line in troupe.lines(agent) if line.startswith("pre_turn")] == ["pre_turn end-of-test"]
