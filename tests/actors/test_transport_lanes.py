"""Lanes against peers that die, stop, refuse, forget and fill up, without any actor."""

from __future__ import annotations

import socket

import pytest

from gen_agent.actors import lanes
from gen_agent.actors.frames import HEADER_BYTES, Answer, FrameReader, Seal
from gen_agent.actors.lanes import REFUSALS, WINDOW, Result
from gen_agent.actors.outbox import LaneFull
from gen_agent.actors.sockets import Key
from tests.actors.lane_scenes import SEAL, Intent, Peer, Scene
from tests.actors.transport_system import free_port


def test_one_connection(scene: Scene, peer: Peer) -> None:
    """Messages to one target go in order over one connection, and each answer is to the oldest."""
    scene.send(peer.key, 0, 1, 2)
    connection = peer.accept()
    with connection:
        for number in range(3):
            peer.take(connection)
            scene.run(lambda number=number: len(scene.results) == number + 1)
    assert peer.got == [0, 1, 2]
    assert scene.results == [(number, Result.TAKEN) for number in range(3)]


def test_window(scene: Scene, peer: Peer) -> None:
    """So many messages leave without an answer, and no more; each answer lets another leave."""
    scene.send(peer.key, *range(WINDOW + 2))
    with peer.accept() as connection:
        for _ in range(WINDOW):
            peer.take(connection, None)
        connection.setblocking(False)
        assert FrameReader(SEAL).read(connection) is None
        connection.settimeout(5)
        connection.sendall(SEAL.answer(Answer.TAKEN, Intent(0).serMsg.digest))
        scene.run(lambda: scene.results)
        peer.take(connection, None)
        connection.setblocking(False)
        assert FrameReader(SEAL).read(connection) is None
    assert peer.got == list(range(WINDOW + 1))
    assert scene.results == [(0, Result.TAKEN)]


def test_loss_with_some_answered(scene: Scene, peer: Peer) -> None:
    """What was answered before a connection broke does not go again; the rest does, in order."""
    scene.send(peer.key, *range(5))
    with peer.accept() as connection:
        peer.take(connection)
        peer.take(connection)
        peer.take(connection, None)
    scene.run(peer.called)
    with peer.accept() as connection:
        for _ in range(3):
            peer.take(connection)
        scene.run(lambda: len(scene.results) == 5)
    assert peer.got == [0, 1, 2, 2, 3, 4]
    assert scene.results == [(number, Result.TAKEN) for number in range(5)]


def test_unreadable(scene: Scene, peer: Peer) -> None:
    """A message the receiver can't unpickle is told apart from one it took, and the next one follows."""
    scene.send(peer.key, 0, 1)
    with peer.accept() as connection:
        peer.take(connection, Answer.UNREADABLE)
        scene.run(lambda: scene.results)
        peer.take(connection)
        scene.run(lambda: len(scene.results) == 2)
    assert scene.results == [(0, Result.UNREADABLE), (1, Result.TAKEN)]


def test_dead_target(scene: Scene) -> None:
    """A target nobody listens at is dead, at once, without recursion, whatever was queued for it."""
    scene.send(("127.0.0.1", free_port()), *range(3000))
    scene.run(lambda: len(scene.results) == 3000)
    assert scene.results == [(number, Result.DEAD) for number in range(3000)]
    assert scene.outbox.pending == 0


def test_target_dies_with_a_long_queue(scene: Scene, peer: Peer) -> None:
    """When a target dies with 3,000 messages queued, all are given up as dead, in order."""
    scene.send(peer.key, *range(3000))
    with peer.accept() as connection:
        peer.take(connection, None)
        peer.sock.close()
    scene.run(lambda: len(scene.results) == 3000)
    assert {result for _, result in scene.results} == {Result.DEAD}


def test_silent_target_holds_up_nobody(scene: Scene, peer: Peer) -> None:
    """A target that never answers keeps its own lane waiting, and no other."""
    silent = Peer()
    try:
        scene.send(silent.key, *range(100))
        scene.send(peer.key, 7)
        with peer.accept() as connection:
            peer.take(connection)
            scene.run(lambda: scene.results)
        assert scene.results == [(7, Result.TAKEN)]
        assert scene.outbox.pending == 100
    finally:
        silent.sock.close()


def test_silence_is_no_end(scene: Scene, peer: Peer) -> None:
    """A message whose time is over is still not given up while its target has the connection open."""
    (intent,) = scene.send(peer.key, 0)
    with peer.accept() as connection:
        intent.old = True
        scene.outbox.run_due()
        assert scene.results == []
        peer.take(connection)
        scene.run(lambda: scene.results)
    assert scene.results == [(0, Result.TAKEN)]


