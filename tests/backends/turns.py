"""Runs single turns of a backend in the test's own process."""

from __future__ import annotations

from typing import Any

from gen_agent.backend import Backend
from gen_agent.errors import BackendError
from gen_agent.events import Event
from gen_agent.testing.conformance import Case, ConformanceTurn, Played


def play(backend: Backend, session: Any, prompt: str = "hi") -> Played:
    """One turn that ends with a result."""
    return Case(type(backend)).play(backend, session, prompt)


def failing(backend: Backend, session: Any, prompt: str = "hi") -> tuple[list[Event], BackendError]:
    """One turn that ends with a `BackendError`: the events before it, and the error."""
    events: list[Event] = []
    try:
        for event in backend.prompt(session, prompt, ConformanceTurn(session)):
            events.append(event)  # noqa: PERF402
    except BackendError as error:
        return events, error
    raise AssertionError(f"the turn did not fail: {events[-1:]}")
