"""Children that came to a subreaper because their parent died: reaped when dead, ended when they are
left-over tools.

The law: a tool (something started by `exec`) that lost its agent is of no use to anybody and is killed at
once, with all below it. A process of the system itself (a fork of this one) ends by itself when its parent
dies, and is given the time for it: a short one to begin, then as long as it has bounded itself to, if its
title says that it ends. This module must not know Thespian.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection

from gen_agent.actors.processes import (
    ENDING,
    ProcessId,
    children,
    has_title,
    kill_tree,
    runs_another_program,
)


class Orphans:
    """The orphans of the calling process, of which forks that do not end may live `grace_s` seconds more."""

    def __init__(self, grace_s: float) -> None:
        self._grace_s = grace_s
        self._forks: dict[ProcessId, float] = {}

    def clean_up(self, ours: Collection[int]) -> bool:
        """Reap and end what came; children whose pid is in `ours` are none. Whether a fork may still end by
        itself."""
        now = time.monotonic()
        forks = {}
        for child in children(os.getpid()):
            if child.pid in ours:
                continue
            if not child.alive():
                os.waitpid(child.pid, os.WNOHANG)
                continue
            since = self._forks.get(child, now)
            overdue = now - since >= self._grace_s and not has_title(child, ENDING)
            if runs_another_program(child) or overdue:
                kill_tree(child)
            else:
                forks[child] = since
        self._forks = forks
        return bool(forks)
