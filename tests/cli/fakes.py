"""An agent system that plays prepared turns, for the parts of the command that need none."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import Any

from gen_agent.errors import GenAgentError
from gen_agent.events import Event, Response


class FakeStream:
    """A stream of prepared steps: events, and exceptions that are raised in their place."""

    def __init__(self, steps: tuple[Any, ...], response: Response, on_close: BaseException | None) -> None:
        self._steps = iter(steps)
        self._on_close = on_close
        self.response = response
        self.closed = 0
        self.ended = False

    def __iter__(self) -> Iterator[Event]:
        for step in self._steps:
            if isinstance(step, BaseException):
                raise step
            yield step
        self.ended = True

    def close(self) -> None:
        """Count; raise what was prepared, once."""
        self.closed += 1
        error, self._on_close = self._on_close, None
        if error is not None:
            raise error

    def __enter__(self) -> FakeStream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class FakeAgents:
    """Plays one prepared turn per prompt."""

    def __init__(self, *turns: Any) -> None:
        self._turns = list(turns)
        self.prompts: list[str] = []
        self.streams: list[FakeStream] = []

    def stream(self, target: str, prompt: str) -> FakeStream:
        """The next turn; an error that was prepared instead is raised."""
        self.prompts.append(prompt)
        turn = self._turns.pop(0)
        if isinstance(turn, GenAgentError):
            raise turn
        self.streams.append(turn)
        return turn


def turn(*steps: Any, text: str = "", on_close: BaseException | None = None, **response: Any) -> FakeStream:
    """A turn of `steps` whose response has `text`."""
    return FakeStream(steps, Response(text=text, **response), on_close)
