"""Ending systems from outside, and killing what is left of those that have ended.

The law: a system is asked to end by its guardian, and killed only after its time; nothing is killed that a
census does not call left over, and killing goes by identity. This module must not know Thespian or actors.
"""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Collection, Iterable

from gen_agent.actors.guardian import END_MARGIN_S
from gen_agent.actors.guardian_census import Census, Leftover, RunningSystem, take_census
from gen_agent.actors.processes import ProcessId, Watched
from gen_agent.actors.system_files import sweep

KILLED_S = 5.0
"""How long what was killed may take to be gone, in seconds."""


def stop_system(system: RunningSystem, timeout_s: float) -> bool:
    """End a running system and return when all of it is gone; whether it ended by itself.

    Its agents may take `timeout_s` seconds for their last callbacks; then everything is killed. Harmless for
    a system that is ending or gone.
    """
    with contextlib.suppress(ProcessLookupError), Watched(system.place.guardian) as guardian:
        guardian.signal(signal.SIGTERM)
        if not guardian.wait(timeout_s):
            guardian.signal(signal.SIGQUIT)
            _kill_if_hung(guardian)
            return False
    return True


def _kill_if_hung(guardian: Watched) -> None:
    if not guardian.wait(END_MARGIN_S):
        guardian.signal(signal.SIGKILL)
        guardian.wait(KILLED_S)
        kill_leftovers({guardian.identity})
        sweep()


def await_ends(port: int | None, patience_s: float) -> Census:
    """A census without leftovers, or the one after `patience_s`, in which what is about to end may do so."""
    until = time.monotonic() + patience_s
    census = take_census(port)
    while census.leftovers and time.monotonic() < until:
        _await_all(census.leftovers, until)
        census = take_census(port)
    return census


def _await_all(leftovers: Iterable[Leftover], until: float) -> None:
    for leftover in leftovers:
        with contextlib.suppress(ProcessLookupError), Watched(leftover.process) as watched:
            watched.wait(until - time.monotonic())


def kill_leftovers(guardians: Collection[ProcessId]) -> tuple[Leftover, ...]:
    """Kill what the systems of these guardians left, and return it once it has ended, or after `KILLED_S`
    seconds.

    All is stopped first, so that nothing escapes by forking meanwhile. Another census tells what could not be
    killed: a program that changed its user, or hangs in the kernel.
    """
    frozen: dict[ProcessId, Leftover] = {}
    while fresh := [one for one in _left_by(guardians) if one.process not in frozen]:
        for one in fresh:
            frozen[one.process] = one
            _send(one.process, signal.SIGSTOP)
    for process in frozen:
        _send(process, signal.SIGKILL)
    _await_all(frozen.values(), time.monotonic() + KILLED_S)
    return tuple(frozen.values())


def _left_by(guardians: Collection[ProcessId]) -> list[Leftover]:
    return [one for one in take_census().leftovers if one.place.guardian in guardians] if guardians else []


def _send(process: ProcessId, number: int) -> None:
    # What changed its user can't be signalled, and is found again by the next census.
    with contextlib.suppress(PermissionError):
        process.signal(number)
