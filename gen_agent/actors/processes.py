"""Processes: the one door to what the operating system knows of them, and their certain death.

The law: killing is done when the kernel says so, not when a signal was sent. Together with `process_tree` and
`own_process`, whose names it passes on, this is the only place for process work of the operating system. It
must not know Thespian, actors or messages. Linux >= 5.3 (`require_linux`).
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Collection

from gen_agent.actors.own_process import (
    ENDING,
    become_subreaper,
    close_descriptors,
    die_with_parent,
    open_descriptors,
    raise_descriptor_limit,
    require_linux,
    reset_signals,
    set_title,
)
from gen_agent.actors.process_tree import (
    ProcessId,
    Watched,
    children,
    descendants,
    has_title,
    parent_of,
    runs_another_program,
)

__all__ = [
    "ENDING",
    "ProcessId",
    "Watched",
    "become_subreaper",
    "children",
    "close_descriptors",
    "descendants",
    "die_with_parent",
    "has_title",
    "kill_children",
    "kill_tree",
    "open_descriptors",
    "other_children",
    "parent_of",
    "raise_descriptor_limit",
    "require_linux",
    "reset_signals",
    "runs_another_program",
    "set_title",
]

_LOOK_AGAIN_S = 0.05


def _freeze(root: ProcessId) -> list[ProcessId]:
    """Stop `root` and all below it; a stopped process can neither fork nor reap, so the tree is complete
    then."""
    frozen: dict[ProcessId, None] = {}
    fresh = [root]
    while fresh:
        for process in fresh:
            frozen[process] = None
            _send(process, signal.SIGSTOP)
        fresh = [process for process in descendants(root.pid) if process not in frozen]
    return list(frozen)


def _send(process: ProcessId, number: int) -> None:
    # A tool that changed its user (sudo) can't be signalled; `kill_children` names it among what is left.
    with contextlib.suppress(PermissionError):
        process.signal(number)


def kill_tree(root: ProcessId) -> None:
    """Send SIGKILL to `root` and everything below it, so that nothing escapes by forking meanwhile.

    The tree is stopped first, then killed. Returns at once, before the deaths: wait for the root's pidfd,
    reap it, and call `kill_children` in a subreaper for what had left the tree. The root dies even where the
    walk fails.
    """
    try:
        for process in _freeze(root):
            _send(process, signal.SIGKILL)
    finally:
        _send(root, signal.SIGKILL)


def _reap(pid: int) -> None:
    # Whoever ignores SIGCHLD has its children reaped by the kernel: nobody is left to wait for.
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def _no_child_at_all() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return True
    return False


def other_children(keep: Collection[ProcessId]) -> tuple[ProcessId, ...]:
    """Our children outside `keep`, zombies included; the listing is read again before it is believed to be
    empty."""
    mine = os.getpid()
    for _ in range(2):
        found = tuple(child for child in children(mine) if child not in keep)
        if found or _no_child_at_all():
            return found
    return ()


def _await_any(victims: Collection[ProcessId], timeout_s: float) -> None:
    poller = select.poll()
    with contextlib.ExitStack() as held:
        for victim in victims:
            with contextlib.suppress(ProcessLookupError):
                poller.register(held.enter_context(Watched(victim)), select.POLLIN)
        poller.poll(max(0.0, timeout_s) * 1000)


def kill_children(*, keep: Collection[ProcessId] = (), deadline_s: float = 5.0) -> tuple[ProcessId, ...]:
    """Kill and reap every child of this process outside `keep`, with all below, until none is left.

    In a subreaper what a killed child leaves behind comes home here, layer by layer, and is killed in turn.
    Children in `keep` and what is below them stay untouched. Reaping takes exit statuses away from whoever
    waits for them (`subprocess`, `multiprocessing`): keep those, or join them first. Returns () when nothing
    is left, else after `deadline_s` seconds the children that could not be ended (another user's, or stuck in
    the kernel).
    """
    end = time.monotonic() + deadline_s
    while victims := other_children(keep):
        for victim in victims:
            if victim.alive():
                kill_tree(victim)
        remaining = end - time.monotonic()
        _await_any(victims, min(_LOOK_AGAIN_S, remaining))
        for victim in victims:
            _reap(victim.pid)
        if remaining <= 0:
            return other_children(keep)
    return ()
