"""What an agent's process does about itself before it runs anything of a user's.

It follows its parent's death, takes in orphans, gives back inherited descriptors, and takes a termination
signal as the order to end, with the kernel's alarm behind it for the case that a callback never returns.
Processes only.
"""

from __future__ import annotations

import os
import signal
from types import FrameType
from typing import Any

from thespian.actors import Actor

from gen_agent.actors.children import transport_descriptors
from gen_agent.actors.internal import Begin
from gen_agent.actors.processes import (
    ENDING,
    become_subreaper,
    close_descriptors,
    die_with_parent,
    set_title,
)

TERM_S = 2
"""How long after a termination signal the kernel ends an agent that has not begun to end, in seconds."""


_ORDINARY = "gen_agent fork"


def settle_in(actor: Actor, begin: Begin) -> None:
    """Make this process an agent's. Exits at once if the parent named in `begin` is dead already."""
    _take_terminate_as_exit()
    die_with_parent(signal.SIGTERM, os.getppid() if begin.parent_pid is None else begin.parent_pid)
    become_subreaper()
    close_descriptors({*begin.keep, *transport_descriptors(actor)})


def _take_terminate_as_exit() -> None:
    thespians: Any = signal.getsignal(signal.SIGTERM)

    def on_terminate(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(TERM_S)
        thespians(number, frame)

    if callable(thespians):
        signal.signal(signal.SIGTERM, on_terminate)


def say_it_ends() -> None:
    """From now on this process ends by itself: whoever takes in orphans can see it, and a termination signal
    asks for nothing more. Its forks do not say so of themselves.
    """
    # Where the supervisor is lost both come, its death and the parent's signal, which may be the later one.
    signal.signal(signal.SIGTERM, lambda number, frame: None)
    os.register_at_fork(after_in_child=lambda: set_title(_ORDINARY))
    set_title(ENDING)


def bound_exit(seconds: float | None) -> None:
    """From now on this process has `seconds` until the kernel ends it (None: as long as it takes)."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, 0 if seconds is None else max(0.001, seconds))
