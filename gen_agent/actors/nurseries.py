"""The nurseries of one supervisor: one per (script, backend), kept while it has agents and a little longer.

The law: a nursery that has loaded one version of a script forks agents of no other. This module must not know
how agents live or end.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import attrs

from gen_agent.actors.children import Child
from gen_agent.messages import StartAgent

IDLE_NURSERIES = 4
"""How many nurseries without agents are kept for the next start."""


@attrs.define(eq=False)
class Nursery:
    """One nursery: its actor, what it is for, and the tokens of the agents it forked or is to fork."""

    child: Child
    key: Any
    tokens: set[int] = attrs.field(factory=set)


class Nurseries:
    """The nurseries by what they have loaded. `make` creates one, `end` has an idle one exit."""

    def __init__(self, make: Callable[[StartAgent], Child], end: Callable[[Child], None]) -> None:
        self._make = make
        self._end = end
        self._all: dict[Any, Nursery] = {}

    def for_start(self, start: StartAgent, token: int) -> Nursery:
        """The nursery for a start, made if there is none; the token is its from now on."""
        digest = None if start.script is None else hashlib.sha256(start.script).digest()
        key = (digest, start.backend_key)
        nursery = self._all.get(key)
        if nursery is None:
            self._drop_idle()
            nursery = self._all[key] = Nursery(self._make(start), key)
        nursery.tokens.add(token)
        return nursery

    def _drop_idle(self) -> None:
        idle = [nursery for nursery in self._all.values() if not nursery.tokens]
        for nursery in idle[: max(0, len(idle) - IDLE_NURSERIES + 1)]:
            del self._all[nursery.key]
            self._end(nursery.child)

    def left(self, token: int) -> None:
        """The agent of that token is gone."""
        for nursery in self._all.values():
            nursery.tokens.discard(token)

    def take_if_only(self, token: int) -> Nursery | None:
        """The nursery of a token, taken out, if it has no other; None if it has."""
        for nursery in list(self._all.values()):
            if nursery.tokens == {token}:
                return self._all.pop(nursery.key)
        return None

    def exited(self, address: Any) -> frozenset[int]:
        """The actor at that address has exited: the tokens it had, if it was a nursery."""
        for nursery in list(self._all.values()):
            if nursery.child.address == address:
                del self._all[nursery.key]
                return frozenset(nursery.tokens)
        return frozenset()
