"""Joining a system, and joining systems: every way in which it can't be done says so soon, and what to do."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from thespian.actors import InvalidActorAddress
from thespian.system.messages.status import Thespian_StatusReq

from gen_agent.actors import opening
from gen_agent.actors.convention import LEADER, leading_port, with_leader
from gen_agent.actors.keys import key_path
from gen_agent.actors.opening import free_port
from gen_agent.actors.system import AgentSystem
from gen_agent.errors import InitFailed
from tests.actors.crew import Diary
from tests.network import machines
from tests.network.pairs import GPU

SOON_S = 8.0
"""A few seconds, on a busy machine."""

WEB = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"


@pytest.fixture
def key(tmp_path: Path) -> str:
    """A key file of no system."""
    return machines.write_key(tmp_path / "stray.key")


@contextlib.contextmanager
def stranger(*, answers: bytes | None) -> Iterator[int]:
    """Something that listens and is no system: it answers and closes, or accepts and says nothing."""
    door = socket.create_server(("127.0.0.1", 0))
    guests: list[socket.socket] = []

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                guest, _ = door.accept()
                guests.append(guest)
                if answers is not None:
                    guest.recv(1000)
                    guest.sendall(answers)
                    guest.close()

    server = threading.Thread(target=serve)
    server.start()
    try:
        yield door.getsockname()[1]
    finally:
        door.shutdown(socket.SHUT_RDWR)
        server.join()
        for one in (door, *guests):
            one.close()


def joins(port: int, key_file: str, host: str = "127.0.0.1") -> None:
    """Try to join, which has to fail soon."""
    begun = time.monotonic()
    try:
        AgentSystem.attach(port, host=host, key_file=key_file).close()
    finally:
        assert time.monotonic() - begun < SOON_S


def test_a_missing_key() -> None:
    """Joining without a key file names the file that was looked for, and the variable that names another."""
    port = free_port()
    with pytest.raises(FileNotFoundError, match="GEN_AGENT_KEY_FILE") as failure:
        AgentSystem.attach(port)
    assert str(key_path(port)) in str(failure.value)


def test_a_wrong_key(key: str) -> None:
    """Joining with another system's key says that port and key file have to be those of one system."""
    with AgentSystem() as agents:
        assert agents.admin_port is not None
        with pytest.raises(InvalidActorAddress, match="another key"):
            joins(agents.admin_port, key)
        agents.start_agent(Diary, name="a", backend="echo")
        assert agents.ask("a", "unharmed").text == "echo: unharmed"


def test_nobody_there(key: str) -> None:
    """Joining where nothing listens asks whether the system runs, and is bound to an address in reach."""
    with pytest.raises(InvalidActorAddress, match="is it running"):
        joins(free_port(), key)


@pytest.mark.parametrize("answers", [WEB, None], ids=["web", "silent"])
def test_a_stranger_there(answers: bytes | None, key: str) -> None:
    """Joining a port of something else fails in seconds, whether it answers or not."""
    with stranger(answers=answers) as port, pytest.raises(InvalidActorAddress, match="not ours|no admin"):
        joins(port, key)


def test_a_host_that_nobody_knows(key: str) -> None:
    """A name without an address is told as that."""
    with pytest.raises(ValueError, match=r"host: no IPv4 address is known for 'no\.such\.host\.invalid'"):
        joins(7777, key, "no.such.host.invalid")


def test_a_host_that_is_never_reached(key: str) -> None:
    """A host that answers nothing, not even a refusal, is given up in seconds."""
    with pytest.raises((InvalidActorAddress, OSError)):
        joins(7777, key, "192.0.2.1")


@pytest.mark.parametrize("port", [0, 65_536, -1])
def test_a_port_that_is_none(port: int) -> None:
    """Joining checks its port first."""
    with pytest.raises(ValueError, match="admin_port: 1 to 65535"):
        AgentSystem.attach(port)


def test_another_machine_of_the_same_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two machines of one name can't tell their processes apart: joining says so."""
    with AgentSystem() as agents:
        assert agents.admin_port is not None
        monkeypatch.setattr(opening, "same_named", lambda other: other[0] if other else None)
        with pytest.raises(RuntimeError, match="another machine that is called .* give every machine"):
            AgentSystem.attach(agents.admin_port)


@pytest.mark.parametrize("bind", ["", "0.0.0.0", "::"])
def test_every_address_at_once(bind: str) -> None:
    """A system is known by its address, so it can't listen on all of them."""
    with pytest.raises(ValueError, match="name the one by which others are to reach"):
        AgentSystem(bind=bind)


def test_an_address_of_another_machine() -> None:
    """A system can't listen where this machine is not."""
    with pytest.raises(OSError, match="192.0.2.1"):
        AgentSystem(bind="192.0.2.1")


def test_a_leader_that_could_not_answer() -> None:
    """A member on loopback would never be reached by a leader elsewhere."""
    with pytest.raises(ValueError, match="bind: the leader at 192.0.2.1 can't reach 127.0.0.1"):
        AgentSystem(capabilities={LEADER: ("192.0.2.1", 7777)})


