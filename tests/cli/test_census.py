"""Which processes belong to which system, and which of them are left over."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from gen_agent.actors import guardian_census, guardian_cleanup, guardian_mark
from gen_agent.actors.guardian import GuardianHandle
from gen_agent.actors.guardian_census import take_census
from gen_agent.actors.guardian_cleanup import await_ends, kill_leftovers
from gen_agent.actors.guardian_mark import Mark, read_mark
from gen_agent.actors.processes import ProcessId, descendants
from gen_agent.actors.system_files import SystemPlace, sweep
from tests.actors.guarded import Everyone, guarded, joined, owner

DEAD = SystemPlace(Path("/nowhere/system-7-1-1"), 7, ProcessId(1, 1))
"""A system whose guardian is certainly dead."""

LIVING = SystemPlace(Path("/nowhere/system-8-1-1"), 8, ProcessId.of(os.getpid()))
"""A system that we pretend to guard."""


def begin(handle: GuardianHandle) -> tuple[ProcessId, ProcessId]:
    """An agent with a tool in a session of its own."""
    with joined(handle.info) as (system, supervisor):
        agent, tool = system.ask(supervisor, ("begin", None), 10)
    return ProcessId.of(agent), ProcessId.of(tool)


def test_every_process_of_a_system_is_marked() -> None:
    """Forks are known by what they have mapped, programs by their environment, whatever they are called."""
    with guarded() as handle:
        _, tool = begin(handle)
        everyone = (handle.info.guardian, *descendants(handle.info.guardian.pid))
        assert tool in everyone
        for process in everyone:
            mark = read_mark(process.pid)
            assert mark is not None
            assert mark.place == SystemPlace(Path(handle.info.directory), handle.port, handle.info.guardian)
            assert mark.owner == (None if process == tool else ProcessId.of(os.getpid()))


def test_nobody_else_is_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The owner of a system has no mark, nor has another user's process or one in a container."""
    with guarded() as handle:
        assert read_mark(os.getpid()) is None
        guardian = handle.info.guardian.pid
        with monkeypatch.context() as patch:
            patch.setattr(guardian_mark.os, "getuid", lambda: os.geteuid() + 1)
            assert read_mark(guardian) is None
        with monkeypatch.context() as patch:
            patch.setattr(guardian_mark.os, "readlink", lambda path: path)
            assert read_mark(guardian) is None
        assert read_mark(guardian) is not None


def test_a_living_system_is_shown_and_left_alone() -> None:
    """A system that runs is in the census with its owner, and nothing of it is left over."""
    with guarded() as handle:
        begin(handle)
        census = take_census(handle.port)
        assert [one.place.guardian for one in census.systems] == [handle.info.guardian]
        assert census.systems[0].owner == ProcessId.of(os.getpid())
        assert not census.systems[0].abandoned
        assert 0 < census.systems[0].up_s() < 60
        assert census.leftovers == ()
        assert kill_leftovers({handle.info.guardian}) == ()
        assert not handle.ended


def test_what_a_killed_guardian_left_is_found_and_killed() -> None:
    """C100: of a system whose guardian was killed what does not end by itself is found, a stopped agent and
    its tool in a session of its own, and nothing else; killing leaves none of it, and the next system alone.
    """
    with guarded() as living, guarded() as handle:
        begin(living)
        agent, tool = begin(handle)
        everyone = Everyone.of(handle.info)
        agent.signal(signal.SIGSTOP)
        supervisor = handle.info.supervisor
        supervisor.signal(signal.SIGSTOP)
        handle.info.guardian.signal(signal.SIGKILL)
        census = await_ends(handle.port, 1.0)
        assert census.systems == ()
        left = {one.process for one in census.leftovers}
        assert tool in left
        assert {one.place.guardian for one in census.leftovers} == {handle.info.guardian}
        assert {one.process for one in kill_leftovers({handle.info.guardian})} == left
        everyone.gone_within(0.0)
        assert take_census(handle.port).leftovers == ()
        assert take_census(living.port).leftovers == ()
        assert not living.ended


def test_a_guardian_that_outlived_its_owner() -> None:
    """A guardian that hangs when its owner is killed is left over, with everything below it."""
    with owner("leave") as (running, everyone):
        guardian = everyone.watched[0].identity
        guardian.signal(signal.SIGSTOP)
        assert take_census(everyone.port).leftovers == ()
        running.kill()
        running.wait()
        census = take_census(everyone.port)
        assert [one.abandoned for one in census.systems] == [True]
        assert {one.process for one in census.leftovers} == {one.identity for one in everyone.watched}
        assert [one.process for one in census.leftovers if one.is_guardian] == [guardian]
        kill_leftovers({guardian})
        everyone.gone_within(0.0)
        sweep(everyone.port)
        everyone.left_nothing()


@contextlib.contextmanager
def chain() -> Iterator[list[ProcessId]]:
    """Four processes, each the parent of the next."""
    shell = "sh -c 'sh -c \"sleep 600; :\"; :'; :"
    with subprocess.Popen(["sh", "-c", shell], start_new_session=True) as first:
        found = [ProcessId.of(first.pid)]
        try:
            while len(found) < 4:
                found = [ProcessId.of(first.pid), *descendants(first.pid)]
            yield found
        finally:
            for one in reversed(found):
                one.signal(signal.SIGKILL)


def leftovers_where(marks: dict[ProcessId, Mark], monkeypatch: pytest.MonkeyPatch) -> set[ProcessId]:
    """What is left over if these are the marks."""
    monkeypatch.setattr(guardian_census, "_marked", lambda: iter(marks.items()))
    return {one.process for one in take_census().leftovers}


def test_below_a_leftover_all_is_left_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that was started with an environment of its own goes with who started it."""
    with chain() as (top, *below):
        assert leftovers_where({top: Mark(DEAD, None)}, monkeypatch) == {top, *below}
        assert leftovers_where({top: Mark(LIVING, None)}, monkeypatch) == set()


def test_a_living_system_below_a_leftover_is_spared(monkeypatch: pytest.MonkeyPatch) -> None:
    """What belongs to a living system is never left over, nor what runs below it, whoever its parent is."""
    with chain() as (top, second, third, fourth):
        marks = {top: Mark(DEAD, None), third: Mark(LIVING, None)}
        assert leftovers_where(marks, monkeypatch) == {top, second}
        marks[fourth] = Mark(DEAD, None)
        assert leftovers_where(marks, monkeypatch) == {top, second, fourth}


def test_who_looks_is_spared(monkeypatch: pytest.MonkeyPatch) -> None:
    """A doctor that is called from what is left over does not end itself, nor those above it."""
    mine = {ProcessId.of(os.getpid()): Mark(DEAD, None), ProcessId.of(os.getppid()): Mark(DEAD, None)}
    assert leftovers_where(mine, monkeypatch) == set()


def test_waiting_for_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """What does not end within the patience is found; what ends meanwhile is not."""
    with subprocess.Popen(["sleep", "600"]) as tool:
        process = ProcessId.of(tool.pid)
        marked = {process: Mark(DEAD, None)}
        monkeypatch.setattr(guardian_census, "_marked", lambda: iter(marked.items()))
        assert [one.process for one in await_ends(None, 0.05).leftovers] == [process]
        monkeypatch.setattr(guardian_cleanup, "_await_all", lambda *_: process.signal(signal.SIGKILL))
        assert await_ends(None, 30.0).leftovers == ()
