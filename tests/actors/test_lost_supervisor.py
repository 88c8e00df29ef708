"""A supervisor that is killed: its agents end, the system lives on, and the next call makes a new one."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from gen_agent import AgentDown, AgentNotFound
from gen_agent.actors.processes import ProcessId, Watched
from gen_agent.actors.system import AgentSystem
from gen_agent.backends.scripted import Stage, reply
from gen_agent.client.protocol import Hello
from gen_agent.messages import Completion, Down, Reply
from gen_agent.values import AgentAddress
from tests.actors.boss import Boss
from tests.actors.crew import BASES, Diary, held, kill, running, scripted, watched


def supervisor_of(agents: AgentSystem) -> ProcessId:
    """The supervisor's process."""
    who = agents._ask_supervisor(Hello())
    return ProcessId(who.pid, who.start_time)


def kill_supervisor(agents: AgentSystem) -> ProcessId:
    """Kill it, and wait for its end; who it was."""
    supervisor = supervisor_of(agents)
    with Watched(supervisor) as process:
        process.signal(signal.SIGKILL)
        assert process.wait(5.0)
    return supervisor


def downs(agents: AgentSystem, count: int) -> list[Down]:
    """The next so many Downs, whatever else came; no more follow."""
    found = [agents.receive(lambda message: isinstance(message, Down), timeout=20) for _ in range(count)]
    assert agents.receive(lambda message: isinstance(message, Down), timeout=0.1) is None
    return found


@pytest.mark.parametrize("base", BASES)
def test_its_agents_end_orderly_and_the_next_call_makes_a_new_one(base: str, tmp_path: Path) -> None:
    """C014: agents end with registry_lost, callbacks run; names are free, and another agent can have them."""
    mark = tmp_path / "mark"
    with running(base) as agents:
        address = agents.start_agent(Diary, name="a", backend="echo", mark=str(mark))
        with watched(address) as process:
            lost = kill_supervisor(agents)
            assert process.wait(20)
        assert mark.read_text() == "registry_lost"
        assert agents.list() == []
        assert supervisor_of(agents) != lost
        again = agents.start_agent(Diary, name="a", backend="echo")
        assert again != address
        assert agents.ask("a", "hello").text == "echo: hello"
        with pytest.raises(AgentDown):
            agents.status(address)
        assert agents.status(again).agent_state == ("echo: hello",)


@pytest.mark.parametrize("base", BASES)
def test_monitors_get_their_one_down_after_everything_else(base: str) -> None:
    """C014, C255: monitors by name and by address get one Down(registry_lost), after the last completion."""
    with running(base) as agents:
        address = agents.start_agent(Diary, name="a", backend="echo")
        monitors = [agents.monitor("a"), agents.monitor(address)]
        taken_back = agents.monitor(address)
        agents.demonitor(taken_back)
        ref = agents.tell_with_completion(address, "last")
        assert agents.ask(address, "after that").text == "echo: after that"
        kill_supervisor(agents)
        assert isinstance(first := agents.receive(timeout=20), Completion)
        assert first.ref == ref
        found = downs(agents, 2)
        assert {down.monitor for down in found} == set(monitors)
        assert {(down.name, down.reason, down.agent) for down in found} == {("a", "registry_lost", address)}


@pytest.mark.parametrize("base", BASES)
def test_monitors_answer_a_script_that_waits_without_a_limit(base: str) -> None:
    """C255: the Down comes although nobody asks the supervisor for anything."""
    with running(base) as agents:
        address = agents.start_agent(Diary, name="a", backend="echo")
        monitor = agents.monitor(address)
        supervisor_of(agents).signal(signal.SIGKILL)
        down = agents.receive()
        assert (down.monitor, down.reason) == (monitor, "registry_lost")


def test_one_that_still_dies_is_not_asked_again() -> None:
    """C014: when nobody is at the address of a supervisor whose process is still there, the next is asked."""
    with running("genAgentTCPBase") as agents:
        line = agents._line
        lost = kill_supervisor(agents)
        line._watcher.remove("the supervisor")
        line._supervisor_process = ProcessId.of(os.getpid())
        assert agents.list() == []
        assert supervisor_of(agents) != lost


LOST = {"registry_lost", "noproc"}
"""What a call hears that races with the end of its agent, which may be gone before the call comes."""


@pytest.mark.parametrize("base", BASES)
def test_calls_in_flight_end_with_their_agent(base: str) -> None:
    """C014, C109: an ask and a completion that are waited for end with AgentDown(registry_lost)."""
    with Stage() as stage, running(base) as agents, agents.private() as other:
        address = agents.start_agent(Diary, name="a", **scripted(stage, held()))
        ref = other.tell_with_completion("a", "held")
        worker = ProcessId.of(stage.wait_blocked("held"))
        supervisor_of(agents).signal(signal.SIGKILL)
        with pytest.raises(AgentDown) as caught:
            agents.ask(address, "queued", timeout=20)
        assert caught.value.reason in LOST
        assert not worker.alive()
        with pytest.raises(AgentDown) as caught:
            other.completion(ref, timeout=20)
        assert caught.value.reason == "registry_lost"
        with pytest.raises(AgentNotFound):
            other.ask("a", "anybody?")


