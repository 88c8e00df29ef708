"""Agents in another system of the convention: placed by requirements, used and ended as those at home."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from gen_agent import Agent, NoReply
from gen_agent.actors.opening import free_port
from gen_agent.actors.processes import ProcessId, Watched, descendants
from gen_agent.actors.system import AgentSystem
from gen_agent.backends.scripted import Stage, gate, reply
from gen_agent.client.protocol import Hello
from gen_agent.errors import AgentDown, Cancelled, InitFailed, Interrupted
from gen_agent.messages import Completion, Down, Reply
from tests.actors.crew import Customer, Diary, held, kill, scripted, watched
from tests.network.machines import write_key
from tests.network.pairs import GPU, pair


def down(system: AgentSystem) -> Down:
    """The next notice of a monitor."""
    found = system.receive(lambda message: isinstance(message, Down), timeout=20)
    assert found is not None
    return found


def all_end(processes: Iterable[ProcessId]) -> bool:
    """Wait until every one of them has ended; whether they all did."""
    with contextlib.ExitStack() as stack:
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                if not stack.enter_context(Watched(process)).wait(10):
                    return False
    return True


class Caller(Agent):
    """Asks another agent what it was told, and keeps the answer."""

    def init_agent(self, options: Any) -> Any:
        """Nothing yet."""
        return {}, ()

    def handle_response(self, ref: Any, response: Any, state: Any) -> Any:
        """Ask the neighbour the same."""
        self.context.client.ask("neighbour", response.text)
        return NoReply(state)

    def handle_info(self, message: Any, sender: Any, state: Any) -> Any:
        """Keep the neighbour's answer."""
        return NoReply((*state, message.result().text) if isinstance(message, Reply) else state)


def test_what_a_script_does_with_an_agent_elsewhere(tmp_path: Path) -> None:
    """C001, C106, C112, C122, C192: start, ask, completion, stream, cancel, interrupt, status and stop work
    across systems.
    """
    with Stage() as stage, pair(tmp_path) as two:
        scripts = (reply("one"), reply("two"), reply("three"), held("held"), reply("five"))
        agent = two.home.start_agent(Diary, name="a", **scripted(stage, *scripts), requirements=GPU)
        assert two.runs_away(agent)
        assert (two.home.list(), two.away.list()) == (["a"], [])
        assert two.home.ask("a", "1").text == "one"
        assert two.home.completion(two.home.tell_with_completion("a", "2"), timeout=20).result().text == "two"
        with two.home.stream("a", "3") as stream:
            assert [event.kind for event in stream][-1] == "result"
        active = two.home.tell_with_completion("a", "4")
        queued = two.home.tell_with_completion("a", "5")
        stage.wait_blocked("held")
        assert two.home.status("a").state == "processing"
        assert two.home.cancel_request(agent, queued) == "cancelled"
        assert two.home.interrupt_request(agent, active) == "accepted"
        outcomes = [two.home.completion(ref, timeout=20).outcome for ref in (queued, active)]
        assert [type(outcome) for outcome in outcomes] == [Cancelled, Interrupted]
        monitor = two.home.monitor("a")
        with watched(agent) as process:
            two.home.stop("a")
            assert process.ended
        assert (down(two.home).monitor, two.home.whereis("a")) == (monitor, None)


def test_what_an_actor_does_with_an_agent_elsewhere(tmp_path: Path) -> None:
    """C206: an actor's client starts, asks, monitors and loses an agent in another system."""
    with pair(tmp_path) as two:
        ours = two.home.actor_system
        customer = ours.createActor(Customer)

        def do(method: str, *arguments: Any, **keywords: Any) -> Any:
            kind, found = ours.ask(customer, ("do", method, arguments, keywords), 10)
            assert kind == "done"
            return found

        def got() -> Any:
            return ours.listen(20)[1]

        do("start_agent", Diary, name="a", backend="echo", requirements=GPU)
        agent = got().result()
        assert two.runs_away(agent)
        do("ask", agent, "hello")
        assert got().result().text == "echo: hello"
        ref = do("submit_with_completion", agent, "later")
        assert {type(got()).__name__, (last := got()).ref} == {"Admission", ref}
        assert isinstance(last, Completion)
        monitor = do("monitor", agent)
        kill(agent)
        assert (found := got()).monitor == monitor
        assert found.reason == "killed"


def test_an_agent_elsewhere_reaches_those_at_home_by_name(tmp_path: Path) -> None:
    """C019: the names an agent knows are those of the system that started it, wherever it runs."""
    with pair(tmp_path) as two:
        two.home.start_agent(Diary, name="neighbour", backend="echo")
        two.home.start_agent(Caller, name="caller", backend="echo", requirements=GPU)
        two.home.ask("caller", "hi")
        two.home.ask("neighbour", "barrier")
        while not (state := two.home.status("caller").agent_state):
            time.sleep(0.02)
        assert state == ("echo: echo: hi",)


