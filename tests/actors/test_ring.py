"""The memory that a worker and its agent share: order, room, rings, and what a kill leaves in it."""

from __future__ import annotations

import os
import platform
import select
import signal
import socket
from collections.abc import Iterator

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gen_agent.actors import link as link_module
from gen_agent.actors import orders, ring
from gen_agent.actors.link import AgentEnd, WorkerEnd, socket_pair
from gen_agent.actors.linkframes import RUNG, NoFrame
from gen_agent.actors.ring import BadRing, Reader, Ring, Writer
from gen_agent.sealed import SealedRun, dump

SMALL = 256
PATIENCE_S = 30.0


@attrs.define
class Link:
    """Both ends in one process, and the agent's socket."""

    agent: AgentEnd
    worker: WorkerEnd
    ours: socket.socket

    def events(self) -> list[object]:
        """What one read brings, opened."""
        return [event for run in self.agent.read() for event in run]

    def on_the_socket(self) -> bytes:
        """What has come over the socket and was not read."""
        try:
            return self.ours.recv(1 << 20, socket.MSG_PEEK)
        except BlockingIOError:
            return b""


def link() -> Link:
    ours, theirs = socket_pair()
    shared = Ring()
    return Link(AgentEnd(ours, shared), WorkerEnd(theirs, shared), ours)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[Link]:
    """A link whose ring is soon full."""
    monkeypatch.setattr(ring, "SIZE", SMALL)
    made = link()
    yield made
    made.worker._socket.close()
    made.agent.close()


@given(st.lists(st.one_of(st.none(), st.integers(0, SMALL + 50)), max_size=60))
def test_events_come_in_order_whichever_way_they_take(sizes: list[int | None]) -> None:
    """C174: short events and such as do not fit, read at any moment (None), come once each and in order."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ring, "SIZE", SMALL)
        made = link()
        sent: list[object] = []
        came: list[object] = []
        for size in sizes:
            if size is None:
                came += made.events()
            else:
                sent.append((len(sent), "x" * size))
                made.worker.send_event(dump(sent[-1]))
        while more := made.events():
            came += more
        assert came == sent
        made.worker._socket.close()
        made.agent.close()


def test_a_full_ring_is_used_again_once_it_was_read(small: Link) -> None:
    """What does not fit goes over the socket, and so does all after it until that was read."""
    bodies = [dump("x" * 100) for _ in range(5)]
    for body in bodies:
        small.worker.send_event(body)
    assert small.on_the_socket() == RUNG + b"".join(map(SealedRun.frame, bodies[2:]))
    assert len(small.events()) == 5
    small.worker.send_event(bodies[0])
    assert small.on_the_socket() == RUNG
    assert small.events() == ["x" * 100]


def test_only_an_agent_that_waits_is_rung_for(small: Link) -> None:
    """The first event after a read rings, once; a report brings all events before it with it."""
    for text in "abc":
        small.worker.send_event(dump(text))
    assert small.on_the_socket() == RUNG
    small.worker.send(orders.Alive())
    run, report = small.agent.read()
    assert (list(run), report) == (["a", "b", "c"], orders.Alive())
    small.worker.send_event(dump("d"))
    assert small.on_the_socket() == RUNG


def test_what_comes_during_a_read_is_told_by_it() -> None:
    """An agent that would wait while there is an event is told that there is more, and no ring is missing."""
    shared = Ring()
    reader, writer = Reader(shared), Writer(shared)
    assert reader.wait()
    writer.put(b"one")
    assert writer.must_ring()
    assert not writer.must_ring()
    assert not reader.wait()
    assert reader.take() == b"one"
    assert reader.wait()
    writer.put(b"two")
    assert writer.must_ring()
    reader.close()


def test_a_killed_worker_has_lost_nothing() -> None:
    """C180: what a worker had sent is there after its SIGKILL, without anything said on the socket."""
    ours, theirs = socket_pair()
    shared = Ring()
    pid = os.fork()
    if pid == 0:
        worker = WorkerEnd(theirs, shared)
        for number in range(1_000):
            worker.send_event(dump(number))
        os.kill(os.getpid(), signal.SIGKILL)
    theirs.close()
    os.waitpid(pid, 0)
    agent = AgentEnd(ours, shared)
    assert [event for run in agent.read(None) for event in run] == list(range(1_000))
    agent.close()


def test_nobody_sleeps_on_an_event() -> None:
    """An agent that waits whenever it has read all that there was gets each of 20,000 events."""
    ours, theirs = socket_pair()
    shared = Ring()
    pid = os.fork()
    if pid == 0:
        worker = WorkerEnd(theirs, shared)
        for number in range(20_000):
            worker.send_event(dump(number))
            if number % 50 == 0:
                # So that the reader gets so far as to wait, again and again.
                os.sched_yield()
        # Lives on until it is read, so that no end of it wakes the reader.
        worker.receive()
        os._exit(0)
    theirs.close()
    agent = AgentEnd(ours, shared)
    came: list[object] = []
    while len(came) < 20_000:
        waits = PATIENCE_S if agent.again_s is None else agent.again_s
        ready = select.select([ours], [], [], waits)[0]
        assert ready or agent.again_s is not None, f"asleep after {len(came)}"
        came += [event for run in agent.read() for event in run]
    assert came == list(range(20_000))
    agent.send(orders.Close(False))
    os.waitpid(pid, 0)
    agent.close()


@pytest.mark.parametrize("written", [1 << 40, ring.SIZE + 1])
def test_a_forged_length_is_refused(written: int) -> None:
    """A worker that says it has written more than there is room for is not believed."""
    shared = Ring()
    reader = Reader(shared)
    shared.words[0] = written
    with pytest.raises(BadRing):
        reader.take()
    reader.close()


@pytest.mark.parametrize(
    "raw", [b"\0\0\0\1", b"\0\0\0\7\2x", b"\0\0\0\1\1x"], ids=["cut", "too long", "no event"]
)
def test_what_is_no_event_is_no_frame(small: Link, raw: bytes) -> None:
    """What a worker's memory holds is checked like what it sends: a wrong length or kind ends its link."""
    assert small.worker._ring is not None
    small.worker._ring.put(raw)
    with pytest.raises(NoFrame):
        small.agent.read()


def test_no_ring_where_stores_may_be_seen_in_another_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """On other processors all goes over the socket."""
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    assert Ring.made() is None


def test_a_flood_is_looked_for_instead_of_rung_for(small: Link) -> None:
    """After many events in one read the agent is to come back by itself, and nothing rings until it has found
    few.
    """
    for _ in range(link_module.FLOOD):
        small.worker.send_event(dump(0))
    assert len(small.events()) == link_module.FLOOD
    assert small.agent.again_s == link_module.LULL_S
    small.worker.send_event(dump(1))
    assert small.on_the_socket() == b""
    assert small.events() == [1]
    assert small.agent.again_s is None
    small.worker.send_event(dump(2))
    assert small.on_the_socket() == RUNG