@pytest.mark.parametrize("base", BASES)
def test_a_client_that_knew_only_an_address_hears_the_same(base: str) -> None:
    """C014: a client that never spoke to the supervisor learns registry_lost from its successor."""
    with Stage() as stage, running(base) as agents, agents.private() as other:
        address = agents.start_agent(Diary, name="a", **scripted(stage, held()))
        ref = other.tell(address, "held")
        stage.wait_blocked("held")
        supervisor_of(agents).signal(signal.SIGKILL)
        with pytest.raises(AgentDown) as caught:
            other.drain(address, timeout=20)
        assert caught.value.reason in LOST
        with pytest.raises(AgentDown):
            other.poll(address, ref)


@pytest.mark.parametrize("base", BASES)
def test_a_stream_ends_with_its_agent(base: str) -> None:
    """C014: a stream gives the events that came and then AgentDown(registry_lost)."""
    with Stage() as stage, running(base) as agents:
        script = (*reply("first")[:1], *held())
        agents.start_agent(Diary, name="a", **scripted(stage, script))
        with agents.stream("a", "go", timeout=20) as stream:
            assert next(iter(stream)).data["text"] == "first"
            stage.wait_blocked("held")
            supervisor_of(agents).signal(signal.SIGKILL)
            with pytest.raises(AgentDown) as caught:
                next(iter(stream))
        assert caught.value.reason == "registry_lost"


@pytest.mark.parametrize("base", BASES)
def test_it_can_be_lost_again_and_again(base: str) -> None:
    """C014: every supervisor's death is survived; a mailbox keeps its address and what is in it."""
    with running(base) as agents:
        mailbox = agents.address
        for number in range(4):
            address = agents.start_agent(Diary, name="a", backend="echo")
            monitor = agents.monitor("a")
            ref = agents.tell_with_completion("a", str(number))
            agents.ask("a", "after that")
            kill_supervisor(agents)
            assert agents.completion(ref, timeout=20).result().text == f"echo: {number}"
            assert [down.monitor for down in downs(agents, 1)] == [monitor]
            assert agents.notify(address, "x") == "not_alive"
        assert agents.address == mailbox


@pytest.mark.parametrize("base", BASES)
def test_an_agent_at_its_last_callback_is_heard_to_the_end(base: str) -> None:
    """C014, C255: who is still at `terminate_agent` has not ended; its name is free, its Down comes after."""
    with Stage() as stage, running(base) as agents:
        address = agents.start_agent(Diary, name="a", backend="echo", hold=(stage.address, "last"))
        monitor = agents.monitor(address)
        kill_supervisor(agents)
        stage.wait_blocked("last")
        late = agents.monitor(address)
        assert agents.start_agent(Diary, name="a", backend="echo") != address
        assert agents.receive(timeout=0.1) is None
        stage.release("last")
        found = downs(agents, 2)
        assert {down.monitor for down in found} == {monitor, late}
        assert {down.reason for down in found} == {"registry_lost"}


def test_an_agent_may_take_as_long_as_it_was_given(tmp_path: Path) -> None:
    """C014, C047: the guardian lets an agent end within its `shutdown_s`, longer than it lets others live."""
    mark = tmp_path / "mark"
    with Stage() as stage, running("genAgentTCPBase") as agents:
        address = agents.start_agent(
            Diary, name="a", backend="echo", hold=(stage.address, "last"), mark=str(mark), shutdown_s=20.0
        )
        with watched(address) as process:
            kill_supervisor(agents)
            stage.wait_blocked("last")
            assert not process.wait(4.0)
            stage.release("last")
            assert process.wait(20)
        assert mark.read_text() == "registry_lost"


def test_close_asks_the_supervisor_there_is(tmp_path: Path) -> None:
    """C047: agents of a later supervisor end in an orderly way when the system is closed."""
    mark = tmp_path / "mark"
    with running("genAgentTCPBase") as agents:
        kill_supervisor(agents)
        agents.start_agent(Diary, name="a", backend="echo", mark=str(mark))
    assert mark.read_text() == "shutdown"


def test_close_right_after_the_loss_lets_agents_finish(tmp_path: Path) -> None:
    """C014: with no supervisor to be asked, agents that end are waited for all the same."""
    mark = tmp_path / "mark"
    with Stage() as stage:
        with running("genAgentTCPBase") as agents:
            agents.start_agent(Diary, name="a", backend="echo", hold=(stage.address, "last"), mark=str(mark))
            kill_supervisor(agents)
            stage.wait_blocked("last")
            release = threading.Timer(0.5, stage.release, ["last"])
            release.start()
        release.join()
    assert mark.read_text() == "registry_lost"