def test_an_agent_of_the_other_system(tmp_path: Path) -> None:
    """C255: an agent that the other system started is used and monitored by its address, and its own
    supervisor tells of its end.
    """
    with Stage() as stage, pair(tmp_path) as two:
        agent = two.away.start_agent(Diary, name="a", **scripted(stage, reply("one"), held()))
        assert two.home.ask(agent, "1").text == "one"
        monitor = two.home.monitor(agent)
        assert two.home.receive(lambda message: isinstance(message, Down), timeout=0.2) is None
        two.away.tell("a", "wait")
        stage.wait_blocked("held")
        two.away.stop("a")
        found = down(two.home)
        assert (found.monitor, found.reason) == (monitor, "shutdown")
        two.home.monitor(agent)
        assert down(two.home).reason == "noproc"
        with pytest.raises(AgentDown):
            two.home.ask(agent, "2", timeout=20)


def test_a_kill_elsewhere_is_told_once_to_everybody(tmp_path: Path) -> None:
    """C255: callers get AgentDown, monitors one Down, the name is free, and the next one takes its place."""
    with Stage() as stage, pair(tmp_path) as two:
        agent = two.home.start_agent(Diary, name="a", **scripted(stage, held()), requirements=GPU)
        monitors = {two.home.monitor("a"), two.home.monitor(agent)}
        two.home.tell("a", "wait")
        stage.wait_blocked("held")
        os.kill(agent.incarnation.pid, signal.SIGKILL)
        with pytest.raises(AgentDown) as failure:
            two.home.ask(agent, "never", timeout=20)
        assert failure.value.reason in ("killed", "noproc")
        assert {down(two.home).monitor, down(two.home).monitor} == monitors
        two.home.start_agent(Diary, name="a", backend="echo", requirements=GPU)
        assert two.home.ask("a", "again").text == "echo: again"
        assert two.home.receive(lambda message: isinstance(message, Down), timeout=0) is None


def test_the_other_system_is_killed(tmp_path: Path) -> None:
    """C115: when a whole system dies its agents are down, nothing hangs, and home goes on."""
    with Stage() as stage, pair(tmp_path) as two:
        agent = two.home.start_agent(Diary, name="a", **scripted(stage, held()), requirements=GPU)
        two.home.start_agent(Diary, name="b", backend="echo")
        monitor = two.home.monitor("a")
        guardian = ProcessId.of(two.guardian(two.away))
        two.home.tell("a", "wait")
        stage.wait_blocked("held")
        with watched(agent) as process:
            guardian.signal(signal.SIGKILL)
            assert process.wait(10)
        with pytest.raises(AgentDown):
            two.home.ask(agent, "never", timeout=20)
        found = down(two.home)
        # Its agents see first that nobody watches them any more, and may still say so.
        assert (found.monitor, found.reason in ("killed", "registry_lost")) == (monitor, True)
        assert two.home.ask("b", "still here").text == "echo: still here"


def test_the_other_system_is_closed(tmp_path: Path) -> None:
    """C047, C255: a system that is closed lets the agents of others in it end in an orderly way."""
    with pair(tmp_path) as two:
        mark = tmp_path / "mark"
        agent = two.home.start_agent(Diary, name="a", backend="echo", mark=str(mark), requirements=GPU)
        monitor = two.home.monitor(agent)
        two.away.close()
        assert mark.read_text() == "shutdown"
        found = down(two.home)
        assert (found.monitor, found.reason) == (monitor, "shutdown")
        two.home.start_agent(Diary, name="a", backend="echo")
        assert two.home.ask("a", "home").text == "echo: home"


def test_the_supervisor_at_home_is_killed(tmp_path: Path) -> None:
    """C014: agents elsewhere end with registry_lost when their supervisor dies, and leave nothing there."""
    with pair(tmp_path) as two:
        before = frozenset(descendants(two.guardian(two.away)))
        mark = tmp_path / "mark"
        agent = two.home.start_agent(Diary, name="a", backend="echo", mark=str(mark), requirements=GPU)
        fresh = frozenset(descendants(two.guardian(two.away))) - before
        supervisor = two.home._ask_supervisor(Hello())
        assert agent.incarnation.pid in {one.pid for one in fresh}
        ProcessId(supervisor.pid, supervisor.start_time).signal(signal.SIGKILL)
        assert all_end(fresh)
        assert mark.read_text() == "registry_lost"


