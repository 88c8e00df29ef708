"""The backend that says back what it was told: no dependency, no network, no key.

This module must not know agents or actors.
"""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import attrs

from gen_agent.backend import Backend, Turn
from gen_agent.backends.options import checked_number, checked_text, refuse_unknown
from gen_agent.events import Event

_PIECES = re.compile(r"\S*\s*")


@attrs.frozen
class EchoSession:
    """An echo's session: its id and how many turns it has answered."""

    session_id: str
    turns: int = 0


class EchoBackend(Backend):
    """Answers `"echo: "` and the prompt.

    Options: `prefix`, said before the prompt (default `"echo: "`); `transform`, a function of the prompt
    whose text is the whole answer instead (a plain function: options are pickled); `delay_s`, seconds to
    wait before each word, which then comes as its own text event (default 0: one text event). The usage
    counts words. `TypeError` or `ValueError` for anything else.
    """

    def __init__(
        self,
        *,
        prefix: str = "echo: ",
        transform: Callable[[str], str] | None = None,
        delay_s: float = 0.0,
        **unknown: Any,
    ) -> None:
        refuse_unknown("echo", unknown, ("prefix", "transform", "delay_s"))
        checked_text("echo", "prefix", prefix)
        checked_number("echo", "delay_s", delay_s)
        if transform is not None and not callable(transform):
            raise TypeError(f"backend echo: option transform is a function, not {type(transform).__name__}")
        self._prefix = prefix
        self._transform = transform
        self._delay_s = delay_s or 0.0

    def start_session(self) -> EchoSession:
        """A new session with an id of its own."""
        return EchoSession(f"echo-{uuid.uuid4().hex[:12]}")

    def prompt(self, session: EchoSession, prompt: str, turn: Turn) -> Iterator[Event]:
        """Text, usage, result; what `transform` raises ends the turn."""
        text = self._transform(prompt) if self._transform else self._prefix + prompt
        for piece in self._pieces(text):
            yield Event.text(piece)
        yield Event.usage(len(prompt.split()), len(text.split()))
        yield Event.result(text, session_id=session.session_id)

    def _pieces(self, text: str) -> Iterator[str]:
        if not self._delay_s:
            yield text
            return
        for piece in filter(None, _PIECES.findall(text)):
            time.sleep(self._delay_s)
            yield piece

    def update_session(self, session: EchoSession, result: Event) -> EchoSession:
        """Count the turn."""
        return attrs.evolve(session, turns=session.turns + 1)

    def reset_session(self, session: EchoSession) -> EchoSession:
        """A new session."""
        return self.start_session()
