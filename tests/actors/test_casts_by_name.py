"""Casts under a name that were on their way when its holder died: they are the next holder's, whoever sent
them."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator, Mapping
from typing import Any

from gen_agent import Agent, AgentDown, NoReply
from gen_agent.actors.processes import Watched
from gen_agent.actors.system import AgentSystem
from gen_agent.messages import Down
from tests.actors.boss import Boss
from tests.actors.crew import Customer, Diary, kill, running, watched
from tests.bases import OWN

CASTS = range(20)
PATIENCE_S = 20.0


class Reporter(Customer):
    """A `Customer` that says who it is."""

    def receiveMessage(self, message: Any, sender: Any) -> None:
        """Answer with the process's id, or be a `Customer`."""
        if message == "who are you?":
            self.send(sender, ("done", os.getpid()))
        else:
            super().receiveMessage(message, sender)


class Caster(Agent):
    """Sends its casts from a callback."""

    def init_agent(self, options: Mapping[str, Any]) -> tuple[Mapping[str, Any], Any]:
        """Begin with nothing."""
        return {}, ()

    def handle_response(self, ref: Any, response: Any, state: Any) -> Any:
        """Nothing is prompted here."""
        return NoReply(state)

    def handle_event(self, event: Any, state: Any) -> Any:
        """Pass events on to who is called "a"."""
        for number in event:
            self.context.client.notify("a", number)
        return NoReply(state)


def wait_for(agents: Any, target: Any, state: tuple[Any, ...]) -> None:
    """As many events as that have come, and it is these."""
    for _ in range(2_000):
        found = agents.status(target, timeout=PATIENCE_S).agent_state
        if len(found) >= len(state):
            assert found == state
            return
        assert agents.receive(lambda _: False, timeout=0.01) is None
    raise AssertionError(f"only {found} came")


@contextlib.contextmanager
def stopped(process: Watched) -> Iterator[None]:
    """The process is stopped for a while."""
    process.signal(signal.SIGSTOP)
    try:
        yield
    finally:
        process.signal(signal.SIGCONT)


def replace(agents: AgentSystem, first: Any) -> None:
    """Have the holder of "a" die unseen, and another one started."""
    monitor = agents.monitor(first)
    kill(first)
    agents.receive(lambda message: isinstance(message, Down) and message.monitor == monitor, PATIENCE_S)
    agents.start_agent(Diary, name="a", backend="echo")


# On our base: the stock transport may take long to tell that nobody was there.


def test_an_actors_casts_go_to_the_next_holder() -> None:
    """C239: what an actor sent under a name, and its dead holder never read, reaches the current one once, in
    order, and before what the actor sends later."""
    with running(OWN) as agents, agents.private() as other:
        first = agents.start_agent(Diary, name="a", backend="echo")
        boss = Boss(other, Reporter)
        boss.endpoint.post(boss.customer, "who are you?")
        actor = boss._next("done")
        boss.do("notify", "a", "before")
        boss.do("status", "a")
        assert boss.got().result().agent_state == ("before",)
        with watched(first) as holder, Watched(actor) as process:
            holder.signal(signal.SIGSTOP)
            for number in CASTS:
                boss.do("notify", "a", number)
            with stopped(process):
                replace(agents, first)
        boss.do("notify", "a", "after")
        boss.do("status", "a")
        assert boss.got().result().agent_state == (*CASTS, "after")


def test_an_actors_call_goes_to_the_next_holder() -> None:
    """C104, C239: an ask under a name that its dead holder never read is answered by the current one; one to
    an address ends with its agent."""
    with running(OWN) as agents, agents.private() as other:
        first = agents.start_agent(Diary, name="a", backend="echo")
        boss = Boss(other, Reporter)
        boss.endpoint.post(boss.customer, "who are you?")
        actor = boss._next("done")
        boss.do("ask", "a", "before")
        assert boss.got().result().text == "echo: before"
        with watched(first) as holder, Watched(actor) as process:
            holder.signal(signal.SIGSTOP)
            by_address = boss.do("ask", first, "you")
            by_name = boss.do("ask", "a", "whoever")
            with stopped(process):
                replace(agents, first)
        replies = {reply.call: reply for reply in (boss.got(), boss.got())}
        assert isinstance(replies[by_address].error, AgentDown)
        assert replies[by_name].result().text == "echo: whoever"


def test_an_agents_casts_go_to_the_next_holder() -> None:
    """C239: so does what an agent's callbacks sent, also what waited behind it in the agent itself."""
    with running(OWN) as agents, agents.private() as other:
        first = agents.start_agent(Diary, name="a", backend="echo")
        caster = agents.start_agent(Caster, name="caster", backend="echo")
        agents.notify_ack(caster, ("before",))
        wait_for(other, first, ("before",))
        with watched(first) as holder, watched(caster) as process:
            holder.signal(signal.SIGSTOP)
            agents.notify_ack(caster, (*CASTS,))
            with stopped(process):
                replace(agents, first)
        agents.notify_ack(caster, ("after",))
        wait_for(other, "a", (*CASTS, "after"))