def test_nothing_is_left_there_when_the_last_agent_has_gone(tmp_path: Path) -> None:
    """C129: the processes that an agent needed elsewhere go with the last agent that needs them."""
    with pair(tmp_path) as two:
        before = frozenset(descendants(two.guardian(two.away)))
        two.home.start_agent(Diary, name="a", backend="echo", requirements=GPU)
        two.home.start_agent(Diary, name="b", backend="echo", requirements=GPU)
        fresh = frozenset(descendants(two.guardian(two.away))) - before
        two.home.stop("a")
        assert two.home.ask("b", "still here").text == "echo: still here"
        two.home.stop("b")
        assert all_end(fresh)


@pytest.mark.faults
def test_a_start_that_fails_elsewhere(tmp_path: Path) -> None:
    """C018: a start that is refused by the agent itself, or takes too long, leaves nothing and the name
    free.
    """
    with pair(tmp_path) as two:
        before = frozenset(descendants(two.guardian(two.away)))
        with pytest.raises(Exception, match="not today"):
            two.home.start_agent(Diary, name="a", backend="echo", refuse="not today", requirements=GPU)
        hang = tmp_path / "hang"
        with pytest.raises(TimeoutError):
            two.home.start_agent(
                Diary, name="a", backend="echo", hang=str(hang), timeout=1.5, requirements=GPU
            )
        assert not ProcessId(int(hang.read_text()), 0).alive()
        assert two.home.whereis("a") is None
        assert all_end(frozenset(descendants(two.guardian(two.away))) - before)
        two.home.start_agent(Diary, name="a", backend="echo", requirements=GPU)


def test_requirements_that_a_system_by_itself_does_not_meet() -> None:
    """C001: without other systems a requirement that is not met is refused at once, and nothing is left."""
    with AgentSystem(capabilities={"tpu": 4}) as agents:
        begun = time.monotonic()
        with pytest.raises(InitFailed, match="no system that answers has gpu=True"):
            agents.start_agent(Diary, name="a", backend="echo", requirements=GPU)
        assert time.monotonic() - begun < 3
        assert agents.list() == []
        agents.start_agent(Diary, name="a", backend="echo", requirements={"tpu": 4})
        assert agents.ask("a", "here").text == "echo: here"


@pytest.mark.faults
def test_systems_start_in_any_order(tmp_path: Path) -> None:
    """C001: a member finds a leader that starts after it, and the next one on the same port as well."""
    key = write_key(tmp_path / "key")
    leader = {"Convention Address.IPv4": ("127.0.0.1", free_port())}
    with AgentSystem(capabilities={**leader, **GPU}, bind="127.0.0.2", key_file=key) as away:
        for number in range(2):
            with AgentSystem(capabilities=leader, key_file=key) as home:
                home.start_agent(Diary, name="a", backend="echo", requirements=GPU)
                assert home.ask("a", f"{number}").text == f"echo: {number}"
        assert away.list() == []


@pytest.mark.faults
def test_requirements_that_no_member_meets(tmp_path: Path) -> None:
    """C001: with members that may still be joining it takes five seconds; an abandoned start ends sooner."""
    with pair(tmp_path) as two:
        begun = time.monotonic()
        with pytest.raises(InitFailed, match="no system that answers has gpu=7"):
            two.home.start_agent(Diary, name="a", backend="echo", requirements={"gpu": 7})
        assert 4 < time.monotonic() - begun < 8
        with pytest.raises(TimeoutError):
            two.home.start_agent(Diary, name="a", backend="echo", requirements={"gpu": 7}, timeout=0.3)
        two.home.start_agent(Diary, name="a", backend="echo")


@pytest.mark.faults
def test_a_busy_agent_is_not_taken_for_dead(tmp_path: Path) -> None:
    """C023: an agent elsewhere that is blocked in a callback, or in a turn, for longer than beats may be
    missed lives on.
    """
    with Stage() as stage, pair(tmp_path) as two:
        script = (gate("turn", timeout_s=60.0), *reply("at last"))
        agent = two.home.start_agent(Diary, name="a", **scripted(stage, script), requirements=GPU)
        monitor = two.home.monitor(agent)
        ref = two.home.tell_with_completion("a", "long")
        stage.wait_blocked("turn")
        assert two.home.receive(lambda message: isinstance(message, Down), timeout=7.0) is None
        stage.release("turn")
        assert two.home.completion(ref, timeout=20).result().text == "at last"
        two.home.notify("a", ("hold", stage.address, "callback"))
        stage.wait_blocked("callback")
        assert two.home.receive(lambda message: isinstance(message, Down), timeout=7.0) is None
        stage.release("callback")
        assert two.home.status("a", timeout=20).state == "idle"
        two.home.demonitor(monitor)
