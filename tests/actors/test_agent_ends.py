"""How agents end, on real processes: the session closed, the callbacks run, all gone, everybody told."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest
from thespian.actors import ActorExitRequest

from gen_agent.actors.identity import host
from gen_agent.actors.processes import ProcessId, Watched
from gen_agent.errors import AgentTerminated
from gen_agent.messages import Ask, Drain, GetSnapshot, InterruptRequest, Notify, StopAgent
from gen_agent.values import Caller
from tests.actors import agent_ending as ending
from tests.actors.agent_rig import (
    ON_STOCK_TOO,
    AgentUnderTest,
    Meeting,
    Plain,
)

pytestmark = ON_STOCK_TOO


@pytest.fixture
def diary(tmp_path: Path) -> Path:
    return tmp_path / "diary"


def entries(diary: Path) -> list[str]:
    """What was written, without the pids."""
    return [line.rpartition(" ")[0] for line in diary.read_text().splitlines()]


def started(plain: Plain, diary: Path, **options: object) -> AgentUnderTest:
    """An agent that writes down how it ends."""
    return plain.start(ending.Keeping, diary=str(diary), **options)


def test_a_stop_closes_everything_in_order(plain: Plain, diary: Path) -> None:
    """C047: terminate_agent, then terminate_session in the live worker, then close; all is gone then."""
    agent = started(plain, diary)
    agent.call(Ask("hi"))
    assert agent.call(StopAgent()) is None
    assert not ProcessId(agent.pid, agent.address.incarnation.start_time).alive()
    assert entries(diary) == ["agent ends shutdown", "terminated 1", "closed"]


def test_a_drain_ends_normally(plain: Plain, diary: Path) -> None:
    """C213, C215: drain is answered after the process has ended, and terminate_agent hears "normal"."""
    agent = started(plain, diary)
    assert agent.call(Drain()) is None
    assert not ProcessId(agent.pid, agent.address.incarnation.start_time).alive()
    assert entries(diary) == ["agent ends normal", "terminated 0", "closed"]


@pytest.mark.parametrize("stuck", ["sleep", "c"])
def test_a_busy_agent_stops(plain: Plain, diary: Path, tmp_path: Path, stuck: str) -> None:
    """C049, C109: the worker is killed first, the ask hears agent_terminated, the session ends in another
    process.
    """
    agent, meeting = started(plain, diary), Meeting(tmp_path / "here")
    agent.call(Ask("hi"))
    ask = Ask(f"here:{meeting.path} {stuck}")
    agent.cast(ask)
    worker = ProcessId.of(int(meeting.wait()))
    agent.cast(StopAgent())
    got = plain.system.listen(20)
    assert got.call == ask.call
    assert got.error == AgentTerminated("shutdown")
    assert plain.system.listen(20).result() is None
    assert not worker.alive()
    assert entries(diary) == ["agent ends shutdown", "terminated 1", "closed"]


def test_an_exit_request_does_the_same(plain: Plain, diary: Path) -> None:
    """An agent told to exit by Thespian runs its callbacks and closes its session before it does."""
    agent = started(plain, diary)
    agent.call(Ask("hi"))
    with Watched(agent.pid) as process:
        agent.cast(ActorExitRequest())
        assert process.wait(10)
    assert entries(diary) == ["agent ends shutdown", "terminated 1", "closed"]


def test_a_terminate_that_hangs_is_bounded(plain: Plain, diary: Path) -> None:
    """C048: terminate_session has the rest of shutdown_s, then its process is killed and the agent ends."""
    agent = plain.start(ending.Keeping, ending.HangingAtTheEnd, diary=str(diary), shutdown_s=0.3)
    agent.call(StopAgent())
    assert entries(diary) == ["agent ends shutdown", "terminating"]


def test_a_terminate_that_hangs_in_its_own_process(stock: Plain, diary: Path, tmp_path: Path) -> None:
    """The same where the worker had been killed."""
    meeting = Meeting(tmp_path / "here")
    agent = stock.start(ending.Keeping, ending.HangingAtTheEnd, diary=str(diary), shutdown_s=0.3)
    agent.cast(Ask(f"here:{meeting.path} sleep"))
    meeting.wait()
    agent.call(StopAgent())
    assert entries(diary) == ["agent ends shutdown", "terminating"]


def test_failures_at_the_end_stop_nothing(stock: Plain, diary: Path) -> None:
    """C048: a raising terminate_agent does not keep terminate_session from running, and both not the end."""
    agent = stock.start(ending.FailingAtTheEnd, ending.RaisingAtTheEnd, diary=str(diary))
    assert agent.call(StopAgent()) is None
    assert entries(diary) == ["agent fails", "raising", "closed"]


def test_a_killed_agent_runs_nothing(stock: Plain, diary: Path) -> None:
    """C047: after a kill neither callback has run, and nothing of the agent is left."""
    agent = started(stock, diary)
    agent.call(Ask("hi"))
    with Watched(agent.pid) as process:
        os.kill(agent.pid, signal.SIGKILL)
        assert process.wait(5)
    assert not diary.exists()


def test_a_broken_decision_ends_the_agent(stock: Plain, diary: Path) -> None:
    """C036: a raise in handle_response stops the agent as callback_failed; the termination callbacks run."""
    agent = stock.start(ending.BrokenDecision, diary=str(diary))
    with Watched(agent.pid) as process:
        agent.cast(Ask("hi"))
        assert process.wait(10)
    assert entries(diary) == ["agent ends callback_failed", "terminated 1", "closed"]


def test_the_loss_of_the_supervisor_is_an_orderly_end(plain: Plain, diary: Path) -> None:
    """C014: an agent whose supervisor is gone ends as registry_lost, its session closed."""
    agent = started(plain, diary)
    supervisor = plain.supervisor_pid()
    with Watched(agent.pid) as process:
        os.kill(supervisor, signal.SIGKILL)
        assert process.wait(10)
    assert entries(diary) == ["agent ends registry_lost", "terminated 0", "closed"]


def test_a_child_of_a_callback_is_not_waited_for_too_long(stock: Plain, diary: Path, tmp_path: Path) -> None:
    """An actor that a callback made and that never returns is killed when the agent's time is up."""
    meeting = Meeting(tmp_path / "here")
    agent = stock.start(ending.WithStuckChild, diary=str(diary), meeting=meeting.path, shutdown_s=0.5)
    child = ProcessId.of(int(meeting.wait()))
    # Before anybody else would lose patience with the agent.
    agent.call(StopAgent(), 4.0)
    assert not child.alive()


