"""An agent whose callbacks do what a book says, and note what they saw: for comparing a machine with the
contract.

Its state is a number that every callback changes, so that equal states mean equal callbacks in equal order,
each on top of the same state. It must not know machines or models.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

import attrs

from gen_agent.agent import Agent, Decision, Gate, Halt, NoReply, Proceed, Prompt, Skip
from gen_agent.errors import GenAgentError, Overloaded, StartError
from gen_agent.events import Response
from gen_agent.values import RequestRef


@attrs.frozen
class Do:
    """What a deciding callback does: keep, prompt (with `text`), halt, raise or bad (a wrong shape)."""

    what: str = "keep"
    text: str = ""


@attrs.frozen
class Plan:
    """What happens to a prompt: its gate (proceed, rewrite, skip, halt, raise, bad, number), then the
    decision."""

    gate: str = "proceed"
    on_response: Do = Do()
    on_error: Do = Do()


@attrs.frozen
class Notice:
    """A notification or an ordinary message that carries what its handler does."""

    number: int
    do: Do = Do()


@attrs.define
class Book:
    """All plans, by prompt; and what callbacks do that belong to no prompt."""

    plans: dict[str, Plan] = attrs.field(factory=dict)
    on_overload: Do = Do()
    on_pre_run: str = "keep"
    on_post_turn: str = "keep"

    def plan(self, prompt: str) -> Plan:
        """The plan of `prompt`, rewritten or not."""
        return self.plans.get(prompt.rstrip("~"), Plan())


class PlannedAgent(Agent):
    """Without `handle_info`, like most agents."""

    def __init__(self, book: Book) -> None:
        self.book = book
        self.trace: list[tuple[Any, ...]] = []
        self._prompt = ""

    def _note(self, state: Any, *seen: Any) -> int:
        self.trace.append(seen)
        return next_state(state, seen[0])

    def init_agent(self, options: Mapping[str, Any]) -> tuple[Mapping[str, Any], Any]:
        return {}, 1

    def handle_response(self, ref: RequestRef, response: Response, state: Any) -> Decision:
        state = self._note(state, "handle_response", ref, response.text)
        return _decide(self.book.plan(self._prompt).on_response, state)

    def handle_error(self, ref: RequestRef, error: GenAgentError, state: Any) -> Decision:
        state = self._note(state, "handle_error", ref, error)
        overloaded = isinstance(error, Overloaded)
        return _decide(self.book.on_overload if overloaded else self.book.plan(self._prompt).on_error, state)

    def handle_event(self, event: Any, state: Any) -> Decision:
        return _decide(event.do, self._note(state, "handle_event", event.number))

    def pre_run(self, state: Any) -> Any:
        state = self._note(state, "pre_run")
        if self.book.on_pre_run == "refuse":
            raise StartError("not today")
        if self.book.on_pre_run == "raise":
            raise ValueError("secret")
        return None if self.book.on_pre_run == "bad" else state

    def pre_turn(self, prompt: str, state: Any) -> Gate:
        state, self._prompt = self._note(state, "pre_turn", prompt), prompt
        gate = self.book.plan(prompt).gate
        if gate == "raise":
            raise ValueError("secret")
        shapes = {
            "rewrite": Proceed(prompt + "~", state),
            "skip": Skip(state),
            "halt": Halt(state),
            "bad": None,
            "number": Proceed(42, state),  # type: ignore[arg-type]
        }
        return shapes.get(gate, Proceed(prompt, state))  # type: ignore[return-value]

    def post_turn(self, outcome: Any, ref: RequestRef, state: Any) -> Any:
        state = self._note(state, "post_turn", ref, type(outcome).__name__)
        if self.book.on_post_turn == "raise":
            raise ValueError("secret")
        return None if self.book.on_post_turn == "bad" else state

    def post_run(self, state: Any) -> None:
        self.trace.append(("post_run", state))

    def terminate_agent(self, reason: str, state: Any) -> None:
        self.trace.append(("terminate_agent", reason, state))


class ListeningAgent(PlannedAgent):
    """With `handle_info`."""

    def handle_info(self, message: Any, sender: Any, state: Any) -> Decision:
        return _decide(message.do, self._note(state, "handle_info", message.number))


def next_state(state: int, happened: str) -> int:
    """The state after `happened`: differs for every order of callbacks."""
    return zlib.crc32(f"{state} {happened}".encode())


def _decide(do: Do, state: Any) -> Decision:
    if do.what == "raise":
        raise ValueError("secret")
    choices = {"keep": NoReply(state), "halt": Halt(state), "prompt": Prompt(do.text, state)}
    return choices.get(do.what)  # type: ignore[return-value]
