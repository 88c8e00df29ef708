"""A real second machine: a network, a host name and a table of processes of its own, and a cable to pull."""

from __future__ import annotations

import pickle
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from gen_agent.actors.opening import free_port
from gen_agent.actors.processes import descendants
from gen_agent.actors.system import AgentSystem
from gen_agent.errors import AgentDown
from gen_agent.messages import Down
from tests.actors.crew import Diary
from tests.network.machines import ROOT, Machine, Resident, can_have_machines, machine, resident, write_key

pytestmark = [
    pytest.mark.faults,
    pytest.mark.skipif(not can_have_machines(), reason="needs root and a kernel that makes networks"),
]

GPU = {"gpu": True}
DEAD_S = 12.0
"""How long it may take at most until a machine that has vanished is given up, in seconds."""


@attrs.frozen
class Net:
    """The leader here, a member on the other machine, and the cable."""

    home: AgentSystem
    member: Resident
    machine: Machine
    key: str
    leader: tuple[str, int]


@pytest.fixture
def net(tmp_path: Path) -> Iterator[Net]:
    """Two machines with a system each."""
    key = write_key(tmp_path / "key")
    with machine() as other:
        leader = (other.here, free_port())
        capabilities = {"Convention Address.IPv4": leader}
        options = {"capabilities": {**capabilities, **GPU}, "bind": other.there, "key_file": key}
        with (
            AgentSystem(capabilities=capabilities, bind=other.here, key_file=key) as home,
            resident(options, inside=other.inside) as member,
        ):
            yield Net(home, member, other, key, leader)
            other.plug()


def down(agents: AgentSystem) -> Down:
    """The next notice of a monitor."""
    found = agents.receive(lambda message: isinstance(message, Down), timeout=20)
    assert found is not None
    return found


def test_two_machines(net: Net) -> None:
    """C001, C106, C129: an agent runs on the machine that has what it requires, and works as one at home."""
    agent = net.home.start_agent(Diary, name="a", backend="echo", requirements=GPU)
    assert agent.incarnation.host == net.machine.name
    assert net.home.ask("a", "hello").text == "echo: hello"
    ref = net.home.tell_with_completion(agent, "later")
    assert net.home.completion(ref, timeout=20).result().text == "echo: later"
    with net.home.stream("a", "roses") as stream:
        assert [event.kind for event in stream][-1] == "result"
    assert net.home.notify(agent, "event") == "ok"
    assert net.home.status(agent).agent_state[-1] == "event"
    monitor = net.home.monitor(agent)
    net.home.stop("a")
    assert (found := down(net.home)).monitor == monitor
    assert found.reason == "shutdown"
    assert net.home.notify(agent, "event") in ("ok", "not_alive")


def test_the_cable_is_pulled(net: Net) -> None:
    """C115, C255: a machine that vanishes is noticed in seconds: callers get AgentDown, each monitor one
    Down, and home works on.
    """
    agent = net.home.start_agent(Diary, name="a", backend="echo", requirements=GPU)
    net.home.start_agent(Diary, name="b", backend="echo")
    monitors = [net.home.monitor("a"), net.home.monitor(agent)]
    net.machine.pull()
    begun = time.monotonic()
    with pytest.raises(AgentDown) as failure:
        net.home.ask(agent, "never", timeout=30)
    assert failure.value.reason == "unreachable"
    assert time.monotonic() - begun < DEAD_S
    found = [down(net.home), down(net.home)]
    assert [one.monitor for one in found] == monitors
    assert {one.reason for one in found} == {"unreachable"}
    assert net.home.receive(lambda message: isinstance(message, Down), timeout=0) is None
    assert (net.home.list(), net.home.ask("b", "here").text) == (["b"], "echo: here")
    assert net.home.notify(agent, "event") == "not_alive"
    net.home.start_agent(Diary, name="a", backend="echo")
    begun = time.monotonic()
    net.home.close()
    assert time.monotonic() - begun < 3


def test_agents_cut_off_end_on_their_side(net: Net) -> None:
    """C014: agents whose supervisor's machine has vanished end there, and a new cable finds none of them."""
    before = frozenset(descendants(net.member.process.pid))
    net.home.start_agent(Diary, name="a", backend="echo", requirements=GPU)
    there = frozenset(descendants(net.member.process.pid)) - before
    assert there
    net.machine.pull()
    until = time.monotonic() + DEAD_S
    while (left := there & frozenset(descendants(net.member.process.pid))) and time.monotonic() < until:
        time.sleep(0.1)
    assert left == frozenset()
    net.machine.plug()
    net.home.start_agent(Diary, name="c", backend="echo", requirements=GPU, timeout=60)
    assert net.home.ask("c", "again").text == "echo: again"


def test_a_cable_that_is_put_in_again_soon(net: Net) -> None:
    """C115: a gap of two seconds is none: what was sent meanwhile arrives, and nobody is down."""
    net.home.start_agent(Diary, name="a", backend="echo", requirements=GPU)
    net.home.monitor("a")
    net.home.ask("a", "first")
    net.machine.pull()
    ref = net.home.submit_with_completion(net.home.whereis("a"), "meanwhile")
    assert net.home.receive(lambda message: isinstance(message, Down), timeout=2.0) is None
    net.machine.plug()
    assert net.home.completion(ref, timeout=30).result().text == "echo: meanwhile"
    assert net.home.receive(lambda message: isinstance(message, Down), timeout=0) is None


def test_an_agent_that_the_other_machine_started(net: Net) -> None:
    """C206, C255: it is used by its address; its death is told by its own supervisor, across the cable."""
    agent = pickle.loads(bytes.fromhex(net.member.tell("start", "theirs")))
    assert net.home.ask(agent, "hello", timeout=20).text == "echo: hello"
    monitor = net.home.monitor(agent)
    assert net.home.receive(lambda message: isinstance(message, Down), timeout=0.5) is None
    assert net.home.ask(agent, "again", timeout=20).text == "echo: again"
    net.member.tell("kill", agent.incarnation.pid)
    assert (found := down(net.home)).monitor == monitor
    assert found.reason == "killed"
    with pytest.raises(AgentDown):
        net.home.ask(agent, "never", timeout=20)


VISITOR = """
import sys, time
from gen_agent import AgentDown, AgentSystem
host, port, key = sys.argv[1:]
with AgentSystem.attach(int(port), host=host, key_file=key) as agents:
    print(agents.ask("a", "from afar").text, flush=True)
    sys.stdin.readline()
    begun = time.monotonic()
    try:
        agents.ask("a", "hold")
    except AgentDown as error:
        print(error.reason, time.monotonic() - begun < 12, flush=True)
"""


def test_a_script_that_joined_from_another_machine(net: Net) -> None:
    """C106: a script on another machine works with the agents of this one; its calls end when it is cut
    off.
    """
    net.home.start_agent(Diary, name="a", backend="echo")
    host, port = net.leader
    visitor = subprocess.Popen(
        [*net.machine.inside, sys.executable, "-c", VISITOR, host, str(port), net.key],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    said: Any = visitor.stdout
    with visitor, said:
        try:
            assert said.readline() == "echo: from afar\n"
            net.machine.pull()
            assert visitor.stdin is not None
            visitor.stdin.write("go\n")
            visitor.stdin.flush()
            assert said.readline() == "unreachable True\n"
            assert visitor.wait(20) == 0
        finally:
            visitor.kill()
    net.machine.plug()
