"""AgentClient in real actors."""

from __future__ import annotations

import pytest

from gen_agent import AgentDown, AgentNotFound
from gen_agent.client.protocol import Hello, ListNames, Lookup
from gen_agent.envelopes import Call
from gen_agent.messages import (
    Completion,
    Down,
    Monitor,
    Reply,
)
from tests.actors.boss import Boss
from tests.actors.crew import ALL, BASES, Clumsy, Diary, kill, running


@pytest.mark.parametrize("base", ALL)
def test_an_actor_uses_agents(base: str) -> None:
    """Start, ask, submit and stop from an actor: calls answer by Reply, deliveries arrive in order."""
    with running(base) as agents:
        boss = Boss(agents)
        call = boss.do("start_agent", Diary, name="a", backend="echo")
        started = boss.got()
        address = started.result()
        assert (started.call, address.name) == (call, "a")
        call = boss.do("ask", "a", "hello")
        answer = boss.got()
        assert (answer.call, answer.result().text) == (call, "echo: hello")
        ref = boss.do("submit_with_completion", address, "again")
        admission, completion = boss.got(), boss.got()
        assert (admission.ref, completion.ref) == (ref, ref)
        assert isinstance(completion, Completion)
        monitor = boss.do("monitor", "a")
        call = boss.do("stop", "a")
        last = [boss.got(), boss.got()]
        (reply,) = [message for message in last if isinstance(message, Reply)]
        (end,) = [message for message in last if isinstance(message, Down)]
        assert (reply.call, reply.result(), end.monitor, end.reason) == (call, None, monitor, "shutdown")


@pytest.mark.parametrize("base", BASES)
def test_an_actor_learns_that_its_agent_was_killed(base: str) -> None:
    """C104: a call of an actor ends with AgentDown(killed); a later one by name with AgentNotFound."""
    with running(base) as agents:
        boss = Boss(agents)
        address = agents.start_agent(Diary, name="a", backend="scripted")
        monitor = boss.do("monitor", address)
        kill(address)
        assert boss.got().monitor == monitor
        boss.do("ask", "a", "anybody?")
        assert isinstance(boss.got().error, AgentNotFound)
        boss.do("ask", address, "you?")
        error = boss.got().error
        assert isinstance(error, AgentDown)
        assert boss.do("notify", address, "x") == "not_alive"


@pytest.mark.parametrize("base", ALL)
def test_an_actor_that_raises_is_offered_its_reply_again(base: str) -> None:
    """The repeated call of Thespian brings the reply the actor raised at, once."""
    with running(base) as agents:
        boss = Boss(agents, Clumsy)
        call = boss.do("list")
        again = boss.got()
        assert (again.call, again.result()) == (call, [])


def test_every_call_of_the_client_is_a_call() -> None:
    """What is answered by a Reply is a Call, so that whoever does not know it can say so."""
    assert all(issubclass(kind, Call) for kind in (Hello, Lookup, ListNames, Monitor))


@pytest.mark.parametrize("base", ALL)
def test_an_actor_has_agents_of_its_own(base: str) -> None:
    """C127: an agent started unsupervised is its actor's child: found by name, stopped through its parent
    only."""
    with running(base) as agents, agents.private() as line:
        boss = Boss(line)
        boss.do("start_agent", Diary, name="kid", backend="echo", supervised=False)
        address = boss.got().result()
        assert agents.whereis("kid") == address
        assert agents.ask("kid", "hello").text == "echo: hello"
        with pytest.raises(AgentNotFound):
            agents.stop("kid")
        assert agents.status("kid").state == "idle"
        monitor = agents.monitor("kid")
        agents.stop("kid", boss.customer, timeout=20)
        down = agents.receive(timeout=20)
        assert (down.monitor, down.reason) == (monitor, "shutdown")
        assert type(boss.got()).__name__ == "ChildActorExited"
        assert agents.whereis("kid") is None