def test_idle_connection_closed(scene: Scene, peer: Peer) -> None:
    """A connection the receiver closed while it was idle costs nothing: the next message takes another."""
    scene.send(peer.key, 0)
    with peer.accept() as connection:
        peer.take(connection)
        scene.run(lambda: scene.results)
    scene.run(lambda: not scene.outbox.descriptors())
    scene.send(peer.key, 1)
    with peer.accept() as connection:
        peer.take(connection)
        scene.run(lambda: len(scene.results) == 2)
    assert peer.got == [0, 1]


def test_connection_lost_before_the_answer(scene: Scene, peer: Peer) -> None:
    """A message that was lost with its connection is sent again at once over another."""
    scene.send(peer.key, 0, 1)
    with peer.accept() as connection:
        peer.take(connection)
        scene.run(lambda: scene.results)
    pauses: list[float | None] = []
    scene.run(lambda: pauses.append(scene.outbox.next_due()) or peer.called())
    assert not any(pauses)
    with peer.accept() as connection:
        peer.take(connection)
        scene.run(lambda: len(scene.results) == 2)
    assert scene.results == [(0, Result.TAKEN), (1, Result.TAKEN)]


def test_refusing_receiver(scene: Scene, peer: Peer) -> None:
    """A receiver that closes every connection instead of answering has another key: it is given up."""
    scene.send(peer.key, 0, 1)
    for _ in range(REFUSALS):
        scene.run(peer.called)
        peer.accept().close()
        scene.run(lambda: not scene.outbox.descriptors())
    scene.run(lambda: len(scene.results) == 2)
    assert scene.results == [(0, Result.FAILED), (1, Result.FAILED)]


def test_forged_answer(scene: Scene, peer: Peer) -> None:
    """An answer under another key is no answer."""
    scene.send(peer.key, 0)
    with peer.accept() as connection:
        connection.recv(HEADER_BYTES)
        connection.sendall(Seal(bytes(20)).answer(Answer.TAKEN, Intent(0).serMsg.digest))
        scene.run(lambda: not scene.outbox.descriptors())
    assert scene.results == []


def test_full_lane(peer: Peer) -> None:
    """A lane takes what it may hold and tells the sender of one more; other lanes go on."""
    scene, other = Scene(max_count=3), Peer()
    scene.send(peer.key, 0, 1, 2)
    with pytest.raises(LaneFull, match="3 messages"):
        scene.send(peer.key, 3)
    scene.send(other.key, 4)
    assert scene.outbox.pending == 4
    scene.outbox.close()
    scene.poller.close()
    other.sock.close()


def test_full_lane_by_bytes(peer: Peer) -> None:
    """A lane is bounded in bytes as well, but takes one message of any size."""
    scene = Scene(max_bytes=1000)
    scene.outbox.submit(peer.key, Intent(0, 5000))
    with pytest.raises(LaneFull):
        scene.send(peer.key, 1)
    scene.outbox.close()
    scene.poller.close()


def test_closing(scene: Scene, peer: Peer) -> None:
    """Closing gives up what is queued, and every message is reported exactly once."""
    scene.send(peer.key, 0, 1, 2)
    scene.outbox.close()
    scene.outbox.close()
    assert scene.results == [(number, Result.FAILED) for number in range(3)]


def test_child_known_to_be_dead(scene: Scene, peer: Peer) -> None:
    """What is queued for a child that has exited is given up at once, though its port may still take it."""
    scene.send(peer.key, 0, 1)
    scene.outbox.target_died(peer.key)
    assert scene.results == [(0, Result.DEAD), (1, Result.DEAD)]
    assert scene.outbox.descriptors() == []


def test_descriptors_run_out(scene: Scene, peer: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a free descriptor the connection idle longest is closed, and the message still goes."""
    scene.send(peer.key, 0)
    with peer.accept() as connection:
        peer.take(connection)
        scene.run(lambda: scene.results)
        other = Peer()
        genuine, failures = lanes.connection, [OSError(24, "too many open files")]

        def connection_or_failure(key: Key) -> socket.socket:
            if failures:
                raise failures.pop()
            return genuine(key)

        monkeypatch.setattr(lanes, "connection", connection_or_failure)
        scene.send(other.key, 1)
        with other.accept() as second:
            other.take(second)
            scene.run(lambda: len(scene.results) == 2)
        assert len(scene.outbox.descriptors()) == 1
        other.sock.close()


def test_unreachable_for_too_long(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """A target that can't be reached is tried again until Thespian's time for the message is over."""
    tries: list[Key] = []

    def unreachable(key: Key) -> socket.socket:
        tries.append(key)
        raise OSError(113, "no route to host")

    monkeypatch.setattr(lanes, "connection", unreachable)
    (intent,) = scene.send(("127.0.0.1", 9), 0)
    scene.run(lambda: len(tries) == 3)
    assert scene.results == []
    intent.old = True
    scene.run(lambda: scene.results)
    assert scene.results == [(0, Result.FAILED)]
