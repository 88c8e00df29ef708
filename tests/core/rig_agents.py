"""Agents for the bench: they do what their rig plans, and by default note what they see in their state, a
tuple.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import attrs

from gen_agent.agent import Agent, NoReply, Proceed


@attrs.frozen
class Called:
    """A callback ran, with these arguments, the state last."""

    hook: str
    args: tuple[Any, ...]


@attrs.frozen
class Told:
    """A telemetry event."""

    name: str
    measured: Mapping[str, Any]
    about: Mapping[str, Any]


class RigAgent(Agent):
    """Does what its rig plans; by default it appends what it sees to its state, a tuple."""

    def __init__(self, rig: Any) -> None:
        self.rig = rig

    def init_agent(self, options: Mapping[str, Any]) -> Any:
        return {}, ()

    def handle_response(self, ref: Any, response: Any, state: Any) -> Any:
        return self.rig.play("handle_response", ref, response, state)

    def handle_error(self, ref: Any, error: Any, state: Any) -> Any:
        return self.rig.play("handle_error", ref, error, state)

    def handle_event(self, event: Any, state: Any) -> Any:
        return self.rig.play("handle_event", event, state)

    def pre_run(self, state: Any) -> Any:
        return self.rig.play("pre_run", state)

    def pre_turn(self, prompt: str, state: Any) -> Any:
        return self.rig.play("pre_turn", prompt, state)

    def post_turn(self, outcome: Any, ref: Any, state: Any) -> Any:
        return self.rig.play("post_turn", outcome, ref, state)

    def post_run(self, state: Any) -> None:
        self.rig.play("post_run", state)

    def terminate_agent(self, reason: str, state: Any) -> None:
        self.rig.play("terminate_agent", reason, state)


class InfoAgent(RigAgent):
    """One that takes ordinary messages."""

    def handle_info(self, message: Any, sender: Any, state: Any) -> Any:
        return self.rig.play("handle_info", message, sender, state)


class StreamAgent(RigAgent):
    """One whose state travels with each turn."""

    @classmethod
    def handle_stream_event(cls, event: Any, state: Any) -> Any:
        return (*state, event.kind)


class Endless(list[Callable[..., Any]]):
    def __init__(self, reply: Callable[..., Any]) -> None:
        super().__init__([reply])

    def pop(self, index: Any = -1) -> Callable[..., Any]:
        return self[0]


def as_function(reply: Any) -> Callable[..., Any]:
    if isinstance(reply, BaseException):
        return _raiser(reply)
    if isinstance(reply, type):
        return lambda *args: reply(args[-1])
    if callable(reply):
        return reply
    return lambda *args: reply


def _raiser(error: BaseException) -> Callable[..., Any]:
    def fail(*args: Any) -> Any:
        raise error

    return fail


def _noted(what: Callable[..., str]) -> Callable[..., Any]:
    return lambda *args: NoReply((*args[-1], what(*args)))


DEFAULTS: Mapping[str, Callable[..., Any]] = {
    "handle_response": _noted(lambda ref, response, state: response.text),
    "handle_error": _noted(lambda ref, error, state: error.code),
    "handle_event": _noted(lambda event, state: str(event)),
    "handle_info": _noted(lambda message, sender, state: str(message)),
    "pre_run": lambda state: state,
    "pre_turn": Proceed,
    "post_turn": lambda outcome, ref, state: state,
    "post_run": lambda state: None,
    "terminate_agent": lambda reason, state: None,
}


def short(trace: tuple[Any, ...]) -> list[str]:
    """A trace as words: hooks, telemetry names, class names of effects."""
    return [_word(entry) for entry in trace]


def _word(entry: Any) -> str:
    if isinstance(entry, Called):
        return entry.hook
    return entry.name if isinstance(entry, Told) else type(entry).__name__
