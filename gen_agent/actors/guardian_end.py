"""How a guardian lets agents end in an orderly way before it kills what is left.

The law: both ways are bounded, and cut short as soon as the owner has ended, for whom they are done. This
module must not load Thespian.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection
from typing import Protocol

from gen_agent.actors.orphans import Orphans
from gen_agent.actors.processes import ProcessId, Watched, other_children

_LOOK_AGAIN_S = 0.02
_log = logging.getLogger(__name__)


class Farewell(Protocol):
    """A request to shut down on its way to the supervisor."""

    def left(self, timeout_s: float) -> bool:
        """Whether the supervisor has it, or is dead, within that time."""

    def close(self) -> None:
        """Give the endpoint up."""


class Dismissable(Protocol):
    """A system whose supervisor can be asked to shut down."""

    def farewell(self) -> Farewell:
        """Ask it."""


def _wait(done: Callable[[], bool], until: float, owner: Watched | None) -> None:
    """Wait for `done`, which waits a little itself, unless time is up or the owner has ended."""
    while not done():
        if time.monotonic() >= until or (owner is not None and owner.ended):
            return


def shut_down(system: Dismissable, supervisor: Watched, owner: Watched | None, bound_s: float) -> None:
    """Ask the supervisor to end all agents, and wait until it has ended itself, at most `bound_s` seconds."""
    until = time.monotonic() + bound_s
    try:
        farewell = system.farewell()
    except Exception as failure:
        _log.warning("the system could not be asked to shut down: %s", type(failure).__name__)
        return
    try:
        _wait(lambda: farewell.left(_LOOK_AGAIN_S), until, owner)
    finally:
        farewell.close()
    _wait(lambda: supervisor.wait(_LOOK_AGAIN_S), until, owner)


def let_agents_finish(
    orphans: Orphans, services: Collection[ProcessId], owner: Watched | None, bound_s: float
) -> None:
    """Wait until nothing is below this process but `services`, at most `bound_s` seconds, cleaning up
    meanwhile.

    For a system whose admin is dead: its supervisor dies with it, agents see that and end by themselves.
    """

    def finished() -> bool:
        orphans.clean_up({service.pid for service in services})
        # Who loses a parent becomes our child, so that there is nobody deeper down when there is none.
        if not other_children(services):
            return True
        time.sleep(_LOOK_AGAIN_S / 4)
        return False

    _wait(finished, time.monotonic() + bound_s, owner)