@pytest.mark.parametrize(
    ("leader", "kind"),
    [("nonsense", TypeError), (("a",), TypeError), ((1, 2), ValueError), (("a", 0), ValueError)],
)
def test_a_leader_that_is_none(leader: object, kind: type[Exception]) -> None:
    """What is no host and port is refused with what is allowed."""
    with pytest.raises(kind, match="host"):
        with_leader({LEADER: leader}, "127.0.0.1")


def test_leaders_are_found_by_name() -> None:
    """Names of machines become addresses once, alone, in a list, or as a text."""
    place = ("127.0.0.1", 7777)
    for given in (("localhost", 7777), "localhost:7777"):
        assert with_leader({LEADER: given}, "127.0.0.1") == {LEADER: place}
    assert with_leader({LEADER: ["localhost:7777"]}, "127.0.0.1") == {LEADER: [place]}
    assert with_leader({"gpu": 1}, "127.0.0.1") == {"gpu": 1}


def test_who_leads() -> None:
    """The first system on the leader's address leads on its port; the next ones take ports of their own."""
    leader = {LEADER: ("127.0.0.1", free_port())}
    port = leader[LEADER][1]
    assert leading_port(leader, "127.0.0.1") == port
    assert leading_port(leader, "127.0.0.2") is None
    assert leading_port({}, "127.0.0.1") is None
    with AgentSystem(capabilities=leader) as agents:
        assert agents.admin_port == port
        assert leading_port(leader, "127.0.0.1") is None


def test_a_member_checks_in_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Members of a convention check in every few seconds; a system by itself keeps no such pace."""
    with AgentSystem() as alone:
        assert _registers_in(alone) > 100
    with AgentSystem(capabilities={LEADER: ("127.0.0.1", free_port())}) as leader:
        assert _registers_in(leader) <= 2
    monkeypatch.setenv("CONVENTION_REREGISTRATION_PERIOD", "0:33")
    with AgentSystem(capabilities={LEADER: ("127.0.0.1", free_port())}) as leader:
        assert 20 < _registers_in(leader) <= 33


def _registers_in(agents: AgentSystem) -> float:
    found = _status(agents).conventionRegisterTime
    return float(found.view().remaining().total_seconds())


def _status(agents: AgentSystem) -> Any:
    inside = agents.actor_system._systemBase
    return inside.ask(inside.adminAddr, Thespian_StatusReq(), 5.0)


@pytest.mark.faults
def test_systems_with_different_keys_never_join(tmp_path: Path, key: str) -> None:
    """A member with another key stays outside: nothing is placed there, and both work by themselves."""
    leader = {LEADER: ("127.0.0.1", free_port())}
    other = machines.write_key(tmp_path / "other.key")
    with (
        AgentSystem(capabilities=leader, key_file=key) as home,
        AgentSystem(capabilities={**leader, **GPU}, bind="127.0.0.2", key_file=other) as away,
    ):
        with pytest.raises(InitFailed, match="no system that answers"):
            home.start_agent(Diary, name="a", backend="echo", requirements=GPU)
        for agents in (home, away):
            agents.start_agent(Diary, name="a", backend="echo")
            assert agents.ask("a", "alone").text == "echo: alone"


@pytest.mark.faults
def test_systems_of_different_versions_share_no_agents(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A member that speaks another version is not given any agent."""
    leader = {LEADER: ("127.0.0.1", free_port())}
    with AgentSystem(capabilities=leader, key_file=key) as home:
        monkeypatch.setenv("PYTHONPATH", str(_other_version(Path(key).parent)))
        member = {"capabilities": {**leader, **GPU}, "bind": "127.0.0.2", "key_file": key}
        with machines.resident(member), pytest.raises(InitFailed, match="no system that answers"):
            home.start_agent(Diary, name="a", backend="echo", requirements=GPU)


def _other_version(folder: Path) -> Path:
    """A folder from which Python starts as another version of this package."""
    text = "import gen_agent.envelopes as one\none.VERSION = 'another'\n"
    (folder / "sitecustomize.py").write_text(text)
    return folder


def test_the_key_of_a_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its key file is 0600 in a folder that is 0700, and is given by argument or by environment."""
    key = tmp_path / "shared.key"
    machines.write_key(key)
    monkeypatch.setenv("GEN_AGENT_KEY_FILE", str(key))
    with AgentSystem() as agents:
        assert agents.admin_port is not None
        file = key_path(agents.admin_port)
        assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
        assert file.read_text() == key.read_text()
        AgentSystem.attach(agents.admin_port).close()
    key.chmod(0o640)
    with pytest.raises(PermissionError, match="chmod 600"):
        AgentSystem()
    key.unlink()
    with pytest.raises(FileNotFoundError):
        AgentSystem()


def test_a_key_file_that_is_a_link(tmp_path: Path) -> None:
    """A key is read from a file of the user's own, never through a link somebody else may turn."""
    key = machines.write_key(tmp_path / "real.key")
    os.symlink(key, tmp_path / "link.key")
    with pytest.raises(OSError, match=r"link\.key"):
        AgentSystem(key_file=str(tmp_path / "link.key"))
