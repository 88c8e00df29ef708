"""Agents that use their context, for tests on every base."""

from __future__ import annotations

from typing import Any

from thespian.actors import Actor

from gen_agent.agent import NoReply, Proceed, current_name
from gen_agent.messages import Notify
from tests.actors.agent_cast import Counting

_heard: list[tuple[str, ...]] = []


def heard(name: tuple[str, ...], measurements: Any, metadata: Any) -> None:
    """A telemetry handler."""
    _heard.append(name)


class Knowing(Counting):
    """Writes down in its state which agent each callback belongs to."""

    def init_agent(self, options: Any) -> Any:
        return {}, ((f"init_agent {current_name()}",), None)

    def _add(self, state: Any, hook: str) -> Any:
        return (*state[0], f"{hook} {self.context.name}"), self.context.address

    def pre_run(self, state: Any) -> Any:
        return self._add(state, "pre_run")

    def pre_turn(self, prompt: str, state: Any) -> Any:
        return Proceed(prompt, self._add(state, "pre_turn"))

    def handle_response(self, ref: Any, response: Any, state: Any) -> Any:
        return NoReply(self._add(state, "handle_response"))


class Sending(Counting):
    """Sends a notification to somebody from handle_response."""

    def init_agent(self, options: Any) -> Any:
        return {}, options["recipient"]

    def handle_response(self, ref: Any, response: Any, state: Any) -> Any:
        self.context.send(state, Notify("from a callback"))
        return NoReply(state)


class Waking(Counting):
    """Sets three wakeups, the last first, and keeps what they bring."""

    def init_agent(self, options: Any) -> Any:
        return {}, ()

    def pre_run(self, state: Any) -> Any:
        for seconds, payload in ((0.03, "third"), (0.01, "first"), (0.02, "second")):
            self.context.wakeup_after(seconds, payload)
        return state

    def handle_info(self, message: Any, sender: Any, state: Any) -> Any:
        return NoReply((*state, message))


class Echo(Actor):
    """Answers with what it got."""

    def receiveMessage(self, message: Any, sender: Any) -> None:
        if isinstance(message, str):
            self.send(sender, f"echo {message}")


class WithChild(Counting):
    """Speaks with an actor of its own."""

    def pre_run(self, state: Any) -> Any:
        self.child = self.context.create_actor(Echo)
        self.context.send(self.child, "hello")
        return state

    def handle_info(self, message: Any, sender: Any, state: Any) -> Any:
        return NoReply(message if isinstance(message, str) and sender == self.child else state)


class Listening(Counting):
    """Shows what its process' telemetry handler has heard."""

    def handle_event(self, event: Any, state: Any) -> Any:
        return NoReply(tuple(_heard))
