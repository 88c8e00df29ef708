"""Agents with requirements that an actor starts as its own children: what if no system meets them.

The law: such a start ends with the error that names the requirements, as a supervised one does, never by its
time running out. This module knows no Thespian: what comes back of a message says so in `poisonMessage`, and
of a child in `childAddress`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from gen_agent.errors import InitFailed
from gen_agent.messages import Reply, StartAgent
from gen_agent.values import CallRef

REMEMBERED = 1_000
"""How many starts are remembered: of one that was refused Thespian may tell more than once."""


def nobody_has(requirements: Mapping[str, Any]) -> InitFailed:
    """The error of a start whose requirements no system meets."""
    wanted = ", ".join(f"{name}={value!r}" for name, value in requirements.items())
    return InitFailed("requirements", f"no system that answers has {wanted}")


class Placing:
    """The starts of one actor's own children that have requirements."""

    def __init__(self) -> None:
        self._starts: OrderedDict[CallRef, tuple[Any, StartAgent]] = OrderedDict()

    def begin(self, child: Any, start: StartAgent) -> None:
        """That child has been asked for, for that start."""
        if start.requirements:
            self._starts[start.call] = (child, start)
            if len(self._starts) > REMEMBERED:
                self._starts.popitem(last=False)

    def unplaced(self, message: Any) -> Reply | None:
        """The answer to a start that has come back, because there will be no child to take it."""
        start = getattr(message, "poisonMessage", None)
        if not isinstance(start, StartAgent) or start.call not in self._starts:
            return None
        return Reply(start.call, error=nobody_has(start.requirements))

    def ended(self, message: Any) -> Reply | None:
        """The answer to the start of a child that has ended, if it was not answered by the child itself."""
        address = getattr(message, "childAddress", None)
        for child, start in self._starts.values() if address is not None else ():
            if child == address:
                return Reply(start.call, error=nobody_has(start.requirements))
        return None
