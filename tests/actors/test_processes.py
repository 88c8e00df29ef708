"""Identity, trees and certain death of processes, each on real ones."""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import subprocess
import threading
import time

import pytest

from gen_agent.actors import process_tree
from gen_agent.actors.processes import (
    ProcessId,
    Watched,
    become_subreaper,
    children,
    descendants,
    kill_children,
    kill_tree,
    runs_another_program,
)
from tests.actors import scenes

SYS_EXIT = {"x86_64": 60, "aarch64": 93}.get(platform.machine())


def me() -> ProcessId:
    return ProcessId.of(os.getpid())


def test_identity_of_a_living_a_dead_and_a_reaped_process() -> None:
    """A zombie counts as dead, though its identity can still be read; a reaped process has none."""
    pid = os.fork()
    if pid == 0:
        scenes.rest()
    with Watched(pid) as watched:
        identity = ProcessId.of(pid)
        assert identity.alive()
        assert identity == watched.identity
        assert not watched.ended
        assert not watched.wait(0.0)
        assert identity.signal(signal.SIGKILL)
        assert watched.wait(5.0)
        assert ProcessId.of(pid) == identity
        assert not identity.alive()
        os.waitpid(pid, 0)
        assert watched.ended
        assert not watched.signal(signal.SIGKILL)
    with pytest.raises(ProcessLookupError):
        ProcessId.of(pid)
    with pytest.raises(ProcessLookupError):
        Watched(identity)
    assert not identity.signal(signal.SIGKILL)


def test_a_reused_pid_is_another_process() -> None:
    """Who has the same pid and another start time is neither alive, nor watched, nor signalled, nor
    killed."""
    with scenes.forked(lambda pipe: (scenes.say(pipe, None), scenes.rest())) as (watched, _):
        former = ProcessId(watched.identity.pid, watched.identity.start_time - 1)
        assert not former.alive()
        assert not former.signal(signal.SIGKILL)
        kill_tree(former)
        with pytest.raises(ProcessLookupError):
            Watched(former)
        assert not watched.ended
        assert watched.identity.alive()


@pytest.mark.skipif(SYS_EXIT is None, reason="the number of the system call is not known here")
def test_a_process_whose_first_thread_ended_lives() -> None:
    """The kernel shows such a process as a zombie; it still runs, so it counts as alive and can be killed."""

    def end_first_thread(pipe: int) -> None:
        pause = ctypes.CDLL(None).pause
        threading.Thread(target=pause).start()
        scenes.say(pipe, None)
        ctypes.PyDLL(None).syscall(SYS_EXIT, 0)

    with scenes.forked(end_first_thread) as (watched, _):
        state = b""
        while state != b"Z":
            with open(f"/proc/{watched.identity.pid}/stat", "rb") as file:
                state = file.read().rpartition(b")")[2].split()[0]
        assert watched.identity.alive()
        kill_tree(watched.identity)
        assert watched.wait(5.0)
        assert not watched.identity.alive()


def test_watched_gives_its_descriptor_back() -> None:
    """A watch closed twice, or refused, leaves no descriptor behind."""
    before = os.listdir("/proc/self/fd")
    with Watched(me()) as watched:
        assert watched.fileno() >= 0
    watched.close()
    assert watched.fileno() == -1
    with pytest.raises(ProcessLookupError):
        Watched(ProcessId(os.getpid(), 1))
    assert os.listdir("/proc/self/fd") == before


