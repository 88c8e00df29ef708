"""What every client of a script has: a line into the system, a mailbox, and one thread at a time."""

from __future__ import annotations

from typing import Any

from gen_agent.actors.endpoint import Endpoint
from gen_agent.actors.guard import OneThread
from gen_agent.actors.line import Line
from gen_agent.actors.pickup import Pickup
from gen_agent.client.targets import checked_target, checked_timeout
from gen_agent.envelopes import Call, Cast

CLOSING_S = 5.0
"""How long closing waits for what was sent to leave, in seconds."""


class ScriptSide:
    """Base of a script's clients; what the mixins beside it use."""

    def __init__(self, endpoint: Endpoint, what: str) -> None:
        self._guard = OneThread(what)
        self._line = Line(endpoint)
        self._pickup = Pickup(self._line)
        self._guard.before = self._pickup.take_back_dropped

    def _call(self, target: Any, message: Call, timeout: float | None) -> Any:
        target = checked_target(target)
        seconds = checked_timeout(timeout)
        with self._guard:
            return self._line.call(target, message, seconds)

    def _cast(self, target: Any, message: Cast) -> None:
        target = checked_target(target)
        with self._guard:
            self._line.cast(target, message)

    def _ask_supervisor(self, message: Call, timeout: float | None = None, *, asked: Any = None) -> Any:
        with self._guard:
            return self._line.ask_supervisor(message, timeout, asked=asked)

    def _hang_up(self, *, system_ends: bool = False) -> None:
        """End this client's mailbox and monitors; agents live on."""
        if self._guard.closed:
            return
        with self._guard:
            try:
                self._pickup.close(system_ends=system_ends)
                self._line.flush(CLOSING_S)
            finally:
                self._guard.closed = True
                self._line.close()
