"""Messages between real processes: in order, all of them, and nobody held up by somebody else."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator

import pytest
from thespian.actors import ActorAddress

from gen_agent.actors.processes import ProcessId
from tests.actors.transport_actors import Mirror, Pacer
from tests.actors.transport_system import System, running, stopped, wait_until


@pytest.fixture
def system() -> Iterator[System]:
    """A system of its own for a test."""
    with running() as system:
        yield system


def in_order(numbers: object, count: int) -> bool:
    """Whether these are the first `count` numbers, in order."""
    return numbers == tuple(range(count))


@pytest.mark.parametrize(("count", "period_s", "paces"), [(3, 0.005, 200), (20, 0.02, 40), (1, 0.001, 500)])
def test_two_way_traffic(system: System, count: int, period_s: float, paces: int) -> None:
    """C239: two actors that write to each other get each other's messages in send order, none lost."""
    left, right = system.create(Pacer), system.create(Pacer)
    system.actors.tell(left, ("pace", right, count, period_s, paces))
    system.actors.tell(right, ("pace", left, count, period_s, paces))
    for actor in (left, right):
        assert in_order(system.actors.ask(actor, ("when", count * paces), 30), count * paces)


def test_burst(system: System) -> None:
    """C239: a burst of 3,000 messages sent in one step arrives whole and in order."""
    source, target = system.create(Pacer), system.create(Pacer)
    assert system.actors.ask(source, ("burst", target, 3000), 20) == "sent"
    assert in_order(system.actors.ask(target, ("when", 3000), 30), 3000)


def test_posts_and_answers(system: System) -> None:
    """C239: 5,000 posts of a script reach an actor in order, and its 5,000 answers the script."""
    mirror = system.create(Mirror)
    for number in range(5000):
        system.base.post(mirror, number)
    assert [system.actors.listen(20) for _ in range(5000)] == list(range(5000))


def test_posts_before_an_ask(system: System) -> None:
    """C239: an ask is a barrier: what the same script posted before it was handled when it is answered."""
    target = system.create(Pacer)
    for number in range(500):
        system.base.post(target, ("number", number))
    assert in_order(system.actors.ask(target, ("when", 500), 20), 500)


def test_flush(system: System) -> None:
    """Flushing waits until every post was taken, and says when that could not be had in time."""
    target = system.create(Pacer)
    with stopped(system.pid(target)):
        system.base.post(target, ("number", 0))
        system.base.post(target, ("number", 1))
        assert not system.base.flush(0.05)
    assert system.base.flush(10)
    assert system.base.transport.pending == 0


def fill(system: System, source: ActorAddress, target: ActorAddress) -> None:
    """Have an actor send 3,000 messages to a target that takes none; return when its send loop is over."""
    assert system.actors.ask(source, ("burst", target, 3000), 20) == "sent"


def test_stopped_target(system: System) -> None:
    """Neither 3,000 messages for a stopped process nor its death hold up an actor's other messages."""
    source, target, other = system.create(Pacer), system.create(Pacer), system.create(Pacer)
    with stopped(system.pid(target)) as kill:
        fill(system, source, target)
        assert system.actors.ask(source, ("burst", other, 100), 5) == "sent"
        assert in_order(system.actors.ask(other, ("when", 100), 5), 100)
        kill()
        assert system.actors.ask(source, ("burst", other, 100), 5) == "sent"
        assert in_order(system.actors.ask(other, ("when", 100), 5), 100)


def test_stopped_target_goes_on(system: System) -> None:
    """What waited for a stopped process arrives, whole and in order, when it goes on."""
    source, target = system.create(Pacer), system.create(Pacer)
    with stopped(system.pid(target)):
        fill(system, source, target)
    assert in_order(system.actors.ask(target, ("when", 3000), 30), 3000)


def test_dead_target(system: System) -> None:
    """3,000 messages to a process that is dead already cost the sender nothing but their number."""
    source, target, other = system.create(Pacer), system.create(Pacer), system.create(Pacer)
    with stopped(system.pid(target)) as kill:
        kill()
    fill(system, source, target)
    assert system.actors.ask(source, ("burst", other, 100), 5) == "sent"
    assert in_order(system.actors.ask(other, ("when", 100), 5), 100)


def test_asking_the_dead(system: System) -> None:
    """An ask to a process that dies meanwhile ends with its death, not with the timeout."""
    target = system.create(Pacer)
    with stopped(system.pid(target)) as kill:
        threading.Timer(0.2, kill).start()
        assert system.actors.ask(target, "pid", 600) is None
    assert system.actors.ask(target, "pid", 600) is None


@pytest.mark.parametrize("call", ["ask", "listen"])
def test_late_failure(system: System, call: str) -> None:
    """The failure of an earlier message of the same script does not end a later call."""
    dead, mirror = system.create(Pacer), system.create(Mirror)
    mirror_process = ProcessId.of(system.pid(mirror))
    with stopped(system.pid(dead)) as kill, stopped(mirror_process.pid):
        assert system.actors.ask(dead, "pid", 0.01) is None

        def fail_then_answer() -> None:
            wait_until(lambda: system.base.transport.pending == 2)
            kill()
            wait_until(lambda: system.base.transport.pending < 2)
            mirror_process.signal(signal.SIGCONT)

        thread = threading.Thread(target=fail_then_answer)
        thread.start()
        if call == "ask":
            assert system.actors.ask(mirror, "answer", 30) == "answer"
        else:
            system.base.post(mirror, "answer")
            assert system.actors.listen(30) == "answer"
        thread.join()


def test_private_endpoints(system: System) -> None:
    """Each thread with an endpoint of its own gets its own answers, all of them in order."""
    mirror = system.create(Mirror)
    wrong: list[object] = []

    def talk(thread: int) -> None:
        with system.actors.private() as endpoint:
            for number in range(100):
                answer = endpoint.ask(mirror, (thread, number), 10)
                if answer != (thread, number):
                    wrong.append(answer)

    threads = [threading.Thread(target=talk, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_ctrl_c(system: System) -> None:
    """Ctrl-C in the middle of a wait leaves the endpoint as usable as it was."""
    mirror = system.create(Mirror)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        for number in range(3):
            system.base.post(mirror, number)
            assert system.actors.listen(5) == number
            signal.setitimer(signal.ITIMER_REAL, 0.02)
            with pytest.raises(KeyboardInterrupt):
                system.actors.listen(30)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert system.actors.ask(mirror, "usable", 5) == "usable"


def test_long_message(system: System) -> None:
    """Ten megabytes arrive as they were sent, in both directions."""
    mirror = system.create(Mirror)
    data = bytes(range(256)) * 40_000
    assert system.actors.ask(mirror, data, 30) == data
