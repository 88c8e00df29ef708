"""The leak check finds each kind of leftover, names it, ends it, and is patient with what is about to go."""

from __future__ import annotations

import gc
import os
import signal
import socket
import subprocess

import pytest

from gen_agent.actors.keys import runtime_dir
from gen_agent.actors.processes import ProcessId, Watched, become_subreaper
from gen_agent.testing.leaks import Snapshot, leftovers, listening_ports
from tests.actors import scenes

AT_ONCE = 0.0


def test_nothing_new_is_no_leftover() -> None:
    """What was there before a test is not looked at."""
    with socket.create_server(("127.0.0.1", 0)), subprocess.Popen(["sleep", "600"]) as tool:
        assert leftovers(Snapshot.take(), AT_ONCE) == ()
        tool.kill()


def test_a_process_is_named_and_ended() -> None:
    """A new child is reported with its pid and name, is dead afterwards, and is not reported again."""
    before = Snapshot.take()
    pid = os.posix_spawn("/bin/sleep", ["sleep", "600"], {})
    identity = ProcessId.of(pid)
    assert leftovers(before, AT_ONCE) == (f"process {pid} (sleep)",)
    assert not identity.alive()
    assert leftovers(before, AT_ONCE) == ()


def test_a_daemon_comes_home_and_is_named() -> None:
    """A process that left its tree is found all the same, for the test process adopts it."""
    become_subreaper()
    before = Snapshot.take()
    pid = scenes.daemon()
    (named,) = leftovers(before, AT_ONCE)
    assert named.startswith(f"process {pid} (")


def test_a_zombie_of_ours_is_named() -> None:
    """A child that ended and was never waited for is a leftover."""
    before = Snapshot.take()
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    with Watched(pid) as watched:
        watched.wait()
    assert leftovers(before, AT_ONCE) == (f"process {pid} (zombie)",)
    assert leftovers(before, AT_ONCE) == ()


def test_a_zombie_that_was_adopted_is_reaped() -> None:
    """What a dead system left is nobody's fault: only the adopter can reap it."""
    become_subreaper()
    before = Snapshot.take()
    with Watched(scenes.daemon()) as stray:
        stray.signal(signal.SIGKILL)
        stray.wait()
        pid = stray.identity.pid
    assert leftovers(before, AT_ONCE) == ()
    with pytest.raises(ProcessLookupError):
        ProcessId.of(pid)


def test_a_listening_port_and_its_descriptor_are_named() -> None:
    """A socket that still listens is reported as port and as descriptor."""
    before = Snapshot.take()
    server = socket.create_server(("127.0.0.1", 0))
    port = server.getsockname()[1]
    named = leftovers(before, AT_ONCE)
    assert f"listening port {port}" in named
    assert any(line.startswith(f"descriptor {server.fileno()} (socket:") for line in named)
    assert port in listening_ports(os.getpid())
    server.close()
    assert port not in listening_ports(os.getpid())


def test_a_port_of_another_process_is_not_ours() -> None:
    """Ports are looked up by the descriptors of the processes asked for."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        tool = scenes.sleeper()
        assert server.getsockname()[1] not in listening_ports(tool.pid)
        tool.kill()
        tool.wait()


def test_a_file_in_the_runtime_directory_is_named() -> None:
    """A key file that nobody removed is reported."""
    before = Snapshot.take()
    path = runtime_dir() / "1.key"
    path.touch()
    assert leftovers(before, AT_ONCE) == (f"file {path}",)
    path.unlink()


def test_what_goes_by_itself_is_waited_for() -> None:
    """A process that is about to end, and a descriptor in unreachable garbage, are no leftovers."""
    before = Snapshot.take()
    gc.disable()
    knot: list[object] = [open(os.devnull)]  # noqa: SIM115
    knot.append(knot)
    del knot
    with pytest.warns(ResourceWarning):
        assert leftovers(before, 5.0) == ()
    gc.enable()
    tool = subprocess.Popen(["sleep", "0.1"], start_new_session=True)
    assert leftovers(before, 5.0) == ()
    tool.returncode = 0


def test_the_fixture_fails_the_test_that_leaks(pytester: pytest.Pytester) -> None:
    """In a test run the leaking test fails by name of what it left, and the next one passes."""
    pytester.makeconftest("from gen_agent.testing.leaks import no_leftovers, private_runtime_dir")
    pytester.makepyfile(
        """
        import os, pytest
        pytestmark = pytest.mark.usefixtures("no_leftovers")
        def test_leaks():
            os.posix_spawn("/bin/sleep", ["sleep", "600"], {})
        def test_does_not():
            pass
        """
    )
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["*left behind: process * (sleep)*"])
