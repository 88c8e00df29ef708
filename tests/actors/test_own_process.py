"""What a process sets about itself, each in a process of its own."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import subprocess

import pytest

from gen_agent.actors import own_process
from gen_agent.actors.processes import (
    ProcessId,
    Watched,
    become_subreaper,
    children,
    die_with_parent,
    raise_descriptor_limit,
    require_linux,
    reset_signals,
    set_title,
)
from tests.actors import scenes


def test_other_systems_are_refused_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without pidfds the error names Linux and what else to use; on this machine there is none."""
    require_linux()
    monkeypatch.delattr(os, "pidfd_open")
    with pytest.raises(RuntimeError, match=r"Linux >= 5\.3.*simpleSystemBase"):
        require_linux()


def test_an_old_kernel_is_refused_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel that does not know the call is told from a system that has none."""

    def refuse(pid: int) -> int:
        raise OSError(38, "not implemented")

    monkeypatch.setattr(os, "pidfd_open", refuse)
    with pytest.raises(RuntimeError, match="refuses pidfd_open"):
        require_linux()


def parent_with_child(death_signal: int) -> scenes.Callable[[int], None]:
    def work(pipe: int) -> None:
        parent = os.getpid()
        if os.fork() == 0:
            die_with_parent(death_signal, parent)
            scenes.say(pipe, ProcessId.of(os.getpid()))
        scenes.rest()

    return work


@pytest.mark.parametrize("death_signal", [signal.SIGKILL, signal.SIGTERM])
def test_a_child_dies_with_its_parent(death_signal: int) -> None:
    """C100: when the parent is killed, which it can't notice, the kernel ends the child."""
    become_subreaper()
    with scenes.forked(parent_with_child(death_signal)) as (parent, child), Watched(child) as watched:
        parent.signal(signal.SIGKILL)
        assert parent.wait(5.0)
        assert watched.wait(5.0)
        assert os.waitpid(child.pid, 0) == (child.pid, death_signal)


def test_a_child_whose_parent_died_before_it_asked_ends_at_once() -> None:
    """A parent that is another one than expected has died: the process ends with status 1."""
    pid = os.fork()
    if pid == 0:
        die_with_parent(signal.SIGKILL, os.getppid() + 1)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 1


def test_a_subreaper_gets_its_daemons_back() -> None:
    """A daemon that left the tree is the subreaper's child, in a process that is none it is not."""

    def adopted(reaper: bool) -> bool:
        if reaper:
            become_subreaper()
        daemon = ProcessId.of(scenes.daemon())
        mine = daemon in children(os.getpid())
        daemon.signal(signal.SIGKILL)
        return mine

    assert scenes.in_fork(adopted, True)
    assert not scenes.in_fork(adopted, False)


def ending(work: scenes.Callable[[], object], *, reset: bool) -> int:
    """The exit code of a process under Python handlers that resets its signals (or not) and does `work`."""
    pid = os.fork()
    if pid == 0:
        scenes.handle_all_signals()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if reset:
            reset_signals()
        with contextlib.suppress(BaseException):
            work()
        os._exit(77)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def alarm_in_c() -> None:
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    scenes.hold_the_gil()


def test_a_segfault_kills_again() -> None:
    """C183: after the reset a crash in C ends the process by its signal instead of spinning for ever."""
    assert ending(scenes.crash, reset=True) == -signal.SIGSEGV


def test_an_alarm_ends_c_code_that_holds_the_gil() -> None:
    """C183: after the reset the kernel's alarm ends a worker that no Python code can reach."""
    assert ending(alarm_in_c, reset=True) == -signal.SIGALRM


def test_sigterm_ends_and_without_the_reset_it_does_not() -> None:
    """SIGTERM ends a reset process, and is swallowed by a Python handler before."""
    raise_it = lambda: signal.raise_signal(signal.SIGTERM)  # noqa: E731
    assert ending(raise_it, reset=True) == -signal.SIGTERM
    assert ending(raise_it, reset=False) == 77


def test_a_closed_pipe_is_an_error_and_not_a_death() -> None:
    """After the reset writing to a tool that has ended raises BrokenPipeError, as in any Python."""

    def write() -> None:
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        read, write = os.pipe()
        os.close(read)
        os.write(write, b"x")

    assert ending(write, reset=True) == 77

    def scene() -> object:
        signal.signal(signal.SIGPIPE, lambda *_: None)
        signal.signal(signal.SIGXFSZ, lambda *_: None)
        reset_signals()
        return signal.getsignal(signal.SIGPIPE), signal.getsignal(signal.SIGXFSZ)

    assert scenes.in_fork(scene) == (signal.SIG_IGN, signal.SIG_IGN)


def test_the_reset_keeps_sigchld_and_unblocks() -> None:
    """The handler by which dead children are noticed stays, and no signal stays blocked."""

    def scene() -> tuple[bool, set[int]]:
        heard: list[int] = []
        signal.signal(signal.SIGCHLD, lambda number, _: heard.append(number))
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        reset_signals()
        signal.raise_signal(signal.SIGCHLD)
        return heard == [signal.SIGCHLD], set(signal.pthread_sigmask(signal.SIG_BLOCK, ()))

    assert scenes.in_fork(scene) == (True, set())


CLOSING = """
import os, socket
from gen_agent.actors.processes import close_descriptors, open_descriptors
close_descriptors(())
kept, other = socket.socketpair()
third = os.dup(other.fileno())
closed = close_descriptors({kept.fileno()})
other.detach()
print(closed, sorted(open_descriptors() - {kept.fileno()}), kept.getsockname() == "")
"""


def test_descriptors_are_closed_but_for_the_kept() -> None:
    """All but the standard streams and those to keep are closed and counted."""
    with scenes.python("-W", "error", "-c", CLOSING, stdin=subprocess.DEVNULL, text=True) as process:
        assert process.communicate()[0].split(" ", 1) == ["2", "[0, 1, 2] True\n"]


def test_the_descriptor_limit_goes_up_and_never_down() -> None:
    """The soft limit rises to the hard one, at most to the bound, and one that is higher stays."""

    def scene(soft: int) -> tuple[int, int]:
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        return raise_descriptor_limit(), resource.getrlimit(resource.RLIMIT_NOFILE)[0]

    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    wanted = min(hard, own_process.MAX_DESCRIPTORS)
    assert scenes.in_fork(scene, 256) == (wanted, wanted)
    assert scenes.in_fork(scene, hard) == (hard, hard)


def test_the_descriptor_limit_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A huge hard limit is not taken whole, for old tools walk all of it; a soft one that is higher stays."""
    monkeypatch.setattr(own_process, "MAX_DESCRIPTORS", 300)

    def scene(soft: int) -> int:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
        return raise_descriptor_limit()

    assert scenes.in_fork(scene, 256) == 300
    assert scenes.in_fork(scene, 400) == 400


def test_the_title_is_what_others_see() -> None:
    """The name shown by `ps` is the first 15 bytes of the title."""

    def scene() -> str:
        set_title("gen_agent worker with a long name")
        with open("/proc/self/comm") as file:
            return file.read().strip()

    assert scenes.in_fork(scene) == "gen_agent worke"


def test_a_refused_setting_raises() -> None:
    """What the kernel refuses is an OSError with its number, never silence."""
    with pytest.raises(OSError, match="Invalid argument"):
        own_process._prctl(ctypes.c_int(-1).value, 0)
