"""A conversation with one agent: turn after turn, and what Ctrl-C means when.

Law: the first Ctrl-C ends the turn that runs (or, at the prompt, is only answered with a word), the second
one in a row ends the chat. A turn's failure is shown and is not the end. This module must not know click or
rich.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

from gen_agent.cli.screen import Screen
from gen_agent.errors import GenAgentError

NAME = "chat"
"""What the agent is called."""


class Outcome(enum.Enum):
    """How a turn ended; the value is the exit status it means for a command of one turn."""

    ANSWERED = 0
    FAILED = 1
    INTERRUPTED = 130


class Chat:
    """Runs turns of the agent `NAME` of `agents`, an `AgentSystem`, and shows them on `screen`."""

    def __init__(self, agents: Any, screen: Screen) -> None:
        self._agents = agents
        self._screen = screen

    def turn(self, prompt: str) -> Outcome:
        """One turn. Ctrl-C interrupts it; another one meanwhile goes through as `KeyboardInterrupt`."""
        self._screen.begin()
        try:
            with self._agents.stream(NAME, prompt) as stream:
                if not self._show(stream):
                    return Outcome.INTERRUPTED
            self._screen.end(stream.response)
        except GenAgentError as error:
            self._screen.fail(error)
            return Outcome.FAILED
        return Outcome.ANSWERED

    def _show(self, stream: Any) -> bool:
        try:
            for event in stream:
                self._screen.event(event)
        except KeyboardInterrupt:
            # Leaving the stream's block takes the request back; a second Ctrl-C meanwhile goes through.
            self._screen.note("interrupted")
            return False
        return True

    def talk(self, ask: Callable[[], str]) -> None:
        """Turns until `ask` raises `EOFError` or Ctrl-C comes twice in a row; empty
        prompts are passed over.
        """
        warned = False
        while True:
            try:
                prompt = ask()
            except EOFError:
                return
            except KeyboardInterrupt:
                if warned:
                    return
                warned = True
                self._screen.note("Ctrl-C again, or Ctrl-D, to leave")
                continue
            if prompt.strip():
                warned = self.turn(prompt) is Outcome.INTERRUPTED
