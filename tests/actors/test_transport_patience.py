"""Answers that nobody waits for wake nobody for a while, and are read when the process is awake anyway."""

from __future__ import annotations

import contextlib
import select
import socket
from collections.abc import Iterator

import pytest

from gen_agent.actors import outbox
from gen_agent.actors.lanes import WINDOW, Result
from tests.actors.lane_scenes import Intent, Peer, Scene


class Patient(Intent):
    """An intent nobody waits for."""

    patient = True


class StayingPeer(Peer):
    """A peer whose connections last as long as it does."""

    def __init__(self) -> None:
        super().__init__()
        self.connections: list[socket.socket] = []

    def accept(self) -> socket.socket:
        """Take the next connection."""
        self.connections.append(super().accept())
        return self.connections[-1]

    def close(self) -> None:
        """Close everything."""
        for one in (self.sock, *self.connections):
            one.close()


@pytest.fixture
def peer() -> Iterator[StayingPeer]:
    """The other side, with its connections."""
    with contextlib.closing(StayingPeer()) as one:
        yield one


@pytest.fixture
def scene(monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    """An outbox whose patience does not end by itself."""
    monkeypatch.setattr(outbox, "PATIENCE_S", 3600.0)
    one = Scene()
    yield one
    one.outbox.close()
    one.poller.close()


def answered(scene: Scene, peer: Peer, *intents: Intent, count: int = 1) -> None:
    """Send these, have the first `count` answered, and wait until the answer has arrived."""
    for intent in intents:
        scene.outbox.submit(peer.key, intent)
    connection = peer.accept()
    for _ in range(count):
        peer.take(connection)
    assert select.select(scene.outbox.descriptors(), [], [], 5)[0]


def wakes(scene: Scene, *, hurry: bool = False) -> bool:
    """Whether a wait that begins now is ended by what has arrived."""
    scene.outbox.mind(hurry)
    return bool(scene.poller.wait(0.0))


def test_a_patient_answer_wakes_nobody_and_is_read_in_passing(scene: Scene, peer: Peer) -> None:
    """The wait goes on beside the answer; whatever ends it, the answer is read then."""
    answered(scene, peer, Patient(0))
    assert not wakes(scene)
    assert scene.results == []
    scene.outbox.run_due()
    assert scene.results == [(0, Result.TAKEN)]


def test_an_answer_somebody_waits_for_ends_the_wait(scene: Scene, peer: Peer) -> None:
    """An ordinary intent, a caller in a hurry, and one who says so later are told at once."""
    answered(scene, peer, Patient(0))
    assert wakes(scene, hurry=True)
    assert not wakes(scene)
    scene.outbox.hasten()
    assert wakes(scene)


def test_one_ordinary_intent_is_enough(scene: Scene, peer: Peer) -> None:
    """What is waited for is not kept waiting by patient ones beside it; after it patience goes on."""
    answered(scene, peer, Patient(0), Intent(1), Patient(2), count=2)
    assert wakes(scene)
    scene.run(lambda: len(scene.results) == 2)
    assert not wakes(scene)


def test_haste_ends_with_what_was_under_way(scene: Scene, peer: Peer) -> None:
    """Who hastened has been told; the next patient intent is patient again."""
    scene.outbox.submit(peer.key, Patient(0))
    scene.outbox.hasten()
    with peer.accept() as connection:
        peer.take(connection)
        scene.run(lambda: scene.results)
        scene.outbox.submit(peer.key, Patient(1))
        peer.take(connection)
        assert select.select(scene.outbox.descriptors(), [], [], 5)[0]
        assert not wakes(scene)


def test_patience_ends(scene: Scene, peer: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    """When its time is over the answer ends the wait; until then the wait lasts no longer than that."""
    answered(scene, peer, Patient(0))
    assert not wakes(scene)
    due = scene.outbox.next_due()
    assert due is not None
    monkeypatch.setattr(outbox, "currentTime", lambda: due)
    assert wakes(scene)
    assert scene.outbox.next_due() is None


def test_a_full_window_is_in_a_hurry(scene: Scene, peer: Peer) -> None:
    """Where more wait than may be under way, the answers to patient ones are read as they come."""
    answered(scene, peer, *(Patient(number) for number in range(WINDOW + 1)))
    assert wakes(scene)


def test_an_idle_outbox_notices_closed_connections(scene: Scene, peer: Peer) -> None:
    """With nothing under way and no patience left, a connection that ends is noticed and given back."""
    scene.outbox.submit(peer.key, Intent(0))
    with peer.accept() as connection:
        peer.take(connection)
        scene.run(lambda: scene.results)
    scene.outbox.mind(hurry=False)
    scene.run(lambda: not scene.outbox.descriptors())