def test_an_interrupted_agent_still_closes_its_session(stock: Plain, diary: Path, tmp_path: Path) -> None:
    """After an interrupt the successor of the killed worker ends the session."""
    agent, meeting = started(stock, diary), Meeting(tmp_path / "here")
    ref = agent.submit(f"here:{meeting.path} sleep", stock.recorder())
    meeting.wait()
    agent.call(InterruptRequest(ref))
    agent.call(StopAgent())
    assert entries(diary) == ["agent ends shutdown", "terminated 0", "closed"]


def test_a_termination_signal_is_an_orderly_end(plain: Plain, diary: Path) -> None:
    """SIGTERM, which an agent also gets when its parent dies, runs the termination callbacks."""
    agent = started(plain, diary)
    with Watched(agent.pid) as process:
        process.signal(signal.SIGTERM)
        assert process.wait(10)
    assert entries(diary) == ["agent ends shutdown", "terminated 0", "closed"]


def test_a_stuck_callback_does_not_outlive_the_signal_for_long(
    stock: Plain, diary: Path, tmp_path: Path
) -> None:
    """An agent whose callback never returns is ended by the kernel's alarm, and its worker with it."""
    meeting = Meeting(tmp_path / "here")
    agent = stock.start(ending.StuckInCallback, diary=str(diary), meeting=meeting.path)
    worker = ProcessId.of(int(agent.call(Ask("hi")).terminal.data["pid"]))
    agent.cast(Notify("stick"))
    meeting.wait()
    with Watched(agent.pid) as process, Watched(worker) as follower:
        process.signal(signal.SIGTERM)
        assert process.wait(10)
        assert follower.wait(5)


def test_a_dead_callers_queued_ask_is_dropped(plain: Plain, tmp_path: Path) -> None:
    """C108: the queued ask of a process that has died is taken out; the running turn goes on."""
    meeting, program = Meeting(tmp_path / "here"), subprocess.Popen(["sleep", "600"])
    try:
        process = ProcessId.of(program.pid)
        agent = plain.start()
        agent.submit(f"here:{meeting.path} sleep", plain.recorder())
        meeting.wait()
        agent.cast(Ask("hi", caller=Caller(host(), process.pid, process.start_time)))
        assert agent.call(GetSnapshot()).pending_prompts == 1
    finally:
        program.kill()
        program.wait()
    while agent.call(GetSnapshot()).pending_prompts:
        pass
    assert agent.call(GetSnapshot()).phase == "processing"
