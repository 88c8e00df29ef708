"""Using an AgentSystem rightly and wrongly: arguments, threads, interruptions, joining, wrapping, closing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from thespian.actors import ActorSystem, InvalidActorAddress

from gen_agent import AgentDown, SelfStop, Unpicklable
from gen_agent.actors import scripts
from gen_agent.actors.endpoint import ProcessEndpoint
from gen_agent.actors.opening import REFUSED, free_port
from gen_agent.actors.stock import close_properly
from gen_agent.actors.system import AgentSystem
from gen_agent.agent import scoped_name
from gen_agent.backends.scripted import Stage
from gen_agent.messages import Ask, Notify, Reply
from gen_agent.values import mint
from tests.actors.crew import ALL, BASES, Diary, held, running, scripted

ROOT = Path(__file__).resolve().parent.parent.parent

BAD: dict[str, tuple[type[Exception], Callable[[AgentSystem], Any]]] = {
    "target": (TypeError, lambda agents: agents.ask(None, "x")),
    "name": (TypeError, lambda agents: agents.whereis(1.5)),  # type: ignore[arg-type]
    "prompt": (TypeError, lambda agents: agents.ask("a", 42)),  # type: ignore[arg-type]
    "prompt ": (TypeError, lambda agents: agents.stream("a", b"x")),  # type: ignore[arg-type]
    "ref": (TypeError, lambda agents: agents.poll("a", "x")),  # type: ignore[arg-type]
    "ref ": (TypeError, lambda agents: agents.completion("x")),  # type: ignore[arg-type]
    "on_halt": (
        ValueError,
        lambda agents: agents.tell_with_completion("a", "x", on_halt="drop"),  # type: ignore[arg-type]
    ),
    "stream_to": (TypeError, lambda agents: agents.tell_with_completion("a", "x", stream_to="x")),
    "recipient": (TypeError, lambda agents: agents.tell_with_completion("a", "x", "somebody")),
    "address": (TypeError, lambda agents: agents.submit_with_completion("a", "x")),
    "timeout": (ValueError, lambda agents: agents.status("a", timeout=-1)),
    "timeout ": (TypeError, lambda agents: agents.receive(timeout=True)),
    "timeout  ": (
        TypeError,
        lambda agents: agents.start_agent(Diary, name="b", backend="echo", timeout="soon"),  # type: ignore[arg-type]
    ),
    "match": (TypeError, lambda agents: agents.receive("x")),  # type: ignore[arg-type]
    "monitor_ref": (TypeError, lambda agents: agents.demonitor("x")),  # type: ignore[arg-type]
    "address  ": (TypeError, lambda agents: agents.stop("a", "supervisor")),
    "watchdog_s": (
        ValueError,
        lambda agents: agents.start_agent(Diary, name="b", backend="echo", watchdog_s=0),
    ),
    "backend": (TypeError, lambda agents: agents.start_agent(Diary, name="b", backend=7)),  # type: ignore[arg-type]
}


@pytest.fixture(scope="module")
def simple() -> Iterator[AgentSystem]:
    """A system whose one agent must not notice what the tests do wrong."""
    with AgentSystem("simpleSystemBase") as agents:
        agents.start_agent(Diary, name="a", backend="echo")
        yield agents


@pytest.mark.parametrize("what", BAD)
def test_bad_arguments_raise_in_the_caller(what: str, simple: AgentSystem) -> None:
    """C105, C116, C197: each names what is wrong, and neither agent nor directory is touched."""
    error, wrong = BAD[what]
    with pytest.raises(error, match=what.strip()):
        wrong(simple)
    assert simple.list() == ["a"]
    assert simple.status("a").agent_state == ()


def test_required_options_are_required(simple: AgentSystem) -> None:
    """C002: a missing name or backend is a TypeError in the caller; nothing is registered."""
    with pytest.raises(TypeError, match="name"):
        simple.start_agent(Diary, backend="echo")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="backend"):
        simple.start_agent(Diary, name="b")  # type: ignore[call-arg]
    with pytest.raises(Unpicklable):
        simple.start_agent(Diary, name="b", backend="echo", callback=lambda: None)
    assert simple.list() == ["a"]


def test_no_agent_stops_itself_through_a_system(simple: AgentSystem) -> None:
    """C128: a callback that would wait for its own agent's end gets SelfStop."""
    with scoped_name("a"), pytest.raises(SelfStop):
        simple.stop("a")
    assert simple.list() == ["a"]


