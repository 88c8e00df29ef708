"""Agents and a script for simulations: one that does everything a callback may do, and one that only
listens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gen_agent.agent import Agent, Decision, Gate, Halt, NoReply, Proceed, Prompt, Skip
from gen_agent.errors import BackendError, GenAgentError
from gen_agent.events import Event, Response
from gen_agent.testing.simulation import Die, Hang, Pause, checkpoint, crash, fail, reply
from gen_agent.values import RequestRef

SCRIPT = (
    reply("hello", "there"),
    reply("again"),
    fail(BackendError("sim", "busy")),
    crash(ValueError("secret")),
    (Event.text("on and on"), Hang()),
    (Event.text("then"), Die()),
    (checkpoint("one"), Pause(2.0), Event.result("kept")),
    (checkpoint("one"), checkpoint("two"), Event.result("in vain")),
    Event.error("no"),
    (Event.text("no end"),),
)


class Restless(Agent):
    """Chains, retries, halts, skips; which of these comes of how far it has counted."""

    def init_agent(self, options: Mapping[str, Any]) -> tuple[Mapping[str, Any], Any]:
        return {}, 0

    def handle_response(self, ref: RequestRef, response: Response, state: int) -> Decision:
        choices = (
            NoReply(state + 1),
            NoReply(state + 2),
            Prompt(f"chain {state % 3}", state + 1),
            Halt(state + 1),
        )
        return choices[state % 4]

    def handle_error(self, ref: RequestRef, error: GenAgentError, state: int) -> Decision:
        return (NoReply(state + 1), Prompt("once more", state + 1))[state % 2]

    def handle_event(self, event: int, state: int) -> Decision:
        return (NoReply(state + 1), Prompt("event", state + 1), Halt(state + 1))[(state + event) % 3]

    def handle_info(self, message: int, sender: Any, state: int) -> Decision:
        return (NoReply(state + 1), Prompt("message", state + 1))[(state + message) % 2]

    def pre_turn(self, prompt: str, state: int) -> Gate:
        if state % 11 == 0:
            return Skip(state + 1)
        return Halt(state + 1) if state % 37 == 0 else Proceed(prompt + "~", state + 1)

    @classmethod
    def handle_stream_event(cls, event: Event, state: int) -> int:
        return state + 1


class Listener(Agent):
    """Notes what it gets; sleeps and speaks on demand."""

    def init_agent(self, options: Mapping[str, Any]) -> tuple[Mapping[str, Any], Any]:
        return {}, (options.get("cwd", "nowhere"),)

    def handle_response(self, ref: RequestRef, response: Response, state: tuple[Any, ...]) -> Decision:
        self.context.send("somebody", response.text)
        return NoReply((*state, response.text))

    def handle_error(self, ref: RequestRef, error: GenAgentError, state: tuple[Any, ...]) -> Decision:
        return NoReply((*state, error.code))

    def handle_event(self, event: Any, state: tuple[Any, ...]) -> Decision:
        self.context.wakeup_after(60.0, "awake")
        return NoReply((*state, event))

    def handle_info(self, message: Any, sender: Any, state: tuple[Any, ...]) -> Decision:
        return NoReply((*state, message))
