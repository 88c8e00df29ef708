"""What strangers can do to the ports of a system: nothing."""

from __future__ import annotations

import os
import pickle
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from thespian.actors import ActorAddress, ActorSystem, InvalidActorAddress

from gen_agent.actors import inbox
from gen_agent.actors.base import GenAgentBase
from gen_agent.actors.frames import ACK_BYTES, HEADER_BYTES, Answer, Seal
from gen_agent.actors.inbox import Inbox
from gen_agent.actors.keys import new_key
from gen_agent.actors.poller import Poller
from gen_agent.actors.processes import descendants
from gen_agent.actors.sockets import listener
from gen_agent.actors.transport import transport_class
from tests.actors.listening import Listening, listening
from tests.actors.transport_actors import Mirror
from tests.actors.transport_system import QUIET, System, free_port, running

LOOPBACK = "0100007F"


@pytest.fixture
def system() -> Iterator[System]:
    """A system of its own for a test."""
    with running() as system:
        yield system


def ports(system: System) -> list[Listening]:
    """Every listening socket of the system, this process' own endpoint included."""
    ours = [process.pid for process in descendants(os.getpid())]
    mine = system.base.transport.socket.getsockname()[1]
    return [
        one for one in listening([*ours, os.getpid()]) if one.holders != {os.getpid()} or one.port == mine
    ]


class Touch:
    """Pickles into something that makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.path),)


def attacks(system: System, marker: Path) -> list[bytes]:
    """What a stranger may send: garbage, unsealed pickles, a wrong key, halves, and great announcements."""
    body = pickle.dumps((ActorAddress(None), Touch(marker)))
    sealed = Seal(new_key()).frame(body).data
    genuine = Seal(system.key).frame(body).data
    tampered = bytearray(genuine)
    tampered[-1] ^= 1
    return [
        b"GET / HTTP/1.1\r\n\r\n" + bytes(HEADER_BYTES),
        b"%d>" % len(body) + body,
        sealed,
        (10 << 30).to_bytes(8, "big") + sealed[8:],
        bytes(tampered),
    ]


def closed_without_answer(port: int, data: bytes) -> bool:
    """Send this to a port; whether the connection is closed by the other side, nothing having been said."""
    with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        connection.sendall(data)
        try:
            return connection.recv(100) == b""
        except ConnectionResetError:
            return True


def test_attacks(system: System, tmp_path: Path) -> None:
    """Whatever a stranger sends to any port runs nothing, gets no answer and harms nobody."""
    mirror, marker = system.create(Mirror), tmp_path / "executed"
    actors = [one for one in ports(system) if one.holders != {os.getpid()}]
    assert len(actors) == 3, "the admin, its logger and the actor listen"
    for one in actors:
        for data in attacks(system, marker):
            assert closed_without_answer(one.port, data)
    assert not marker.exists()
    assert system.actors.ask(mirror, "still there", 5) == "still there"
    assert system.create(Mirror) is not None


def test_half_frames(system: System) -> None:
    """Frames that stop in the middle keep nobody from being served, the genuine ones included."""
    mirror = system.create(Mirror)
    genuine = Seal(system.key).frame(bytes(1000)).data
    connections = []
    for one in ports(system):
        for size in (0, 1, HEADER_BYTES - 1, HEADER_BYTES, len(genuine) - 1):
            connection = socket.create_connection(("127.0.0.1", one.port), timeout=5)
            connection.sendall(genuine[:size])
            connections.append(connection)
    assert system.actors.ask(mirror, "still there", 5) == "still there"
    assert system.create(Mirror) is not None
    for connection in connections:
        connection.close()


def test_loopback_only(system: System) -> None:
    """Everything that listens does so on the loopback address, and each socket is one process' only."""
    system.create(Mirror)
    system.create(Mirror)
    found = ports(system)
    assert len(found) == 5, "the script, the admin, its logger and two actors listen"
    assert {one.address for one in found} == {LOOPBACK}
    assert {len(one.holders) for one in found} == {1}


def test_another_key(system: System) -> None:
    """A script with another key is told so within two seconds, and the system does not notice."""
    begun = time.monotonic()
    with pytest.raises(InvalidActorAddress, match="another key"):
        GenAgentBase(transport_class(new_key()), {"Admin Port": system.port}, QUIET, start_admin=False)
    assert time.monotonic() - begun < 2
    assert system.create(Mirror) is not None


