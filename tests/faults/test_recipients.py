"""Recipients that are dead, slow or stopped cost nobody else anything, and get what they are due when they
go on.
"""

from __future__ import annotations

import signal
import time
from pathlib import Path
from typing import Any

import attrs

from gen_agent.actors.eventroom import EVENT_BYTES
from gen_agent.actors.processes import ProcessId
from gen_agent.actors.system import AgentSystem
from gen_agent.messages import Completion, EventMessage
from gen_agent.values import PENDING
from tests.actors.agent_rig import Recorder
from tests.faults.scene import PATIENCE_S, Scene, kill, scene

REQUESTS = 10
EVENTS = 100
BIG = 65_536


class Slow(Recorder):
    """Takes its time over every message."""

    def receiveMessage(self, message: Any, sender: Any) -> None:
        time.sleep(0.002)
        super().receiveMessage(message, sender)


@attrs.frozen
class Listener:
    """An actor that keeps what it gets, and its process."""

    system: Any
    address: Any
    process: ProcessId

    @classmethod
    def make(cls, agents: AgentSystem, actor: type = Recorder) -> Listener:
        """A new one in this system."""
        system = agents._opened.system
        address = system.createActor(actor)
        return cls(system, address, ProcessId.of(system.ask(address, "pid", PATIENCE_S)))

    def got(self, completions: int, patience_s: float = PATIENCE_S) -> tuple[Any, ...]:
        """Everything it has been sent, once so many completions have come."""
        found: tuple[Any, ...] = self.system.ask(self.address, ("until", completions), patience_s)
        assert found is not None, "they did not come"
        return found

    def end(self) -> None:
        """Have it exit, and wait for it."""
        if self.process.alive():
            kill(self.process, signal.SIGKILL)
        # The connection to it is closed when the loop that has it runs next.
        self.system.listen(0.0)


def submit(there: Scene, to: Any, words: str = "") -> list[Any]:
    """Requests whose events and completions go to that actor."""
    return [
        there.agents.submit_with_completion(there.address, f"for{number} {words}", to, stream_to=to)
        for number in range(REQUESTS)
    ]


def all_due(got: tuple[Any, ...], refs: list[Any], events: int) -> None:
    """One completion per request, in order; its events came before it, or are counted as dropped."""
    assert [message.ref for message in got if isinstance(message, Completion)] == refs
    for ref in refs:
        mine = [
            message
            for message in got
            if message.ref == ref and isinstance(message, (EventMessage, Completion))
        ]
        *streamed, completion = mine
        assert isinstance(completion, Completion)
        assert len(streamed) + completion.dropped_events == events


def await_result(there: Scene, ref: Any) -> Any:
    """The result of a request by polling: its completion goes to somebody else."""
    there.until(lambda: there.agents.poll(there.address, ref, timeout=PATIENCE_S) is not PENDING)
    return there.agents.poll(there.address, ref, timeout=PATIENCE_S)


def test_a_dead_recipient(agents: AgentSystem, tmp_path: Path) -> None:
    """C114, C181: with nobody there to get them, turns end as ever, and the agent goes on."""
    with scene(agents, tmp_path, None) as there:
        listener = Listener.make(agents)
        kill(listener.process, signal.SIGKILL)
        refs = submit(there, listener.address, "text:a text:b")
        assert [await_result(there, ref).text for ref in refs] == [f"for{n}" for n in range(REQUESTS)]
        listener.end()
        there.end_alive()


def test_a_recipient_that_dies_in_the_stream(agents: AgentSystem, tmp_path: Path) -> None:
    """C114: a recipient killed while it is being sent to ends nothing but its own messages."""
    with scene(agents, tmp_path, None) as there:
        listener = Listener.make(agents)
        ref = agents.submit_with_completion(
            there.address, f"first flood:{EVENTS} hold:here flood:{EVENTS}", listener.address,
            stream_to=listener.address,
        )  # fmt: skip
        there.stage.wait_blocked("here")
        kill(listener.process, signal.SIGKILL)
        there.release()
        assert await_result(there, ref).text == "first"
        listener.end()
        there.end_alive()


