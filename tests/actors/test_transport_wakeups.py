"""Wakeups and watches: each comes, in order, and on time."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from thespian.actors import ActorAddress
from thespian.system.transport import (
    ExternalInterfaceTransportInit,
    ReceiveEnvelope,
    TransmitIntent,
    TransmitOnly,
)
from thespian.system.transport.IPBase import TCPv4ActorAddress

from gen_agent.actors import wakeups
from gen_agent.actors.keys import new_key
from gen_agent.actors.sockets import listener
from gen_agent.actors.transport import transport_class
from gen_agent.actors.wakeups import Wakeups
from tests.actors.transport_actors import Clock, Lookout
from tests.actors.transport_system import System, running

MONTH_S = 30 * 86_400.0


@pytest.fixture
def system() -> Iterator[System]:
    """A system of its own for a test."""
    with running() as system:
        yield system


@given(periods=st.lists(st.integers(0, 5), max_size=30))
def test_heap(periods: list[int]) -> None:
    """Wakeups come when due, not before, none twice, and in the order they were asked for if due at once."""
    now = [100.0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wakeups, "currentTime", lambda: now[0])
        pending = Wakeups()
        for number, period in enumerate(periods):
            pending.add(timedelta(seconds=period), number)
        got: list[Any] = []
        for second in range(6):
            now[0] = 100.0 + second
            got.append([wakeup.payload for wakeup in pending.take_due()])
    assert got == [
        [number for number, period in enumerate(periods) if period == second] for second in range(6)
    ]
    assert pending.next_due() is None


def test_order_of_wakeups(system: System) -> None:
    """Two thousand wakeups that are due at about the same time all come, in the order they were asked for."""
    clock = system.create(Clock)
    assert system.actors.ask(clock, ("all", 2000, 0.05), 20) == tuple(range(2000))


def test_many_pending(system: System) -> None:
    """Ten thousand pending wakeups cost less than a second of the actor's time to ask for."""
    clock = system.create(Clock)
    assert system.actors.ask(clock, ("pending", 10_000, 1000.0), 20) < 1.0


def test_chain_without_a_stall(system: System) -> None:
    """Of 3,000 wakeups, each asked for by the one before, none waits for a message to come by."""
    clock = system.create(Clock)
    assert system.actors.ask(clock, ("chain", 3000, 0.0001), 30) == "chained"


def test_distant_wakeups(system: System) -> None:
    """A wakeup in thirty days, more than the kernel can count to, harms nobody meanwhile."""
    clock = system.create(Clock)
    assert system.actors.ask(clock, ("pending", 1, MONTH_S), 5) is not None
    assert system.actors.ask(clock, "pid", 5) is not None


def test_wakeups_outlast_transmitting() -> None:
    """Wakeups that come due while a process only transmits are delivered afterwards, in order."""
    silent = listener("127.0.0.1", 0)
    kind = transport_class(new_key())
    transport = kind(ExternalInterfaceTransportInit(), {"Admin Port": 1}, None, None)
    try:
        target = ActorAddress(TCPv4ActorAddress(*silent.getsockname(), external=True))
        transport.scheduleTransmit(None, TransmitIntent(target, "never taken"))
        for number in range(5):
            transport.addWakeup(timedelta(0), number)
        assert not transport.run(TransmitOnly, timedelta(seconds=0.05))
        got: list[Any] = []

        def keep(envelope: Any) -> bool:
            got.append(envelope.message.payload)
            return len(got) < 5

        transport.run(keep, timedelta(seconds=5))
        assert got == [0, 1, 2, 3, 4]
    finally:
        transport.close()
        silent.close()


def test_watching(system: System) -> None:
    """A watched pipe is told of, though files, closed ones, itself and nonsense stand beside it."""
    lookout = system.create(Lookout)
    for _ in range(3):
        assert system.actors.ask(lookout, "ring", 5) == (True, b"rung")
    assert system.pid(lookout) != os.getpid()


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """The two ends of a pipe."""
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


def test_attending(pipe: tuple[int, int]) -> None:
    """What an actor attends to is told between messages while it can be read, and no more once it is left
    alone.
    """
    transport = transport_class(new_key())(ExternalInterfaceTransportInit(), {"Admin Port": 1}, None, None)
    looks: list[bytes] = []

    def look() -> None:
        looks.append(os.read(pipe[0], 1))
        if len(looks) == 2:
            transport.leave_alone(pipe[0])
            transport.addWakeup(timedelta(0), "enough")

    with contextlib.closing(transport):
        transport.attend(pipe[0], look)
        os.write(pipe[1], b"abc")
        transport.run(lambda envelope: False, timedelta(seconds=5))
        assert looks == [b"a", b"b"]
        transport.leave_alone(pipe[0])


def test_transmitting_attends_to_nothing(pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """While a process only transmits, what it attends to waits, and does not end every wait at once."""
    silent = listener("127.0.0.1", 0)
    transport = transport_class(new_key())(ExternalInterfaceTransportInit(), {"Admin Port": 1}, None, None)
    waits, told = list[float](), list[int]()
    wait = transport._poller.wait
    monkeypatch.setattr(transport._poller, "wait", lambda seconds: (waits.append(seconds), wait(seconds))[1])
    with contextlib.closing(silent), contextlib.closing(transport):
        transport.attend(pipe[0], lambda: told.append(len(os.read(pipe[0], 9))))
        os.write(pipe[1], b"abc")
        target = ActorAddress(TCPv4ActorAddress(*silent.getsockname(), external=True))
        transport.scheduleTransmit(None, TransmitIntent(target, "never taken"))
        assert not transport.run(TransmitOnly, timedelta(seconds=0.05))
        assert told == []
        assert len(waits) < 5
        transport.addWakeup(timedelta(seconds=0.01), "enough")
        transport.run(lambda envelope: False, timedelta(seconds=5))
        assert told == [3]


def test_messages_come_before_what_is_attended_to() -> None:
    """Of a message and something attended to that are there at once, the message comes first."""
    transport = transport_class(new_key())(ExternalInterfaceTransportInit(), {"Admin Port": 1}, None, None)
    order: list[str] = []

    def look() -> None:
        order.append("look")
        transport.addWakeup(timedelta(0), "enough")

    with contextlib.closing(transport):
        transport.call_soon(look)
        transport._arrived.append(ReceiveEnvelope(transport.myAddress, "message"))
        transport.run(
            lambda envelope: envelope.message == "message" and not order.append("message"),
            timedelta(seconds=5),
        )
    assert order == ["message", "look"]
