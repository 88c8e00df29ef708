"""How a guardian lets agents end in an orderly way before it kills what is left.

The law: both ways are bounded, and cut short as soon as there is a hurry. This module must not load Thespian.
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
    """A request to shut down on its way to the supervisor, whichever that is by now."""

    supervisor: ProcessId | None

    def arrived(self, timeout_s: float) -> bool:
        """Get on with it for at most that long; whether the supervisor has it, is dead, or there is none.

        Then `supervisor` is the one that has it.
        """

    def close(self) -> None:
        """Give the endpoint up."""


class Dismissable(Protocol):
    """A system whose supervisor can be asked to shut down."""

    def farewell(self, *, lost: bool) -> Farewell:
        """Ask it; `lost` says that the first one is dead, and that its successor is to be found."""


def _wait(done: Callable[[], bool], until: float, hurry: Callable[[], bool]) -> None:
    """Wait for `done`, which waits a little itself, unless time is up or there is a hurry."""
    while not done():
        if time.monotonic() >= until or hurry():
            return


def shut_down(system: Dismissable, first: Watched, hurry: Callable[[], bool], until: float) -> None:
    """Ask the supervisor to end all agents, and wait until it has ended itself, at the latest `until`.

    `first` is the supervisor the system began with. Where it is dead the one that lives is asked, if there is
    one.
    """
    try:
        farewell = system.farewell(lost=first.ended)
    except Exception as failure:
        _log.warning("the system could not be asked to shut down: %s", type(failure).__name__)
        return
    try:
        _wait(lambda: farewell.arrived(_LOOK_AGAIN_S), until, hurry)
    finally:
        farewell.close()
    if farewell.supervisor is not None:
        _await_end(farewell.supervisor, until, hurry)


def _await_end(process: ProcessId, until: float, hurry: Callable[[], bool]) -> None:
    try:
        with Watched(process) as watched:
            _wait(lambda: watched.wait(_LOOK_AGAIN_S), until, hurry)
    except ProcessLookupError:
        return  # ended and reaped


def let_agents_finish(
    orphans: Orphans, others: Collection[ProcessId], hurry: Callable[[], bool], until: float
) -> None:
    """Wait until nothing is below this process but `others`, at the latest `until`, cleaning up meanwhile.

    For agents whose supervisor is dead: they see that and end by themselves.
    """

    def finished() -> bool:
        orphans.clean_up({other.pid for other in others})
        # Who loses a parent becomes our child, so that there is nobody deeper down when there is none.
        if not other_children(others):
            return True
        time.sleep(_LOOK_AGAIN_S / 4)
        return False

    _wait(finished, until, hurry)
