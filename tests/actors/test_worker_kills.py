"""Killing is real: whatever a worker is stuck in, it and all it started are gone before the answer, on real
processes.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from gen_agent.actors.processes import ProcessId, Watched, children
from gen_agent.errors import Interrupted, WatchdogTimeout
from gen_agent.messages import Ask, Interrupt, InterruptRequest, StopAgent
from tests.actors.agent_cast import WithProgram
from tests.actors.agent_rig import (
    ON_STOCK_TOO,
    AgentUnderTest,
    Meeting,
    Plain,
)

pytestmark = ON_STOCK_TOO

STUCK = ("sleep", "c", "spin")


@pytest.fixture
def meeting(tmp_path: Path) -> Meeting:
    return Meeting(tmp_path / "here")


def worker_of(agent: AgentUnderTest) -> ProcessId:
    """The agent's worker, when it has no other child."""
    (worker,) = children(agent.pid)
    return worker


@pytest.mark.parametrize("stuck", STUCK)
def test_interrupt_ends_a_stuck_worker(plain: Plain, meeting: Meeting, stuck: str) -> None:
    """C119, C120: when the interrupt is answered the worker is gone; the next turn has the old session."""
    agent, recorder = plain.start(), plain.recorder()
    agent.call(Ask("hi"))
    ref = agent.submit(f"here:{meeting.path} {stuck}", recorder)
    worker = ProcessId.of(int(meeting.wait()))
    assert agent.call(InterruptRequest(ref)) == "accepted"
    assert not worker.alive()
    assert plain.recorded(recorder)[-1].outcome == Interrupted()
    after = agent.call(Ask("hi")).terminal.data
    assert after["turns"] == 2
    assert after["pid"] != worker.pid


@pytest.mark.parametrize("stuck", ["sleep", "c"])
def test_interrupt_ends_all_a_worker_started(plain: Plain, meeting: Meeting, stuck: str) -> None:
    """C100: children, sessions of their own and daemons of a killed worker are gone before the answer."""
    agent, recorder = plain.start(), plain.recorder()
    ref = agent.submit(f"tools:{meeting.path} {stuck}", recorder)
    tools = [ProcessId.of(int(pid)) for pid in meeting.wait().split()]
    assert len(tools) == 4
    assert agent.call(InterruptRequest(ref)) == "accepted"
    assert [tool for tool in tools if tool.alive()] == []
    assert agent.call(Ask("hi")).text == "hi"


def test_a_killed_agent_takes_its_worker_along(plain: Plain, meeting: Meeting) -> None:
    """C100: SIGKILL of an agent ends its worker, though it is stuck in C code; other agents go on."""
    agent, other = plain.start(name="a"), plain.start(name="b")
    agent.submit(f"here:{meeting.path} c", plain.recorder())
    with Watched(int(meeting.wait())) as worker:
        os.kill(agent.pid, signal.SIGKILL)
        assert worker.wait(5)
    assert other.call(Ask("hi")).text == "hi"


def test_a_killed_worker_is_replaced_before_it_is_needed(stock: Plain, meeting: Meeting) -> None:
    """After an interrupt the next worker is made at once, and its backend built, before any prompt comes."""
    agent = stock.start()
    ref = agent.submit(f"here:{meeting.path} sleep", stock.recorder())
    killed = int(meeting.wait())
    agent.call(InterruptRequest(ref))
    agent.status()
    successor = worker_of(agent)
    assert successor.pid != killed
    assert agent.call(Ask("hi")).terminal.data["pid"] == successor.pid


def test_a_late_interrupt_hits_nothing(stock: Plain) -> None:
    """C012 of the edge cases: an interrupt on an idle agent has no effect on the next turn."""
    agent = stock.start()
    first = agent.call(Ask("hi")).terminal.data["pid"]
    agent.cast(Interrupt())
    assert agent.call(Ask("hi")).terminal.data["pid"] == first


