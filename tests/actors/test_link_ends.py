"""The two ends of a link, in one process: what the agent's end never waits for, and what the worker's end
waits for.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from gen_agent.actors import orders
from gen_agent.actors.link import READ_AT_ONCE, AgentEnd, LinkClosed, WorkerEnd, socket_pair
from gen_agent.actors.ring import Ring
from gen_agent.sealed import SealedRun, dump


@pytest.fixture(params=(False, True), ids=("socket", "ring"))
def ends(request: pytest.FixtureRequest) -> Iterator[tuple[AgentEnd, WorkerEnd]]:
    ours, theirs = socket_pair()
    ring = Ring() if request.param else None
    with ours, theirs:
        yield AgentEnd(ours, ring), WorkerEnd(theirs, ring)


def test_orders_and_reports_cross(ends: tuple[AgentEnd, WorkerEnd]) -> None:
    """What one end sends the other receives, equal and in order."""
    agent, worker = ends
    agent.send(orders.Boot(True))
    agent.send(orders.Close(False))
    assert worker.receive() == orders.Boot(True)
    assert worker.receive() == orders.Close(False)
    worker.send(orders.Attached())
    assert agent.read() == [orders.Attached()]
    assert agent.read() == []
    assert not agent.ended


def test_a_large_order_never_blocks_the_agent(ends: tuple[AgentEnd, WorkerEnd]) -> None:
    """An order larger than any socket buffer is kept and sent as the worker reads."""
    agent, worker = ends
    order = orders.Broken("x" * 20_000_000)
    agent.send(order)
    assert agent.unsent > 0
    got: list[object] = []
    reader = threading.Thread(target=lambda: got.append(worker.receive()))
    reader.start()
    while agent.unsent:
        agent.flush()
    reader.join(20)
    assert got == [order]


def test_a_flood_is_read_in_pieces(ends: tuple[AgentEnd, WorkerEnd]) -> None:
    """One read takes about 1 MB at most, so that other messages get their turn; nothing is lost by that."""
    agent, worker = ends
    body = dump("x" * 1000)

    def flood() -> None:
        for _ in range(5000):
            worker.send_event(body)

    writer = threading.Thread(target=flood)
    writer.start()
    total, reads = 0, []
    while total < 5000:
        count = sum(run.count for run in agent.read() if isinstance(run, SealedRun))
        total += count
        reads.append(count)
    writer.join(20)
    assert total == 5000
    assert max(reads) * len(body) < 2 * READ_AT_ONCE


@pytest.mark.parametrize("ends", [False], indirect=True, ids=["socket"])
def test_a_read_stops_at_its_limit(ends: tuple[AgentEnd, WorkerEnd]) -> None:
    """What is there beyond the limit is left for the next read."""
    agent, worker = ends
    for _ in range(3):
        worker.send_event(dump("x" * 250_000))
    assert sum(run.count for run in agent.read(1)) == 1
    assert sum(run.count for run in agent.read(None)) == 2


def test_the_end_of_the_worker_is_seen(ends: tuple[AgentEnd, WorkerEnd]) -> None:
    """What a worker said last is read before its end is; sending to it is harmless then."""
    agent, worker = ends
    worker.send(orders.Alive())
    worker._socket.close()  # as the kernel does at its death
    assert agent.read() == [orders.Alive()]
    agent.read()
    assert agent.ended
    agent.send(orders.Boot(True))
    assert agent.unsent == 0


def test_the_end_of_the_agent_is_an_error_in_the_worker(ends: tuple[AgentEnd, WorkerEnd]) -> None:
    """A worker whose agent is gone is told so by both of its calls."""
    agent, worker = ends
    agent.close()
    with pytest.raises(LinkClosed):
        worker.receive()
    with pytest.raises(LinkClosed):
        worker.send(orders.Alive())
