"""Agents, actors and systems for the tests of the system side."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator, Mapping
from typing import Any

from thespian.actors import Actor, ActorExitRequest

from gen_agent import Agent, NoReply, StartError
from gen_agent.actors.processes import ProcessId, Watched
from gen_agent.actors.system import AgentSystem
from gen_agent.backends.scripted import Stage, gate, reply
from gen_agent.client.agent_client import AgentClient
from gen_agent.values import AgentAddress

BASES = ("genAgentTCPBase", "multiprocTCPBase")
"""The bases on which agents are processes."""

ALL = (*BASES, "simpleSystemBase")
"""Every base."""


class Diary(Agent):
    """Keeps everything that happens in its state; `mark` is a file in which its end is noted, `hold` a gate
    at which it ends.
    """

    def init_agent(self, options: Mapping[str, Any]) -> tuple[Mapping[str, Any], Any]:
        """Forward what the backend is to get."""
        self.mark, self.hold = options.get("mark"), options.get("hold")
        if options.get("refuse"):
            raise StartError(options["refuse"])
        if options.get("hang"):
            note(options["hang"], str(os.getpid()))
            time.sleep(600)
        return dict(options.get("forward", {})), ()

    def handle_response(self, ref: Any, response: Any, state: Any) -> Any:
        """Note the text."""
        return NoReply((*state, response.text))

    def handle_event(self, event: Any, state: Any) -> Any:
        """Note the event; an exception of ours ends the agent, a gate holds it."""
        if isinstance(event, tuple) and event[0] == "hold":
            event[1].wait_at(event[2])
        return NoReply((*state, event))

    def terminate_agent(self, reason: str, state: Any) -> None:
        """Pass the gate and leave the mark."""
        if self.hold:
            self.hold[0].wait_at(self.hold[1])
        if self.mark:
            note(self.mark, reason)


class Fragile(Diary):
    """Ends with callback_failed at its first response."""

    def handle_response(self, ref: Any, response: Any, state: Any) -> Any:
        """Raise."""
        raise ValueError


def note(path: str, text: str) -> None:
    """Write a file at once, whole."""
    with open(f"{path}.new", "w") as file:
        file.write(text)
    os.replace(f"{path}.new", path)


def scripted(stage: Stage, *scripts: Any) -> dict[str, Any]:
    """Options of a `Diary` whose backend plays `scripts`."""
    return {"backend": "scripted", "forward": {"stage": stage.address, "scripts": scripts}}


def held(tag: str = "held", text: str = "done") -> Any:
    """A script that waits at a gate before it answers."""
    return (gate(tag, timeout_s=30.0), *reply(text))


@contextlib.contextmanager
def running(base: str, **options: Any) -> Iterator[AgentSystem]:
    """A system on that base."""
    with AgentSystem(base, **options) as system:
        yield system


def watched(agent: AgentAddress) -> Watched:
    """The process of an agent."""
    return Watched(ProcessId(agent.incarnation.pid, agent.incarnation.start_time))


def kill(agent: AgentAddress) -> None:
    """End an agent's process as the kernel would, and wait for it."""
    with watched(agent) as process:
        process.signal(signal.SIGKILL)
        assert process.wait(5.0)


class Customer(Actor):
    """An actor with a client: does what it is told in tuples, reports everything else to whoever told it."""

    def __init__(self) -> None:
        super().__init__()
        self.client = AgentClient(self)
        self.boss: Any = None
        self.calls = 0

    def receiveMessage(self, message: Any, sender: Any) -> None:
        """`("do", method, arguments, keywords)` is done; the rest is passed to the boss."""
        if isinstance(message, tuple) and message[0] == "do":
            self.boss = sender
            self.send(sender, ("done", self.attempt(*message[1:])))
        elif self.boss is not None and not isinstance(message, ActorExitRequest):
            # At the end of the system there is no boss any more, and who sends to nobody is slow to exit.
            self.send(self.boss, ("got", message))

    def attempt(self, method: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """The result of a method of the client, or the class of what it raised."""
        try:
            return getattr(self.client, method)(*arguments, **keywords)
        except Exception as error:
            return type(error).__name__


class Clumsy(Customer):
    """Raises at the first reply it gets."""

    def receiveMessage(self, message: Any, sender: Any) -> None:
        """Raise once."""
        if not isinstance(message, tuple):
            self.calls += 1
            if self.calls == 1:
                raise ValueError
        super().receiveMessage(message, sender)


def seconds_to_stop(agents: AgentSystem, address: AgentAddress) -> float:
    """How long an agent takes to stop; its process is gone by then."""
    with watched(address) as process:
        begun = time.monotonic()
        agents.stop(address)
        assert process.wait(0)
        return time.monotonic() - begun
