"""Which requests somebody listens to: a worker need not send the events of the others.

This module must not know messages, actors or processes.
"""

from __future__ import annotations

from gen_agent.values import RequestRef


class Audience:
    """The refs with a stream recipient. `most` is how many requests an agent holds at a time."""

    def __init__(self, most: int) -> None:
        self._refs: dict[RequestRef, None] = {}
        self._most = most

    def add(self, ref: RequestRef) -> None:
        """Somebody wants the events of `ref`."""
        self._refs[ref] = None
        if len(self._refs) > 2 * self._most + 16:
            del self._refs[next(iter(self._refs))]

    def gone(self, ref: RequestRef) -> None:
        """That request is over."""
        self._refs.pop(ref, None)

    def listens_to(self, ref: RequestRef) -> bool:
        """Whether somebody wants the events of `ref`."""
        return ref in self._refs
