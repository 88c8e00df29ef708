"""Backends for the tests of workers."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from typing import Any

from gen_agent.backend import Backend, Turn
from gen_agent.events import Event
from tests.actors.agent_cast import Counting, Player

__all__ = [
    "Breakable",
    "Calling",
    "Counting",
    "Describing",
    "DiesAtOnce",
    "Mutating",
    "Repeating",
    "WithFunction",
]


class Breakable(Player):
    """Can't be built while a file exists."""

    def __init__(self, flag: str) -> None:
        if os.path.exists(flag):
            raise ValueError("broken")
        super().__init__()


class DiesAtOnce(Player):
    """Ends its process."""

    def __init__(self) -> None:
        os._exit(9)


class Describing(Player):
    """Tells what its process has open."""

    def prompt(self, session: Any, prompt: str, turn: Turn) -> Iterable[Event]:
        names = []
        for descriptor in os.listdir("/proc/self/fd"):
            path = f"/proc/self/fd/{descriptor}"
            if os.path.exists(path) or os.path.islink(path):
                names.append(os.readlink(path))
        sockets = [name for name in names if name.startswith("socket:")]
        yield Event.result("", descriptors=len(names), sockets=sockets)


class Repeating(Player):
    """Says what it is told."""

    def prompt(self, session: Any, prompt: str, turn: Turn) -> Iterable[Event]:
        yield Event.result(prompt)


class Mutating(Player):
    """Changes its session in place."""

    def start_session(self) -> Any:
        return []

    def prompt(self, session: Any, prompt: str, turn: Turn) -> Iterable[Event]:
        session.append(prompt)
        if prompt == "crash":
            raise ValueError("secret")
        yield Event.result(" ".join(session))


class WithFunction(Counting):
    """Hands its backend what can't be pickled."""

    def init_agent(self, options: Any) -> Any:
        return {"function": lambda prompt: f"called with {prompt}", "lock": threading.Lock()}, 0


class Calling(Backend):
    """Answers with what its function says."""

    def __init__(self, function: Callable[[str], str], lock: Any) -> None:
        self._function, self._lock = function, lock

    def start_session(self) -> Any:
        return ()

    def prompt(self, session: Any, prompt: str, turn: Turn) -> Iterable[Event]:
        with self._lock:
            yield Event.result(self._function(prompt))