def test_a_program_of_a_callback_survives_a_kill(stock: Plain, meeting: Meeting) -> None:
    """An interrupt ends what the worker started, and not what a callback started."""
    agent, recorder = stock.start(WithProgram), stock.recorder()
    program = ProcessId.of(agent.status().agent_state)
    ref = agent.submit(f"here:{meeting.path} sleep", recorder)
    meeting.wait()
    agent.call(InterruptRequest(ref))
    assert program.alive()
    agent.call(StopAgent())
    assert not program.alive()


def test_the_watchdog_kills(plain: Plain) -> None:
    """C183: a turn that takes too long is killed, its error is WatchdogTimeout, and the next turn works."""
    agent = plain.start(watchdog_s=1.0)
    assert agent.reply(Ask("c")).error == WatchdogTimeout(1.0)
    assert agent.call(Ask("hi")).text == "hi"


def test_the_idle_watchdog_kills(stock: Plain) -> None:
    """A backend that gives no event for idle_watchdog_s is killed; one that gives some is not."""
    agent = stock.start(idle_watchdog_s=1.0)
    assert agent.call(Ask("silent:0.4 silent:0.4 silent:0.4 silent:0.4")).text.startswith("silent")
    assert agent.reply(Ask("sleep")).error == WatchdogTimeout(1.0, True)


def test_the_kernel_ends_a_turn_whose_agent_is_stuck(stock: Plain, meeting: Meeting) -> None:
    """C072: with the agent stopped, the kernel's alarm ends the worker one second after the watchdog."""
    agent, recorder = stock.start(watchdog_s=1.0), stock.recorder()
    agent.submit(f"here:{meeting.path} c", recorder)
    with Watched(int(meeting.wait())) as worker:
        os.kill(agent.pid, signal.SIGSTOP)
        try:
            assert worker.wait(10)
        finally:
            os.kill(agent.pid, signal.SIGCONT)
    assert stock.recorded(recorder)[-1].outcome == WatchdogTimeout(1.0)


@pytest.mark.parametrize(
    ("prompt", "reason"),
    [
        ("segfault", "SIGSEGV"),
        ("exit:3", 3),
        ("exit:0", 0),
        ("kill:SIGKILL", "SIGKILL"),
        ("kill:SIGTERM", "SIGTERM"),
    ],
)
def test_a_worker_that_dies(stock: Plain, prompt: str, reason: object) -> None:
    """C037: the death of a worker is the turn's error: the signal's name or the exit status; the agent goes
    on.
    """
    agent = stock.start()
    assert agent.reply(Ask(f"hi {prompt}")).error.reason == reason
    assert agent.call(Ask("hi")).terminal.data["turns"] == 1


def test_a_worker_that_dies_idle_is_replaced(stock: Plain) -> None:
    """A worker that is killed between turns costs no turn: its successor has the session."""
    agent = stock.start()
    agent.call(Ask("hi"))
    with Watched(worker_of(agent)) as worker:
        worker.signal(signal.SIGKILL)
        worker.wait(5)
    assert agent.call(Ask("hi")).terminal.data["turns"] == 2


def test_nothing_is_left_of_many_kills(stock: Plain, tmp_path: Path) -> None:
    """A hundred descriptors or zombies would show: after ten kills the agent has what it had before."""
    agent, recorder = stock.start(), stock.recorder()
    counts = []
    for number in range(10):
        meeting = Meeting(tmp_path / str(number))
        ref = agent.submit(f"here:{meeting.path} sleep", recorder)
        meeting.wait()
        assert agent.call(InterruptRequest(ref)) == "accepted"
        agent.call(Ask("hi"))
        counts.append((len(os.listdir(f"/proc/{agent.pid}/fd")), len(children(agent.pid))))
    # Thespian's own connections come and go; a descriptor lost with each kill would be seven.
    assert counts[-1][0] <= counts[2][0] + 3
    assert {zombies for _, zombies in counts} == {1}