def test_a_start_that_was_under_way_is_over(tmp_path: Path) -> None:
    """C014: a start that loses its supervisor is AgentDown(registry_lost), and its process ends."""
    hanging = tmp_path / "pid"
    with running("genAgentTCPBase") as agents, agents.private() as other:
        supervisor = supervisor_of(other)
        helper = os.fork()
        if helper == 0:
            while not hanging.exists():
                signal.sigtimedwait([], 0.01)
            supervisor.signal(signal.SIGKILL)
            os._exit(0)
        with pytest.raises(AgentDown) as caught:
            agents.start_agent(Diary, name="a", backend="echo", hang=str(hanging), timeout=60)
        assert caught.value.reason == "registry_lost"
        os.waitpid(helper, 0)
        try:
            with Watched(int(hanging.read_text())) as process:
                assert process.wait(5.0)
        except ProcessLookupError:
            pass
        assert agents.start_agent(Diary, name="a", backend="echo").name == "a"


@pytest.mark.parametrize("base", BASES)
def test_an_agent_killed_with_it_is_gone_as_well(base: str) -> None:
    """C014: an agent that dies together with its supervisor leaves no call waiting, and one Down."""
    with Stage() as stage, running(base) as agents, agents.private() as other:
        address = agents.start_agent(Diary, name="a", **scripted(stage, held()))
        monitor = agents.monitor(address)
        other.tell(address, "held")
        stage.wait_blocked("held")
        supervisor = supervisor_of(other)
        supervisor.signal(signal.SIGSTOP)
        kill(address)
        supervisor.signal(signal.SIGKILL)
        with pytest.raises(AgentDown) as caught:
            agents.ask(address, "queued", timeout=20)
        assert caught.value.reason in ("killed", "registry_lost", "noproc")
        (down,) = downs(agents, 1)
        assert (down.monitor, down.reason) == (monitor, "registry_lost")


# ---------------------------------------------------------------- clients inside actors


@pytest.mark.parametrize("base", BASES)
def test_an_actor_hears_of_it_without_asking(base: str) -> None:
    """C014, C104, C255: calls and monitors of an actor end with their agents; what follows works as ever."""
    with Stage() as stage, running(base) as agents, agents.private() as line:
        boss = Boss(line)
        address = agents.start_agent(Diary, name="a", **scripted(stage, held()))
        monitors = {boss.do("monitor", "a"), boss.do("monitor", address)}
        call = boss.do("ask", "a", "held")
        stage.wait_blocked("held")
        supervisor_of(agents).signal(signal.SIGKILL)
        got = [boss.got() for _ in range(3)]
        (answer,) = [message for message in got if isinstance(message, Reply)]
        assert (answer.call, answer.error.reason) == (call, "registry_lost")
        found = [message for message in got if isinstance(message, Down)]
        assert {down.monitor for down in found} == monitors
        assert {(down.name, down.reason) for down in found} == {("a", "registry_lost")}
        boss.do("start_agent", Diary, name="a", backend="echo")
        assert boss.got().result() != address
        boss.do("ask", "a", "hello")
        assert boss.got().result().text == "echo: hello"


@pytest.mark.parametrize("base", BASES)
def test_an_actor_whose_supervisor_has_just_died_finds_the_next(base: str) -> None:
    """C014: a call that is made before anybody has noticed is answered by the next supervisor."""
    with running(base) as agents, agents.private() as other:
        boss = Boss(other)
        boss.do("list")
        assert boss.got().result() == []
        for _ in range(5):
            kill_supervisor(agents)
            boss.do("list")
            assert boss.got().result() == []


# ---------------------------------------------------------------- a name whose holder has just died


# On our base: the stock transport may take long to tell that nobody was there.


def replaced(agents: AgentSystem, other: Any) -> AgentAddress:
    """Kill the holder of "a" and start another one, so that `agents` goes on believing in the first."""
    first = agents.whereis("a")
    kill(first)
    agents._line._book._alive = lambda address: True
    monitor = other.monitor(first)
    other.receive(lambda message: isinstance(message, Down) and message.monitor == monitor, timeout=20)
    return other.start_agent(Diary, name="a", backend="echo")


def test_casts_that_a_dead_holder_never_got_reach_the_current_one() -> None:
    """C239: what was sent under a name in the moment of its holder's death arrives once, in order."""
    with running("genAgentTCPBase") as agents, agents.private() as other:
        agents.start_agent(Diary, name="a", backend="echo")
        agents.notify("a", "before")
        assert agents.status("a").agent_state == ("before",)
        second = replaced(agents, other)
        for number in range(20):
            agents.notify("a", number)
        assert agents.status("a").agent_state == tuple(range(20))
        assert other.status(second).agent_state == tuple(range(20))


def test_a_call_that_a_dead_holder_never_got_reaches_the_current_one() -> None:
    """C104, C239: an ask that found nobody goes once to who has the name now; by address it is AgentDown."""
    with running("genAgentTCPBase") as agents, agents.private() as other:
        first = agents.start_agent(Diary, name="a", backend="echo")
        assert agents.ask("a", "before").text == "echo: before"
        replaced(agents, other)
        assert agents.ask("a", "hello", timeout=20).text == "echo: hello"
        assert agents.status("a").agent_state == ("echo: hello",)
        with pytest.raises(AgentDown):
            agents.ask(first, "you?", timeout=20)
