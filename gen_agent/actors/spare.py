"""One agent's process ahead of its start, while agents are being started one after the other.

The law: there is at most one; it is made only in a crowd, after the start that announced it, and ends by
itself when nobody came for it. It differs in nothing from one that is forked when it is needed. Only where a
parent takes its children along when it is killed. This module must not know agents.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable

from gen_agent.actors.children import CannotCreate, Child
from gen_agent.actors.processes import kill_tree
from gen_agent.actors.shell import Shell, log_failure

CROWD = 3
CROWD_S = 0.25
"""So many starts in a row, none later than this after the one before, announce another."""

KEPT_S = 0.25
"""How long an unused spare is kept."""

_AFTER_S = 0.005
"""How long after a start its spare is forked: what the start itself has to send leaves before."""

_FORK, _END = "fork a spare", "end the spare"


class Spare:
    """The spare child of `host`, which passes on the deadlines it has set for it."""

    def __init__(self, host: Shell, make: Callable[[], Child]) -> None:
        self._host, self._make = host, make
        self._child: Child | None = None
        self._last_s, self._row = -CROWD_S, 0

    def take(self) -> Child | None:
        """The spare, if there is one that lives; it is the caller's from now on."""
        child, self._child = self._child, None
        self._host.clear_deadline(_END)
        return child if child is not None and child.process is not None and child.process.alive() else None

    def expect_more(self) -> None:
        """A child was started: another may follow."""
        now = time.monotonic()
        self._row = self._row + 1 if now - self._last_s < CROWD_S else 1
        self._last_s = now
        if self._row >= CROWD and self._host.has_processes and self._host.sends_at_once:
            self._host.set_deadline(_FORK, _AFTER_S)

    def on_deadline(self, key: Hashable) -> None:
        """Make the spare, or end it."""
        if key == _FORK and self._child is None:
            self._fork()
        elif key == _END and self._child is not None and self._child.process is not None:
            # It has nothing to say and nothing below it.
            kill_tree(self._child.process)
            self._child = None

    def _fork(self) -> None:
        try:
            self._child = self._make()
        except CannotCreate as error:
            # The next start tries for itself, and tells its starter.
            log_failure("forking a spare", error)
        else:
            self._host.set_deadline(_END, KEPT_S)