@pytest.mark.parametrize("listed", [True, False])
def test_children_and_descendants(listed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Children are direct, descendants all the way down, on kernels with and without a list of children."""
    monkeypatch.setattr(process_tree, "_kernel_lists_children", lambda: listed)

    def family(pipe: int) -> None:
        grandchild = scenes.sleeper(session=True)
        scenes.say(pipe, ProcessId.of(grandchild.pid))
        scenes.rest()

    with scenes.forked(family) as (watched, grandchild):
        assert watched.identity in children(os.getpid())
        assert grandchild not in children(os.getpid())
        assert children(watched.identity.pid) == (grandchild,)
        below = descendants(os.getpid())
        assert below.index(watched.identity) < below.index(grandchild)
        with Watched(grandchild) as below_it:
            kill_tree(watched.identity)
            assert watched.wait(5.0)
            assert below_it.wait(5.0)
        assert watched.identity in children(os.getpid())
        assert watched.identity not in descendants(os.getpid())
        assert not grandchild.alive()


def test_no_process_has_no_children() -> None:
    """Asking for the children of a process that is gone answers none and does not raise."""
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    assert children(pid) == ()
    assert descendants(pid) == ()


def kill_stuck_worker(how: str) -> tuple[list[ProcessId], tuple[ProcessId, ...], float, bool]:
    """In a process of its own: start a stuck worker with tools, kill it as an agent does, and say what is
    left."""
    become_subreaper()
    with scenes.forked(scenes.worker_with_tools(how)) as (worker, tools):
        assert all(tool.alive() for tool in tools)
        started = time.perf_counter()
        kill_tree(worker.identity)
        assert worker.wait(5.0)
        os.waitpid(worker.identity.pid, 0)
        left = kill_children()
        took_s = time.perf_counter() - started
    return [tool for tool in tools if tool.alive()], left, took_s, children(os.getpid()) == ()


@pytest.mark.parametrize("how", scenes.STUCK)
def test_kill_takes_a_stuck_worker_and_all_its_tools(how: str) -> None:
    """C100: a killed worker is gone with its tools, daemons in their own sessions included, and no zombie
    stays."""
    alive, left, took_s, none_left = scenes.in_fork(kill_stuck_worker, how)
    assert alive == []
    assert left == ()
    assert none_left
    assert took_s < 2.0


def test_kill_children_spares_what_is_kept() -> None:
    """Kept children and all below them stay untouched while the others are killed and reaped."""

    def scene() -> tuple[bool, bool, bool, tuple[ProcessId, ...]]:
        become_subreaper()
        kept, other = scenes.sleeper(), scenes.sleeper()
        stray = ProcessId.of(scenes.daemon())
        keep = ProcessId.of(kept.pid)
        lost = ProcessId.of(other.pid)
        left = kill_children(keep={keep})
        answer = keep.alive(), lost.alive(), stray.alive(), left
        assert children(os.getpid()) == (keep,)
        assert kill_children() == ()
        assert not keep.alive()
        return answer

    assert scenes.in_fork(scene) == (True, False, False, ())


def test_kill_children_catches_one_that_runs_away() -> None:
    """A tool that forks itself on and on, each time leaving the tree, is caught within the deadline."""

    def run_away(pipe: int) -> None:
        scenes.say(pipe, None)
        while True:
            if os.fork():
                os._exit(0)
            os.setsid()

    def scene() -> tuple[ProcessId, ...]:
        become_subreaper()
        with scenes.forked(run_away):
            return kill_children(deadline_s=20.0)

    assert scenes.in_fork(scene) == ()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can make a process it may not kill")
def test_kill_children_names_what_it_can_not_kill() -> None:
    """Children of another user's are named after the deadline, and the call neither raises nor waits
    longer."""

    def scene() -> tuple[int, tuple[ProcessId, ...], float]:
        child = scenes.sleeper()
        os.setresuid(65534, 65534, 65534)
        started = time.monotonic()
        return child.pid, kill_children(deadline_s=0.1), time.monotonic() - started

    become_subreaper()
    pid, left, took_s = scenes.in_fork(scene)
    assert [one.pid for one in left] == [pid]
    assert 0.1 <= took_s < 2.0
    assert left[0].signal(signal.SIGKILL)
    os.waitpid(pid, 0)


def test_kill_children_when_there_are_none() -> None:
    """Without children it returns at once with nothing left."""
    assert scenes.in_fork(lambda: kill_children(deadline_s=60.0)) == ()


def test_kill_children_under_ignored_sigchld() -> None:
    """Where the kernel reaps by itself, nothing is waited for that can't come."""

    def scene() -> tuple[ProcessId, ...]:
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        scenes.sleeper()
        return kill_children()

    assert scenes.in_fork(scene) == ()


def test_a_fork_is_told_from_another_program() -> None:
    """A process that was forked runs the same program, one that was started by exec runs another."""
    with scenes.forked(lambda pipe: (scenes.say(pipe, None), scenes.rest())) as (fork, _):
        assert not runs_another_program(fork.identity)
    with scenes.python("-c", "print(flush=True); input()", stdin=subprocess.PIPE) as program:
        assert program.stdout.read(1)
        assert runs_another_program(ProcessId.of(program.pid))
        gone = ProcessId(program.pid, 1)
        assert not runs_another_program(gone)
        program.stdin.close()