def test_same_key(system: System) -> None:
    """A script with the system's key joins it."""
    mirror = system.create(Mirror)
    base = GenAgentBase(transport_class(system.key), {"Admin Port": system.port}, QUIET, start_admin=False)
    assert ActorSystem(base, transientUnique=True).ask(mirror, "joined", 5) == "joined"
    base.transport.close()


def test_nobody_there() -> None:
    """Joining where nothing listens is refused at once."""
    with pytest.raises(InvalidActorAddress, match="no admin answers"):
        GenAgentBase(transport_class(new_key()), {"Admin Port": free_port()}, QUIET, start_admin=False)


class Reception:
    """An inbox alone."""

    def __init__(self) -> None:
        self.poller = Poller()
        self.sock = listener("127.0.0.1", 0)
        self.taken: list[bytes] = []
        self.inbox = Inbox(self.poller, Seal(bytes(32)), self.sock, self.take)

    def take(self, body: bytearray) -> Answer:
        """Keep a body."""
        self.taken.append(bytes(body))
        return Answer.TAKEN

    def call(self) -> socket.socket:
        """A connection to it that it has accepted."""
        connection = socket.create_connection(self.sock.getsockname(), timeout=5)
        self.step()
        return connection

    def step(self) -> None:
        """One pass of the loop."""
        self.poller.dispatch(self.poller.wait(1.0))
        self.inbox.run_due()


class Door:
    """A listening socket in a process that has no descriptor left."""

    def __init__(self, sock: socket.socket) -> None:
        self.fileno, self.close = sock.fileno, sock.close

    def accept(self) -> Any:
        """Fail as the kernel would."""
        raise OSError(24, "too many open files")


@pytest.fixture
def reception() -> Iterator[Reception]:
    """An inbox of its own for a test."""
    reception = Reception()
    yield reception
    reception.inbox.close()
    reception.poller.close()


def test_silent_strangers_leave(reception: Reception, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that says nothing authentic in its time is closed; one that did may be silent for ever."""
    known, stranger = reception.call(), reception.call()
    with known, stranger:
        known.sendall(Seal(bytes(32)).frame(b"body").data)
        reception.step()
        assert reception.taken == [b"body"]
        assert reception.inbox.next_due() is not None
        monkeypatch.setattr(inbox, "STRANGER_S", 0.0)
        reception.inbox.run_due()
        assert stranger.recv(1) == b""
        assert len(known.recv(100)) == 17
        known.setblocking(False)
        with pytest.raises(BlockingIOError):
            known.recv(1)
        assert reception.inbox.next_due() is None


def test_bad_frame_after_good_ones(reception: Reception) -> None:
    """Of frames that come at once, those before a bad one are taken and answered; then the end comes."""
    seal = Seal(bytes(32))
    with reception.call() as known:
        known.sendall(seal.frame(b"one").data + seal.frame(b"two").data + bytes(HEADER_BYTES))
        reception.step()
        assert reception.taken == [b"one", b"two"]
        assert len(known.recv(100)) == 2 * ACK_BYTES
        assert known.recv(1) == b""


def test_crowd_of_strangers(reception: Reception, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of more strangers than are let wait, the oldest goes."""
    monkeypatch.setattr(inbox, "STRANGERS", 2)
    first, second, third = (reception.call() for _ in range(3))
    with first, second, third:
        assert first.recv(1) == b""
        assert len(reception.inbox.descriptors()) == 3


def test_no_descriptor_left(reception: Reception, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a free descriptor an idle connection is closed, and the door rests instead of spinning."""

    known = reception.call()
    with known:
        known.sendall(Seal(bytes(32)).frame(b"body").data)
        reception.step()
        monkeypatch.setattr(reception.inbox, "_sock", Door(reception.sock))
        with socket.create_connection(reception.sock.getsockname(), timeout=5):
            reception.poller.dispatch([reception.sock.fileno()])
            monkeypatch.undo()
        due = reception.inbox.next_due()
        assert due is not None
        assert len(known.recv(17)) == 17
        assert known.recv(1) == b""
        assert reception.poller.wait(0) == []
    monkeypatch.setattr(inbox, "currentTime", lambda: due)
    reception.inbox.run_due()
    assert reception.poller.wait(1) == [reception.sock.fileno()]