def test_a_stopped_recipient(agents: AgentSystem, tmp_path: Path) -> None:
    """C181: while a recipient is stopped others are served; when it goes on it gets everything, in order,
    once.
    """
    with scene(agents, tmp_path, None) as there:
        listener = Listener.make(agents)
        listener.process.signal(signal.SIGSTOP)
        try:
            refs = submit(there, listener.address, f"flood:{EVENTS}")
            assert agents.ask(there.address, "other", timeout=PATIENCE_S).text == "other"
        finally:
            listener.process.signal(signal.SIGCONT)
        all_due(listener.got(REQUESTS), refs, EVENTS + 1)
        listener.end()
        there.end_alive()


def test_a_stopped_recipient_that_is_killed(agents: AgentSystem, tmp_path: Path) -> None:
    """C114: what waited for a stopped recipient is given up when it dies, and holds up nobody."""
    with scene(agents, tmp_path, None) as there:
        listener = Listener.make(agents)
        listener.process.signal(signal.SIGSTOP)
        refs = submit(there, listener.address, f"flood:{EVENTS}")
        assert agents.ask(there.address, "other", timeout=PATIENCE_S).text == "other"
        kill(listener.process, signal.SIGKILL)
        assert await_result(there, refs[-1]).text == f"for{REQUESTS - 1}"
        listener.end()
        there.end_alive()


def test_a_slow_recipient(agents: AgentSystem, tmp_path: Path) -> None:
    """C175, C181: a slow recipient with room for few events gets every completion, and the count of what it
    missed.
    """
    with scene(agents, tmp_path, None, max_relay_events=20) as there:
        listener = Listener.make(agents, Slow)
        refs = submit(there, listener.address, f"flood:{EVENTS}")
        assert agents.ask(there.address, "other", timeout=PATIENCE_S).text == "other"
        all_due(listener.got(REQUESTS), refs, EVENTS + 1)
        listener.end()
        there.end_alive()


def test_a_script_that_does_not_listen(agents: AgentSystem, tmp_path: Path) -> None:
    """A script that reads nothing for a while holds up no agent and gets all of it afterwards, in order."""
    with scene(agents, tmp_path, None, max_relay_events=100_000) as there:
        refs = submit(there, agents.address, f"flood:{EVENTS}")
        with agents.private() as other:
            assert other.ask(there.address, "other", timeout=PATIENCE_S).text == "other"
        got: list[Any] = []
        while sum(isinstance(message, Completion) for message in got) < REQUESTS:
            got.append(agents.receive(timeout=PATIENCE_S))
        all_due(tuple(got), refs, EVENTS + 1)
        there.end_alive()


def test_a_script_that_never_reads(agents: AgentSystem, tmp_path: Path) -> None:
    """C175, C181: of the events a script does not read so many are kept as there is room for, the rest is
    counted; what it has read makes room again.
    """
    many = 3 * EVENT_BYTES // (2 * BIG)
    with scene(agents, tmp_path, None, max_relay_events=100_000) as there:
        events, dropped = unread(there, many)
        assert EVENT_BYTES // 2 < events * BIG <= EVENT_BYTES
        assert events + dropped == many + 1
    with scene(agents, tmp_path, None, max_relay_events=100_000) as there:
        assert unread(there, many // 3) == (many // 3 + 1, 0)


def unread(there: Scene, count: int) -> tuple[int, int]:
    """Have a turn stream large events to this script, which reads them when its agent is gone: how many there
    are then, and how many were dropped.
    """
    here = there.agents.address
    there.agents.submit_with_completion(there.address, f"first flood:{count}x{BIG}", here, stream_to=here)
    # Another client waits for the end of everything, which leaves this one's mailbox alone.
    there.client.ask(there.address, "second", timeout=PATIENCE_S)
    there.client.stop(there.address, timeout=PATIENCE_S)
    got: list[Any] = []
    while not (got and isinstance(got[-1], Completion)):
        got.append(there.agents.receive(timeout=PATIENCE_S))
    return sum(isinstance(message, EventMessage) for message in got), got[-1].dropped_events
