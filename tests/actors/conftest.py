"""Plain Thespian systems for the tests of agents and workers, and outboxes with peers; each for one test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.actors.agent_rig import BASES, OWN, PROCESS_BASES, STOCK, Plain, plain_system
from tests.actors.lane_scenes import Peer, Scene


@pytest.fixture(params=PROCESS_BASES)
def plain(request: pytest.FixtureRequest) -> Iterator[Plain]:
    """A system on each base that has processes."""
    with plain_system(request.param) as plain:
        yield plain


@pytest.fixture(params=BASES)
def any_plain(request: pytest.FixtureRequest) -> Iterator[Plain]:
    """A system on each base."""
    with plain_system(request.param) as plain:
        yield plain


@pytest.fixture
def own() -> Iterator[Plain]:
    """A system on our base."""
    with plain_system(OWN) as plain:
        yield plain


@pytest.fixture
def stock() -> Iterator[Plain]:
    """A system on Thespian's own base."""
    with plain_system(STOCK) as plain:
        yield plain


@pytest.fixture
def scene() -> Iterator[Scene]:
    """An outbox of its own for a test."""
    scene = Scene()
    yield scene
    scene.outbox.close()
    scene.poller.close()


@pytest.fixture
def peer() -> Iterator[Peer]:
    """A peer of its own for a test."""
    peer = Peer()
    yield peer
    peer.sock.close()
