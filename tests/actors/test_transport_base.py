"""Our base as users meet it: by name, across processes, bounded, and clear about what it can't do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from thespian.actors import ActorSystem, InvalidActorAddress
from thespian.system.transport import ExternalInterfaceTransportInit, TransmitIntent

from gen_agent.actors import keys
from gen_agent.actors.base import BASE_NAME, checked_capabilities
from gen_agent.actors.outbox import LaneFull
from gen_agent.actors.processes import ProcessId, Watched
from gen_agent.actors.transport import transport_class
from tests.actors.transport_actors import Mirror, Pacer
from tests.actors.transport_system import QUIET, free_port, running, stopped


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A runtime directory of its own for a test."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.delenv(keys.KEY_FILE_VARIABLE, raising=False)
    return tmp_path / "gen_agent"


def by_name(port: int) -> ActorSystem:
    """Join or start the system on a port by the name of our base."""
    return ActorSystem(BASE_NAME, {"Admin Port": port}, QUIET, transientUnique=True)


def test_importing_is_light() -> None:
    """Importing the package makes the name known and does not load Thespian."""
    code = (
        "import sys, gen_agent.actors\n"
        "assert 'thespian.actors' not in sys.modules\n"
        "import importlib\n"
        "print(importlib.import_module('thespian.system.genAgentTCPBase').ActorSystemBase.__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "ActorSystemBase\n"


def test_a_system_outlives_its_starter(runtime: Path) -> None:
    """A system started by name lives on; another process of the user joins it, and can end it."""
    port = free_port()
    command = [sys.executable, "-m", "tests.actors.transport_starter", "named", str(port)]
    with (runtime.parent / "output").open("w+") as output:
        subprocess.run(command, stdout=output, check=True, timeout=30)
        output.seek(0)
        told = json.load(output)
    system = by_name(port)
    mirror = system.createActor(Mirror, globalName="mirror")
    pid = system.ask(mirror, "pid", 5)
    assert told == {"mirror": pid}
    with Watched(ProcessId.of(pid)) as watched:
        system.shutdown()
        assert watched.wait(5)


def test_key_file_is_private(runtime: Path) -> None:
    """The key file of a system started by name can be read by its user only."""
    port = free_port()
    system = by_name(port)
    try:
        assert (runtime / f"{port}.key").stat().st_mode & 0o777 == 0o600
        assert runtime.stat().st_mode & 0o777 == 0o700
    finally:
        system.shutdown()


def test_joining_with_another_key_file(runtime: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A script whose key file belongs to another system is told so, and starts nothing."""
    port = free_port()
    system = by_name(port)
    try:
        keys.write_key(port)
        with pytest.raises(InvalidActorAddress, match="another key"):
            by_name(port)
    finally:
        system.shutdown()


def test_same_port_again(runtime: Path) -> None:
    """A system can be started on the port of one that has just ended."""
    port = free_port()
    for _ in range(3):
        system = by_name(port)
        assert system.ask(system.createActor(Mirror), "here", 5) == "here"
        system.shutdown()


@pytest.mark.parametrize(
    ("capability", "value"),
    [("Process Startup Method", "spawn"), ("Admin Routing", True), ("Outbound Only", True)],
)
def test_what_is_impossible(capability: str, value: object) -> None:
    """A capability no system on our base can have is refused in the caller, by its name."""
    with pytest.raises(ValueError, match=capability):
        checked_capabilities({capability: value})


@pytest.mark.parametrize("host", ["0.0.0.0", "", "localhost", "::1"])
def test_hosts_nobody_could_answer(host: str) -> None:
    """Only an address that others can reach can be listened on and told to them."""
    with pytest.raises(ValueError, match="bind_host"):
        transport_class(bytes(32), bind_host=host)


def test_full_lane_of_an_actor() -> None:
    """What an actor sends to a full lane comes back to it as poison; the rest waits, other sends go."""
    with running(lane_messages=10) as system:
        source, target = system.create(Pacer), system.create(Pacer)
        with stopped(system.pid(target)):
            assert system.actors.ask(source, ("burst", target, 100), 10) == "sent"
            assert system.actors.ask(source, "poisoned", 5) == ("tuple",) * 90
        assert system.actors.ask(target, ("when", 10), 5) == tuple(range(10))