@pytest.mark.parametrize("base", REFUSED)
def test_bases_that_lose_messages_are_refused(base: str) -> None:
    """UDP and queue bases are refused with the reason, by name and as a live system's base."""
    reason = REFUSED[base].split(",")[0]
    with pytest.raises(ValueError, match=reason):
        AgentSystem(base)
    live = ActorSystem.__new__(ActorSystem)
    live._systemBase = type("ActorSystemBase", (), {"__module__": f"thespian.system.{base}"})()
    with pytest.raises(ValueError, match=reason):
        AgentSystem(live)


def test_other_systems_are_refused() -> None:
    """Unknown names, other types and start methods are refused, naming what is allowed."""
    with pytest.raises(ValueError, match="genAgentTCPBase"):
        AgentSystem("noSuchBase")
    with pytest.raises(TypeError, match="ActorSystem"):
        AgentSystem(7)
    for base in ALL:
        with pytest.raises(ValueError, match="fork"):
            AgentSystem(base, capabilities={"Process Startup Method": "spawn"})


def test_no_system_while_a_script_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """AgentSystem() at a script's top level, loaded in an agent, says: use the __main__ guard."""
    monkeypatch.setattr(scripts._Here, "loading", True)
    with pytest.raises(RuntimeError, match="__main__"):
        AgentSystem("simpleSystemBase")
    with pytest.raises(RuntimeError, match="__main__"):
        AgentSystem.attach(1)


@pytest.mark.parametrize("base", ALL)
def test_a_closed_system_is_closed(base: str) -> None:
    """close() is idempotent; any later use is a RuntimeError."""
    agents = AgentSystem(base)
    agents.start_agent(Diary, name="a", backend="echo")
    agents.close()
    agents.close()
    for use in (
        agents.list,
        lambda: agents.ask("a", "x"),
        lambda: agents.interrupt("a"),
        lambda: agents.address,
    ):
        with pytest.raises(RuntimeError, match="closed"):
            use()
    with pytest.raises(RuntimeError, match="closed"), agents.private():
        pass


@pytest.mark.parametrize("base", BASES)
def test_one_thread_at_a_time(base: str) -> None:
    """A second thread gets RuntimeError while the first waits, and its own client by private()."""
    with Stage() as stage, running(base) as agents:
        address = agents.start_agent(Diary, name="a", **scripted(stage, held()))
        answers: list[Any] = []
        thread = threading.Thread(target=lambda: answers.append(agents.ask(address, "x", timeout=30).text))
        thread.start()
        stage.wait_blocked("held")
        with pytest.raises(RuntimeError, match="private"):
            agents.list()
        with agents.private() as mine:
            assert mine.list() == ["a"]
            stage.release("held")
            thread.join(30)
        assert answers == ["done"]
        assert agents.list() == ["a"]


@pytest.mark.parametrize("base", BASES)
def test_threads_with_private_clients_do_not_mix(base: str) -> None:
    """Each of four threads gets its own answers, streams and mailbox."""
    with running(base) as agents:
        agents.start_agent(Diary, name="a", backend="echo")
        answers: dict[int, list[str]] = {}

        def work(number: int) -> None:
            with agents.private() as mine:
                asked = [mine.ask("a", f"{number} {turn}").text for turn in range(5)]
                ref = mine.tell_with_completion("a", f"{number} told")
                answers[number] = [*asked, mine.completion(ref, timeout=30).result().text]

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert answers == {
            number: [*(f"echo: {number} {turn}" for turn in range(5)), f"echo: {number} told"]
            for number in range(4)
        }


@pytest.mark.parametrize("base", BASES)
def test_ctrl_c_costs_the_endpoint_and_nothing_else(base: str) -> None:
    """A KeyboardInterrupt in a blocking call comes out of it; the next calls get their own answers."""
    with Stage() as stage, running(base) as agents:
        address = agents.start_agent(Diary, name="a", **scripted(stage, held(), held("second", "two")))
        before = agents._line.endpoint
        interrupter = threading.Thread(target=lambda: _interrupt_main(stage))
        interrupter.start()
        with pytest.raises(KeyboardInterrupt):
            agents.ask(address, "first")
        interrupter.join()
        assert agents._line.endpoint is not before
        agents.notify(address, "kept")
        stage.release("held")
        ref = agents.tell_with_completion(address, "second")
        stage.release("second")
        assert agents.completion(ref, timeout=30).result().text == "two"
        assert agents.status(address).agent_state == ("done", "kept", "two") or agents.status(
            address
        ).agent_state == ("kept", "done", "two")


