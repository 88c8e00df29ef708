"""Traffic in both directions at once, and more of it than anybody can look at: nothing lost, nothing out of
order.
"""

from __future__ import annotations

import signal
import threading
from pathlib import Path

import pytest

from gen_agent import Interrupted
from gen_agent.actors.processes import Watched
from gen_agent.actors.system import AgentSystem
from gen_agent.messages import Down
from tests.faults.cast import Echoing
from tests.faults.scene import PATIENCE_S, process_of, scene
from tests.faults.test_recipients import Listener, await_result

FLOOD = 1_000_000
ENDLESS = 10**9

MINUTES = pytest.mark.timeout(900)
"""For what takes minutes on a busy computer and Thespian's own base."""


@pytest.mark.parametrize("messages", [1_000, pytest.param(5_000, marks=[pytest.mark.faults, MINUTES])])
def test_both_ways_at_once(messages: int, agents: AgentSystem, tmp_path: Path) -> None:
    """C239: Thousands of casts of a script and as many messages of its agent cross: all arrive, in order,
    none twice.
    """
    with scene(agents, tmp_path, None, agent=Echoing) as there:
        to = agents.address
        got = []
        for number in range(messages):
            agents.notify(there.address if number % 2 else "victim", (number, to))
            if number % 100 == 99:
                got += [message[1] for message in there.rest_now()]
        while len(got) < messages:
            message = agents.receive(timeout=PATIENCE_S)
            assert message is not None, f"only {len(got)} came"
            got.append(message[1])
        assert got == list(range(messages))
        there.end_alive()


def test_a_flood_can_be_interrupted(agents: AgentSystem, tmp_path: Path) -> None:
    """C119, C120: an interrupt and other calls are served at once while a backend never stops talking."""
    with scene(agents, tmp_path, None, max_relay_events=1_000) as there:
        ref = agents.tell_with_completion(
            there.address, f"first hold:here flood:{ENDLESS}", stream_to=agents.address
        )
        there.stage.wait_blocked("here")
        there.release()
        assert agents.receive(timeout=PATIENCE_S).ref == ref
        for _ in range(20):
            agents.status(there.address, timeout=PATIENCE_S)
        assert agents.interrupt_request(there.address, ref, timeout=PATIENCE_S) == "accepted"
        assert agents.completion(ref, timeout=PATIENCE_S).outcome == Interrupted()
        agents.receive(lambda message: False, timeout=0.0)
        assert agents.ask(there.address, "last", timeout=PATIENCE_S).text == "last"


def test_a_flooded_agent_stops(agents: AgentSystem, tmp_path: Path) -> None:
    """C071, C129: a stop during a flood ends the agent within its time, and Down comes after everything
    else.
    """
    with (
        scene(agents, tmp_path, None, max_relay_events=100) as there,
        Watched(process_of(there.address)) as agent,
    ):
        agents.tell_with_completion(there.address, f"first flood:{ENDLESS}", stream_to=agents.address)
        agents.receive(timeout=PATIENCE_S)
        agents.stop("victim", timeout=PATIENCE_S)
        assert agent.ended
        while not isinstance(message := agents.receive(timeout=PATIENCE_S), Down):
            assert message is not None
        assert message.reason == "shutdown"
        assert there.rest() == []


@pytest.mark.faults
@MINUTES
def test_a_million_events(agents: AgentSystem, tmp_path: Path) -> None:
    """C165, C166: every one of a million events is observed, and relayed or counted; other calls are
    answered.
    """
    with scene(agents, tmp_path, None) as there:
        ended = threading.Event()
        answered = []

        def keep_asking() -> None:
            with agents.private() as other:
                while not ended.is_set():
                    answered.append(other.status(there.address, timeout=PATIENCE_S).state)

        thread = threading.Thread(target=keep_asking)
        with agents.stream(there.address, f"first flood:{FLOOD}", timeout=300) as stream:
            thread.start()
            seen = sum(1 for _ in stream)
        ended.set()
        thread.join(PATIENCE_S)
        print(
            f"{seen} events seen, {stream.dropped_events} dropped, {len(answered)} calls answered meanwhile"
        )
        assert seen + stream.dropped_events == FLOOD + 1
        assert stream.response.event_coverage.observed_events == FLOOD + 1
        assert len(answered) > 10
        there.end_alive()


@pytest.mark.faults
@MINUTES
def test_a_million_events_for_a_stopped_recipient(agents: AgentSystem, tmp_path: Path) -> None:
    """C181: what a stopped recipient does not take is dropped above a bound, so that the agent does not
    grow.
    """
    with scene(agents, tmp_path, None) as there:
        listener = Listener.make(agents)
        listener.process.signal(signal.SIGSTOP)
        before = resident(there.address.incarnation.pid)
        ref = agents.submit_with_completion(
            there.address, f"first flood:{FLOOD}", listener.address, stream_to=listener.address
        )
        assert await_result(there, ref).text == "first"
        grown = resident(there.address.incarnation.pid) - before
        print(f"the agent grew by {grown >> 10} KiB")
        assert grown < 32 << 20
        listener.process.signal(signal.SIGCONT)
        # What had been relayed comes first, on Thespian's own base a few hundred events a second.
        got = listener.got(1, 20 * PATIENCE_S)
        (completion,) = [one for one in got if hasattr(one, "outcome")]
        assert completion.dropped_events > FLOOD // 2
        listener.end()
        there.end_alive()


def resident(pid: int) -> int:
    """How many bytes of memory a process has to itself."""
    with open(f"/proc/{pid}/statm") as file:
        _, pages, shared = file.read().split()[:3]
    return (int(pages) - int(shared)) * 4096