def test_full_lane_of_a_script() -> None:
    """A script that posts to a full lane is told at once, and nothing of it is sent."""
    with running(lane_messages=10) as system:
        target = system.create(Pacer)
        with stopped(system.pid(target)):
            for number in range(10):
                system.base.post(target, ("number", number))
            with pytest.raises(LaneFull):
                system.base.post(target, ("number", 10))
        assert system.base.flush(5)
        assert system.actors.ask(target, ("when", 10), 5) == tuple(range(10))


def test_unpicklable_post() -> None:
    """What can't be pickled is refused in the caller, and later posts go."""
    with running() as system:
        mirror = system.create(Mirror)
        with pytest.raises((TypeError, AttributeError)):
            system.base.post(mirror, threading.Lock())
        assert system.actors.ask(mirror, "later", 5) == "later"


def test_what_is_queued_when_closing() -> None:
    """Closing a transport fails what is queued, once, and later sends at once."""
    transport = transport_class(bytes(32))(ExternalInterfaceTransportInit(), {"Admin Port": 1}, None, None)
    other = transport.external_transport_clone()
    failed: list[str] = []

    def send(number: str) -> None:
        intent = TransmitIntent(
            other.myAddress, number, onError=lambda _status, intent: failed.append(intent.message)
        )
        transport.scheduleTransmit(None, intent)

    send("queued")
    transport.close()
    assert failed == ["queued"]
    send("late")
    transport.close()
    assert failed == ["queued", "late"]
    assert not transport.run(None, 0.0)
    other.close()


def test_a_thread_wakes_the_loop() -> None:
    """A wakeup asked for, and a message sent, from another thread reach a loop that waits for neither."""
    transport = transport_class(bytes(32))(ExternalInterfaceTransportInit(), {"Admin Port": 1}, None, None)
    waiting = threading.Event()
    got: list[str] = []

    def later() -> None:
        waiting.wait()
        transport.scheduleTransmit(None, TransmitIntent(transport.myAddress, "from a thread"))

    def keep(envelope: object) -> bool:
        got.append(envelope.message)  # type: ignore[attr-defined]
        waiting.set()
        return len(got) < 2

    thread = threading.Thread(target=later)
    thread.start()
    transport.scheduleTransmit(None, TransmitIntent(transport.myAddress, "first"))
    assert not transport.run(keep, 10.0)
    assert got == ["first", "from a thread"]
    thread.join()
    transport.close()


def test_forked_copies_are_harmless() -> None:
    """A forked process that closes its copy of a transport leaves the original as it is."""
    with running() as system:
        mirror = system.create(Mirror)
        pid = os.fork()
        if pid == 0:
            system.base.transport.close()
            os._exit(0)
        os.waitpid(pid, 0)
        assert system.actors.ask(mirror, "unharmed", 5) == "unharmed"


def test_what_is_told_while_draining() -> None:
    """A run that ends after draining has told every result, and sent what was sent because of it."""
    kind = transport_class(bytes(32))
    one, other = (kind(ExternalInterfaceTransportInit(), {"Admin Port": 1}, None, None) for _ in range(2))
    told: list[str] = []

    def send_second(_status: object, _intent: object) -> None:
        told.append("first")
        one.scheduleTransmit(
            None, TransmitIntent(other.myAddress, "second", onSuccess=lambda *_: told.append("second"))
        )

    def receive() -> None:
        for _ in range(2):
            other.run(None, 10.0)

    thread = threading.Thread(target=receive)
    thread.start()
    one.scheduleTransmit(None, TransmitIntent(other.myAddress, "first", onSuccess=send_second))
    one.scheduleTransmit(None, TransmitIntent(one.myAddress, "end"))
    one.run(lambda _envelope: one.abort_run(drain=True) or True, 10.0)
    thread.join()
    assert told == ["first", "second"]
    one.close()
    other.close()
