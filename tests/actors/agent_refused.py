"""Agents and backends that can't be started."""

from __future__ import annotations

import sys
from typing import Any

from gen_agent.agent import NoReply
from gen_agent.errors import StartError
from tests.actors.agent_cast import Counting, Player


class Refusing(Counting):
    """Refuses in words."""

    def init_agent(self, options: Any) -> Any:
        raise StartError("not today")


class RefusingUnpicklably(Counting):
    """Refuses with what can't be sent."""

    def init_agent(self, options: Any) -> Any:
        raise StartError(lambda: "not today")


class Misshapen(Counting):
    """Returns a wrong shape."""

    def init_agent(self, options: Any) -> Any:
        return "not a pair"


class Raising(Counting):
    """Stumbles."""

    def init_agent(self, options: Any) -> Any:
        return 1 / 0


class Leaving(Counting):
    """Exits."""

    def init_agent(self, options: Any) -> Any:
        sys.exit("secret")


class AsyncCallback(Counting):
    """Would have to be awaited."""

    async def handle_event(self, event: Any, state: Any) -> Any:
        return NoReply(state)


class StreamOnInstance(Counting):
    """Forgot @classmethod."""

    def handle_stream_event(self, event: Any, state: Any) -> Any:  # type: ignore[override]
        return state


class SessionRefused(Player):
    """Refuses in words."""

    def start_session(self) -> Any:
        raise StartError("no seats")


class SessionRaises(Player):
    """Stumbles."""

    def start_session(self) -> Any:
        raise KeyError("secret")


class SessionUnpicklable(Player):
    """Its session can't travel."""

    def start_session(self) -> Any:
        return lambda: None


class AsyncBackend(Player):
    """Would have to be awaited."""

    async def prompt(self, session: Any, prompt: str, turn: Any) -> Any:  # type: ignore[override]
        return None
