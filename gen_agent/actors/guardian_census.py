"""Which guarded systems of this user run on this machine, and what those left that do not.

The law: a process belongs to a system by its mark, or by running below one that does, never by its command
line. It is left over if its guardian is dead, or should have ended with its owner; whatever belongs to a
living system is no leftover, whoever its parent is, and neither are the processes one looks from. Looking
changes nothing. This module must not know Thespian or actors.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Mapping, Set

import attrs

from gen_agent.actors.guardian_mark import Mark, read_mark
from gen_agent.actors.processes import ProcessId, children, parent_of
from gen_agent.actors.system_files import SystemPlace


@attrs.frozen
class RunningSystem:
    """A system whose guardian lives."""

    place: SystemPlace
    owner: ProcessId | None

    @property
    def abandoned(self) -> bool:
        """Whether its owner has ended, so that it should have ended, too."""
        return self.owner is not None and not self.owner.alive()

    def up_s(self) -> float:
        """For how long its guardian has lived, in seconds."""
        started_s = self.place.guardian.start_time / os.sysconf("SC_CLK_TCK")
        return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - started_s)


@attrs.frozen
class Leftover:
    """A process of a system that is gone, or should be."""

    process: ProcessId
    place: SystemPlace
    is_guardian: bool


@attrs.frozen
class Census:
    """What there was at one moment."""

    systems: tuple[RunningSystem, ...]
    leftovers: tuple[Leftover, ...]


def take_census(port: int | None = None) -> Census:
    """Look at all processes of this user now; `port`: of systems that have or had this one only.

    Misses what was started with an environment of its own and lost its parents, and systems without a
    guardian.
    """
    marked = dict(_marked())
    running = {
        process: RunningSystem(mark.place, mark.owner)
        for process, mark in marked.items()
        if process == mark.place.guardian
    }
    doomed = {process: mark.place for process, mark in marked.items() if not _lives(mark, running)}
    spared = (marked.keys() - doomed.keys()) | _above()
    found = dict[ProcessId, Leftover]()
    for process, place in doomed.items():
        for one in _tree(process, spared):
            belongs = doomed.get(one, place)
            found[one] = Leftover(one, belongs, one == belongs.guardian)
    return Census(
        tuple(sorted((one for one in running.values() if _on(port, one.place)), key=_by_port)),
        tuple(sorted((one for one in found.values() if _on(port, one.place)), key=_by_pid)),
    )


def _lives(mark: Mark, running: Mapping[ProcessId, RunningSystem]) -> bool:
    system = running.get(mark.place.guardian)
    return mark.place.guardian.alive() if system is None else not system.abandoned


def _marked() -> Iterator[tuple[ProcessId, Mark]]:
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(ProcessLookupError):
                process = ProcessId.of(int(name))
                mark = read_mark(process.pid)
                # The number may have gone to another process between the two.
                if mark is not None and process.alive():
                    yield process, mark


def _above() -> set[ProcessId]:
    """The calling process, and those it runs below."""
    found = set[ProcessId]()
    pid = os.getpid()
    while pid > 0:
        with contextlib.suppress(ProcessLookupError):
            found.add(ProcessId.of(pid))
        pid = parent_of(pid)
    return found


def _tree(root: ProcessId, spared: Set[ProcessId]) -> Iterator[ProcessId]:
    """A process and all below it, but nothing that is spared nor what is below that."""
    if root in spared or not root.alive():
        return
    yield root
    for child in children(root.pid):
        yield from _tree(child, spared)


def _on(port: int | None, place: SystemPlace) -> bool:
    return port is None or place.port == port


def _by_port(system: RunningSystem) -> tuple[int, int]:
    return system.place.port, system.place.guardian.pid


def _by_pid(leftover: Leftover) -> int:
    return leftover.process.pid