def _interrupt_main(stage: Stage) -> None:
    stage.wait_blocked("held")
    os.kill(os.getpid(), signal.SIGINT)


def test_a_system_is_for_its_own_process() -> None:
    """A fork of the script can't use the parent's system, and leaves it alone."""
    with running("genAgentTCPBase") as agents:
        agents.start_agent(Diary, name="a", backend="echo")
        pid = os.fork()
        if pid == 0:
            try:
                agents.list()
            except RuntimeError as error:
                os._exit(0 if "attach" in str(error) else 2)
            os._exit(1)
        assert os.waitpid(pid, 0)[1] == 0
        assert agents.ask("a", "x").text == "echo: x"


ATTACHED = """
import sys
from gen_agent.actors.system import AgentSystem
with AgentSystem.attach(int(sys.argv[1])) as agents:
    print(agents.list(), agents.ask("a", "from outside").text)
    agents.tell_with_completion("a", "one more")
    print(agents.receive(timeout=20).result().text)
"""


def test_another_script_attaches() -> None:
    """attach(port) joins a running system with the user's key file; its agents live on afterwards."""
    with running("genAgentTCPBase") as agents:
        agents.start_agent(Diary, name="a", backend="echo")
        port = agents.admin_port
        done = subprocess.run(
            [sys.executable, "-c", ATTACHED, str(port)], cwd=ROOT, capture_output=True, text=True, timeout=60
        )
        assert done.stderr == ""
        assert done.stdout == "['a'] echo: from outside\necho: one more\n"
        assert agents.status("a").agent_state == ("echo: from outside", "echo: one more")


def test_attaching_to_nothing_says_what_is_missing(tmp_path: Path) -> None:
    """No key file, a wrong key, no system: each is an error of its own, at once."""
    with pytest.raises(FileNotFoundError, match="key file"):
        AgentSystem.attach(1)
    with pytest.raises(TypeError, match="admin_port"):
        AgentSystem.attach("1")  # type: ignore[arg-type]
    wrong = tmp_path / "key"
    wrong.write_text("ab" * 32 + "\n")
    wrong.chmod(0o600)
    with running("genAgentTCPBase") as agents, pytest.raises(InvalidActorAddress, match="another key"):
        AgentSystem.attach(agents.admin_port, key_file=str(wrong))


@pytest.mark.parametrize("base", ["multiprocTCPBase", "simpleSystemBase"])
def test_the_callers_own_system_lives_on(base: str) -> None:
    """A wrapped ActorSystem keeps its own messages, and its agents, when the client is closed."""
    capabilities = {"Admin Port": free_port()} if base == "multiprocTCPBase" else {}
    system = ActorSystem(base, capabilities, logDefs={"version": 1}, transientUnique=True)
    if base == "multiprocTCPBase":
        close_properly(system._systemBase.transport)
    try:
        with AgentSystem(system) as agents:
            address = agents.start_agent(Diary, name="a", backend="echo")
            assert agents.ask("a", "x").text == "echo: x"
            reply = system.ask(address.actor, Ask("plain"), 20)
            assert isinstance(reply, Reply)
            assert reply.result().text == "echo: plain"
        with AgentSystem(system) as agents:
            assert agents.whereis("a") == address
            agents.stop("a")
            with pytest.raises(AgentDown):
                agents.poll(address, mint.request())
    finally:
        _end(system)


def _end(system: ActorSystem) -> None:
    system.shutdown()


def test_an_endpoint_can_be_broken_off_on_any_base() -> None:
    """The stock transport is mended after an exception in its loop: what was posted still leaves."""
    with running("multiprocTCPBase") as agents:
        address = agents.start_agent(Diary, name="a", backend="echo")
        endpoint = agents._line.endpoint
        assert isinstance(endpoint, ProcessEndpoint)
        endpoint._base._tx_to_actor(address.actor, Notify("posted"))
        endpoint._base.transport._aTB_processing = True
        agents._line._replace()
        assert agents._line.flush(10)
        while not agents.status(address).agent_state:
            assert agents.receive(timeout=0.05) is None
        assert agents.status(address).agent_state == ("posted",)
