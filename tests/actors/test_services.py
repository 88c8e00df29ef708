"""The desk at which a guardian starts services on request."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gen_agent.actors import services
from gen_agent.actors.services import ServiceDesk
from gen_agent.backends.local_state import ServerFiles


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[ServiceDesk]:
    """A desk, closed at the end."""
    opened = ServiceDesk(str(tmp_path))
    yield opened
    opened.close()


def request(directory: Path, data: bytes, files: int = 1) -> socket.socket:
    """Send a datagram with the descriptor of a socket; returns the other end, where the service's output
    comes.
    """
    ours, theirs = socket.socketpair()
    with theirs, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as desk:
        desk.connect(str(directory / services.SOCKET))
        socket.send_fds(desk, [data], [theirs.fileno()] * files)
    ours.settimeout(20)
    return ours


def ordered(module: str, *arguments: str) -> bytes:
    """A request for a service."""
    return json.dumps({"module": module, "arguments": arguments}).encode()


def test_a_service_is_started_with_its_output_and_its_starters_pid(
    desk: ServiceDesk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The service's standard output is the descriptor sent along, its first argument who started it."""
    folder = tmp_path / "package" / "gen_agent"
    folder.mkdir(parents=True)
    (folder / "__init__.py").touch()
    program = "import os, sys; print(sys.argv[1:], os.getppid(), os.getsid(0) == os.getpid())"
    (folder / "told.py").write_text(program)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "package"))
    monkeypatch.chdir(tmp_path)
    with request(tmp_path, ordered("gen_agent.told", "a", "b c")) as answer:
        desk.serve()
        with answer.makefile() as lines:
            assert lines.read() == f"['{os.getpid()}', 'a', 'b c'] {os.getpid()} True\n"


def test_services_are_known_and_ended(desk: ServiceDesk, tmp_path: Path) -> None:
    """A running service is no orphan, an ended one is reaped, and closing the desk ends the rest."""
    with request(tmp_path, ordered("gen_agent.backends.local_server", "no spec")) as answer:
        desk.serve()
        assert b"can't be served" in answer.recv(4096)
        (started,) = desk._running
        desk._running[started].wait(20)
    assert desk.pids() == frozenset()
    with _stopped(desk, tmp_path) as pid:
        assert desk.pids() == {pid}
        desk.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert not (tmp_path / services.SOCKET).exists()
    desk.close()


@contextlib.contextmanager
def _stopped(desk: ServiceDesk, tmp_path: Path) -> Iterator[int]:
    """A service that runs for ever: one that waits for a lock that is held here."""
    spec = json.dumps({"some": "spec"})
    order = ordered("gen_agent.backends.local_server", spec, str(tmp_path))
    with ServerFiles.of(str(tmp_path), spec).starting(), request(tmp_path, order):
        desk.serve()
        (pid,) = desk._running
        yield pid


@pytest.mark.parametrize(
    ("data", "files"),
    [
        (b"no json", 1),
        (b"[]", 1),
        (b"{}", 1),
        (ordered("os"), 1),
        (ordered("gen_agent_other.x"), 1),
        (ordered("gen_agent.x"), 2),
        (json.dumps({"module": 5, "arguments": []}).encode(), 1),
        (json.dumps({"module": "gen_agent.x", "arguments": [1]}).encode(), 1),
    ],
)
def test_strange_requests_are_dropped(desk: ServiceDesk, tmp_path: Path, data: bytes, files: int) -> None:
    """What is no request starts nothing, leaks no descriptor, and the next request is served."""
    before = os.listdir("/proc/self/fd")
    with request(tmp_path, data, files):
        desk.serve()
        assert desk.pids() == frozenset()
    assert os.listdir("/proc/self/fd") == before
    with request(tmp_path, ordered("gen_agent.no_such_service")) as answer:
        desk.serve()
        assert answer.recv(1) == b""


def test_serving_never_waits(desk: ServiceDesk) -> None:
    """Without a request serving returns at once."""
    desk.serve()
    assert desk.pids() == frozenset()


def test_the_interpreter_is_the_same() -> None:
    """Services run under the interpreter of the system that starts them."""
    assert Path(sys.executable).exists()
