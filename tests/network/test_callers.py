"""Asks that wait for a caller on another machine: they go when it ends, and not before."""

from __future__ import annotations

import contextlib
import errno
import signal
import socket
import subprocess
import sys
from collections.abc import Hashable, Iterator
from pathlib import Path

import pytest
from thespian.actors import ActorAddress
from thespian.system.transport.IPBase import TCPv4ActorAddress

from gen_agent.actors.callers import FarCaller, FarCallers, watchable
from gen_agent.actors.identity import this_process
from gen_agent.actors.opening import free_port
from gen_agent.actors.processes import descendants
from gen_agent.actors.system import AgentSystem
from gen_agent.actors.watching import Watcher
from gen_agent.backends.scripted import Stage, gate, reply
from gen_agent.messages import Ask
from gen_agent.values import Caller
from gen_agent.wire import changed
from tests.actors.crew import Diary, held, scripted
from tests.network.machines import ROOT, Machine, can_have_machines, machine, write_key

LONG = (gate("held", timeout_s=110.0), *reply("done"))
"""A turn that is held for longer than anything here is waited for."""


class Keeper:
    """Stands in for an actor: what it watches, and when it wants to come back."""

    def __init__(self) -> None:
        self.watcher = Watcher()
        self.died: list[FarCaller] = []
        self.deadlines: set[Hashable] = set()
        self.callers = FarCallers(self, self.died.append)

    def set_deadline(self, key: Hashable, seconds: float) -> None:
        """Note it."""
        self.deadlines.add(key)

    def clear_deadline(self, key: Hashable) -> None:
        """Forget it."""
        self.deadlines.discard(key)

    def wait(self, caller: FarCaller) -> None:
        """Wait for the end of its connection, and deal with it; then let the time pass."""
        while caller in self.watcher:
            assert self.watcher.wait_for((caller,), 20.0)
            self.callers.over(caller)
        if caller in self.deadlines:
            self.deadlines.discard(caller)
            self.callers.call(caller)


@pytest.fixture
def keeper() -> Iterator[Keeper]:
    """One who watches callers."""
    keeper = Keeper()
    yield keeper
    with contextlib.closing(keeper.watcher._epoll):
        assert len(keeper.watcher) == 0


def caller_at(door: socket.socket) -> FarCaller:
    """Who listens there."""
    return FarCaller("elsewhere", 1, 1, door.getsockname())


def test_who_listens_is_there(keeper: Keeper) -> None:
    """C108: a far caller that takes a connection and drops it is asked again, for ever; once nobody listens
    it is gone, which is told once."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        caller = caller_at(door)
        keeper.callers.call(caller)
        for _ in range(3):
            door.accept()[0].close()
            keeper.wait(caller)
            assert keeper.died == []
    while caller in keeper.watcher or caller in keeper.deadlines:
        keeper.wait(caller)
    assert keeper.died == [caller]


def test_nobody_waits_any_more(keeper: Keeper) -> None:
    """C108: the connection to a far caller of whom nothing waits is closed, and nothing is told."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        caller = caller_at(door)
        keeper.callers.call(caller)
        guest, _ = door.accept()
        keeper.callers.forget(caller)
        with guest:
            assert guest.recv(1) == b""
    assert (keeper.died, keeper.deadlines) == ([], set())


def test_one_silence_is_not_the_end(keeper: Keeper) -> None:
    """C108: a far machine that can't be reached is tried again; when it can't twice in a row, its callers are
    gone."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        caller = caller_at(door)
        for error in (errno.ETIMEDOUT, 0, errno.EHOSTUNREACH, errno.ETIMEDOUT):
            assert keeper.died == []
            keeper.callers._ended(caller, error)
    assert keeper.died == [caller]


def test_who_is_watched_how() -> None:
    """C108: a caller of this machine is a process, one of another also a place; without a place it is itself.
    """
    here, far = this_process(), Caller("elsewhere", 1, 1)
    sender = ActorAddress(TCPv4ActorAddress("127.0.0.1", 9, external=True))
    assert watchable(None, sender) is None
    assert watchable(here, sender) == here
    assert watchable(far, None) == far
    assert watchable(far, sender) == FarCaller("elsewhere", 1, 1, ("127.0.0.1", 9))


def until(agents: AgentSystem, waiting: int) -> None:
    """So many prompts wait."""
    for _ in range(4_000):
        if agents.runtime_snapshot("a").pending_prompts == waiting:
            return
        assert agents.receive(lambda _: False, timeout=0.01) is None
    raise AssertionError(f"not {waiting} prompts wait")


def test_an_agent_drops_the_ask_of_a_far_caller_that_is_gone() -> None:
    """C108: a queued ask of another machine's process goes when nobody listens any more where its answer is
    to go.
    """
    with AgentSystem() as home, Stage() as stage:
        agent = home.start_agent(Diary, name="a", **scripted(stage, LONG))
        home.tell("a", "held")
        stage.wait_blocked("held")
        with home.private() as other:
            far = changed(Ask("waits"), caller=Caller("elsewhere", 1, 1))
            other._line.endpoint.post(agent.actor, far)
            until(home, 1)
        until(home, 0)


ASKER = """
import sys
from gen_agent import AgentSystem
host, port, key = sys.argv[1:]
with AgentSystem.attach(int(port), host=host, key_file=key) as agents:
    print("asks", flush=True)
    print(agents.ask("a", "waits").text, flush=True)
"""


def end_of(process: subprocess.Popen[str]) -> None:
    """Kill the script inside, and wait for what stands around it."""
    for inner in descendants(process.pid):
        inner.signal(signal.SIGKILL)
    process.wait(20)


@contextlib.contextmanager
def asker(where: Machine, port: int, key: str) -> Iterator[subprocess.Popen[str]]:
    """A script on another machine that asks "a"."""
    script = [*where.inside, sys.executable, "-c", ASKER, where.here, str(port), key]
    with subprocess.Popen(script, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "asks\n"
            yield process
        finally:
            end_of(process)


@pytest.mark.faults
@pytest.mark.skipif(not can_have_machines(), reason="needs root and a kernel that makes networks")
@pytest.mark.parametrize("end", ["killed", "cut off"])
def test_a_script_on_another_machine_ends_with_its_queued_ask(end: str, tmp_path: Path) -> None:
    """C108: a queued ask of a script on another machine is dropped when the script is killed or its machine
    vanishes; one whose script lives runs.
    """
    key = write_key(tmp_path / "key")
    with (
        machine() as other,
        AgentSystem(bind=other.here, key_file=key, admin_port=free_port()) as home,
        Stage() as stage,
    ):
        assert home.admin_port is not None
        home.start_agent(Diary, name="a", **scripted(stage, LONG, held("again", "again")))
        home.tell("a", "held")
        stage.wait_blocked("held")
        with asker(other, home.admin_port, key) as first, asker(other, home.admin_port, key) as second:
            until(home, 2)
            if end == "killed":
                end_of(second)
                until(home, 1)
                stage.release("held")
                stage.wait_blocked("again")
                stage.release("again")
                assert first.stdout is not None
                assert first.stdout.readline() == "again\n"
            else:
                other.pull()
                until(home, 0)
                other.plug()
