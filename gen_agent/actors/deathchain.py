"""How a process of an actor system is bound to the life of the one that started it.

The law: every process asks the kernel to be killed with its parent before it does anything else, and ends at
once if the parent is dead already; so when the first of a chain dies, all do. This module must not know
Thespian.
"""

from __future__ import annotations

import os
import select
import signal

from gen_agent.actors.processes import die_with_parent

SETTLE_S = 5.0
"""How long an admin waits for the process between it and the guardian to end, in seconds."""


def follow_parent(parent: int) -> None:
    """Die with the process `parent`, which forked this one."""
    die_with_parent(signal.SIGKILL, parent)


def follow_guardian(guardian: int) -> None:
    """Die with the process `guardian`, which adopts this one when the process in between has ended.

    The kernel would take the end of the one in between for the parent's death: it is waited for first. That
    one leads the session this process is in; any other parent is not in between.
    """
    between = os.getppid()
    if between != guardian and between == os.getsid(0):
        _await_end(between)
    die_with_parent(signal.SIGKILL, guardian)


def _await_end(pid: int) -> None:
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        # Ended before it was opened: the number may belong to another process by now, which nobody waits for.
        if os.getppid() == pid:
            poller = select.poll()
            poller.register(descriptor, select.POLLIN)
            poller.poll(SETTLE_S * 1000)
    finally:
        os.close(descriptor)
