"""What an agent's process sees to when it begins to end: its own limit, and that others can see it."""

from __future__ import annotations

import os
import signal

from gen_agent.actors import settling
from gen_agent.actors.orphans import Orphans
from gen_agent.actors.processes import ENDING, ProcessId, Watched, become_subreaper, has_title
from tests.actors import scenes

LONG_S = 60.0


def begin_to_end() -> None:
    """As an agent with a long time does, under a handler like Thespian's."""
    signal.signal(signal.SIGTERM, lambda *_: None)
    settling._take_terminate_as_exit()
    settling.bound_exit(LONG_S)
    settling.say_it_ends()


def test_a_late_termination_signal_does_not_cut_the_end_short() -> None:
    """C014, C047: the parent's signal may come after the supervisor's death was seen; the limit stays."""

    def scene() -> float:
        begin_to_end()
        signal.raise_signal(signal.SIGTERM)
        return signal.getitimer(signal.ITIMER_REAL)[0]

    assert scenes.in_fork(scene) > LONG_S / 2


def test_a_termination_signal_before_the_end_bounds_its_beginning() -> None:
    """An agent that does not even begin to end is ended by the kernel soon."""

    def scene() -> float:
        signal.signal(signal.SIGTERM, lambda *_: None)
        settling._take_terminate_as_exit()
        signal.raise_signal(signal.SIGTERM)
        return signal.getitimer(signal.ITIMER_REAL)[0]

    assert 0 < scenes.in_fork(scene) <= settling.TERM_S


def test_who_ends_says_so_and_its_forks_do_not() -> None:
    """The title tells the end of a process, of that process alone."""

    def scene() -> tuple[bool, bool]:
        begin_to_end()
        mine = has_title(ProcessId.of(os.getpid()), ENDING)
        return mine, scenes.in_fork(lambda: has_title(ProcessId.of(os.getpid()), ENDING))

    assert scenes.in_fork(scene) == (True, False)


def orphan(pipe: int, *, ends: bool) -> None:
    """Lose the parent, say who this is, and stay."""
    if os.fork():
        os._exit(0)
    if ends:
        begin_to_end()
    os.write(pipe, f"{os.getpid()} ".encode())
    scenes.rest()


def two_orphans() -> list[ProcessId]:
    """One that says that it ends and one that does not, both come home to this process."""
    become_subreaper()
    read, write = os.pipe()
    for ends in (True, False):
        between = os.fork()
        if between == 0:
            orphan(write, ends=ends)
        os.waitpid(between, 0)
    said = b""
    while said.count(b" ") < 2:
        said += os.read(read, 100)
    return [ProcessId.of(int(pid)) for pid in said.split()]


def test_orphans_that_end_are_given_their_time_and_others_are_not() -> None:
    """C100: a fork that lost its parent is killed after the grace, one that says that it ends is not."""

    def scene() -> tuple[bool, ...]:
        orphans = two_orphans()
        try:
            ends = {one: has_title(one, ENDING) for one in orphans}
            Orphans(0.0).clean_up(())
            return tuple(one.alive() == ends[one] for one in orphans if _settled(one, ends[one]))
        finally:
            for one in orphans:
                one.signal(signal.SIGKILL)
                os.waitpid(one.pid, 0)

    assert scenes.in_fork(scene) == (True, True)


def _settled(process: ProcessId, stays: bool) -> bool:
    """Wait for the end of one that was killed."""
    if stays:
        return True
    with Watched(process) as watched:
        return watched.wait(5.0)
