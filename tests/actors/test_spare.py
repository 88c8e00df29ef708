"""The process that is forked ahead of an agent's start: when there is one, and how it ends."""

from __future__ import annotations

import contextlib
import itertools
import signal
import subprocess
from collections.abc import Hashable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from gen_agent.actors import spare as module
from gen_agent.actors.children import CannotCreate, Child
from gen_agent.actors.processes import ProcessId, Watched, children, parent_of
from gen_agent.actors.spare import CROWD, CROWD_S, Spare
from gen_agent.actors.system import AgentSystem
from gen_agent.values import AgentAddress
from tests.actors.crew import Diary
from tests.actors.scenes import in_fork

PATIENCE_S = 60.0


class Host:
    """An actor's deadlines, which come when the test says so, at a time that the test says."""

    def __init__(self, *, at_once: bool = True) -> None:
        self.has_processes, self.sends_at_once = True, at_once
        self.due: set[Hashable] = set()
        self.now = 100.0

    def set_deadline(self, key: Hashable, seconds: float) -> None:
        """Keep it."""
        self.due.add(key)

    def clear_deadline(self, key: Hashable) -> None:
        """Drop it."""
        self.due.discard(key)

    def pass_deadlines(self, spare: Spare) -> None:
        """All that is due now is."""
        due, self.due = self.due, set()
        for key in due:
            spare.on_deadline(key)

    def start(self, spare: Spare, after_s: float) -> None:
        """A child was started after that time."""
        self.now += after_s
        spare.expect_more()
        self.pass_deadlines(spare)

    def crowd(self, spare: Spare) -> None:
        """As many starts as announce another."""
        for _ in range(CROWD):
            self.start(spare, 0.0)


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Host:
    """A host whose time is the spare's."""
    made = Host()
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: made.now))
    return made


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    """A process that waits for its end."""
    with subprocess.Popen(["sleep", "600"]) as made:
        yield made
        made.kill()


def child_of(process: Any) -> Child:
    """It, as a child."""
    return Child("somebody", ProcessId.of(process.pid))


def test_only_a_crowd_has_a_spare(host: Host, process: Any) -> None:
    """A few starts make none, nor do many that are far apart; enough in a row make one, taken once."""
    spare = Spare(host, lambda: child_of(process))  # type: ignore[arg-type]
    for _ in range(CROWD):
        host.start(spare, CROWD_S)
    for _ in range(CROWD - 2):
        host.start(spare, CROWD_S / 2)
    assert spare.take() is None
    host.start(spare, CROWD_S / 2)
    taken = spare.take()
    assert taken is not None
    assert taken.process == ProcessId.of(process.pid)
    assert spare.take() is None
    assert process.poll() is None


def test_a_spare_that_nobody_takes_ends(host: Host, process: Any) -> None:
    """When its time is over it is killed, and not given to anybody."""
    spare = Spare(host, lambda: child_of(process))  # type: ignore[arg-type]
    host.crowd(spare)
    host.pass_deadlines(spare)
    assert process.wait(PATIENCE_S) == -signal.SIGKILL
    assert spare.take() is None


def test_a_dead_spare_is_not_given_out(host: Host, process: Any) -> None:
    """What died while it waited is no agent's process: a fresh one is forked."""
    spare = Spare(host, lambda: child_of(process))  # type: ignore[arg-type]
    host.crowd(spare)
    process.kill()
    process.wait()
    assert spare.take() is None


def test_where_no_spare_can_be_had_there_is_none(host: Host, caplog: pytest.LogCaptureFixture) -> None:
    """A fork that fails is logged, and is nobody's failure; where sends wait for the loop none is made."""

    def fail() -> Child:
        raise CannotCreate("no")

    spare = Spare(host, fail)  # type: ignore[arg-type]
    host.crowd(spare)
    assert spare.take() is None
    assert "CannotCreate" in caplog.text
    host.sends_at_once = False
    host.start(spare, 0.0)
    assert len(caplog.records) == 1


class Crowd:
    """Agents that are started, and what is beside them below their nursery."""

    def __init__(self, agents: AgentSystem) -> None:
        self.agents, self.names = agents, itertools.count()
        self.started: dict[ProcessId, AgentAddress] = {}

    def start(self) -> ProcessId:
        """One more; its process."""
        name = next(self.names)
        assert name < 100, "no spare was made, or taken"
        with self.agents.private() as client:
            address = client.start_agent(Diary, name=name, backend="echo")
        who = ProcessId(address.incarnation.pid, address.incarnation.start_time)
        self.started[who] = address
        return who

    def rush(self) -> ProcessId:
        """Many more at the same time: however long each takes, their nursery has them in a row."""
        with ThreadPoolExecutor(CROWD) as pool:
            return [*pool.map(lambda _: self.start(), range(CROWD))][0]

    def spare(self) -> tuple[ProcessId, Watched]:
        """Start agents until there is a spare: the nursery's process and the spare's, which may have ended
        again by now.
        """
        while True:
            nursery = ProcessId.of(parent_of(self.rush().pid))
            for child in children(nursery.pid):
                if child not in self.started:
                    with contextlib.suppress(ProcessLookupError):
                        return nursery, Watched(child)


def test_the_next_agent_is_the_spare() -> None:
    """In a crowd an agent begins in a process that is there already, and is an agent like any other."""
    with AgentSystem() as agents:
        crowd = Crowd(agents)
        spare = None
        while spare is None or spare != crowd.start():
            # Again, if it had ended before it was needed.
            with crowd.spare()[1] as watched:
                spare = watched.identity
        agent = crowd.started[spare]
        assert agents.ask(agent, "hello", timeout=PATIENCE_S).text == "echo: hello"
        monitor = agents.monitor(agent)
        agents.stop(agent, timeout=PATIENCE_S)
        down = agents.receive(timeout=PATIENCE_S)
        assert (down.monitor, down.reason) == (monitor, "shutdown")
        assert not spare.alive()


def test_a_spare_dies_with_its_nursery() -> None:
    """A spare does not outlive its nursery, however that ends."""

    def scene() -> bool:
        with AgentSystem() as agents:
            nursery, spare = Crowd(agents).spare()
            with spare:
                nursery.signal(signal.SIGKILL)
                return spare.wait(PATIENCE_S)

    assert in_fork(scene)


def test_a_killed_spare_is_not_missed() -> None:
    """Where the spare was killed the next agent starts all the same."""

    def scene() -> str:
        with AgentSystem() as agents:
            _, spare = Crowd(agents).spare()
            with spare:
                spare.identity.signal(signal.SIGKILL)
                assert spare.wait(PATIENCE_S)
            agents.start_agent(Diary, name="next", backend="echo")
            text: str = agents.ask("next", "hello", timeout=PATIENCE_S).text
            return text

    assert in_fork(scene) == "echo: hello"


def test_an_idle_nursery_loses_its_spare() -> None:
    """A spare is gone soon after the last start, and its nursery goes on."""
    with AgentSystem() as agents:
        nursery, spare = Crowd(agents).spare()
        with spare:
            assert spare.wait(PATIENCE_S)
        who = agents.start_agent(Diary, name="next", backend="echo").incarnation
        assert parent_of(who.pid) == nursery.pid
