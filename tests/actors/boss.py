"""A script that has an actor use agents."""

from __future__ import annotations

from typing import Any

from tests.actors.crew import Customer


class Boss:
    """A script that tells a `Customer` what to do."""

    def __init__(self, agents: Any, kind: type = Customer) -> None:
        self.agents = agents
        self.endpoint = agents._line.endpoint
        self.customer = self.endpoint.create(kind)
        self.kept: list[Any] = []

    def do(self, method: str, *arguments: Any, **keywords: Any) -> Any:
        """The result of a method of its client."""
        self.endpoint.post(self.customer, ("do", method, arguments, keywords))
        return self._next("done")

    def got(self) -> Any:
        """The next message it got."""
        return self._next("got")

    def _next(self, kind: str) -> Any:
        for index, (what, value) in enumerate(self.kept):
            if what == kind:
                del self.kept[index]
                return value
        for _ in range(200):
            found = self.endpoint.receive(0.5, self.agents._line._watcher.fileno())
            if isinstance(found, tuple):
                if found[0] == kind:
                    return found[1]
                self.kept.append(found)
        raise AssertionError(f"nothing {kind}")
