"""A backend that says one word and then nothing more, until it is killed; "quick" it answers."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import Any

from gen_agent.backend import Backend, Turn
from gen_agent.events import Event


class Blocking(Backend):
    """Blocks in the middle of every turn but those of the prompt "quick"."""

    def start_session(self) -> str:
        """No state."""
        return ""

    def prompt(self, session: Any, prompt: str, turn: Turn) -> Iterator[Event]:
        """One piece of text; then, unless it is to be quick, silence."""
        yield Event.text("started ")
        while prompt != "quick":
            signal.pause()
        yield Event.result("started and ended")
