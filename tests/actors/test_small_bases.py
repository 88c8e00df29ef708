"""What the small differences between the bases must not change: casts to the busy, calls to the dead, lines
in the log, what a script may ask of a system."""

from __future__ import annotations

import os
import select
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from thespian.actors import ActorSystem

from gen_agent import PENDING, AgentDown, CallTimeout, Event, WorkerCrashed
from gen_agent.actors.system import AgentSystem
from gen_agent.backends.echo import EchoBackend
from gen_agent.backends.scripted import Stage, reply
from gen_agent.values import AgentAddress, RequestRef, mint
from tests.actors.crew import ALL, BASES, Diary, held, running, scripted

LATE_S = 20.0
"""When what was to come at once is late, on any machine; in seconds."""

HASTY_S = 0.8
"""How long a dozen casts may take on a machine that is busy: they wait for nobody."""

CASTS = 300
"""More than a kernel keeps connections for a process that takes none."""

NOT_FOR: dict[str, tuple[str, ...]] = {
    "multiprocTCPBase": ("bind", "key_file"),
    "simpleSystemBase": ("admin_port", "bind", "key_file"),
    "live": ("admin_port", "bind", "key_file", "capabilities", "log_defs"),
}
"""The options of which a system can make no use."""

GIVEN: dict[str, Any] = {
    "admin_port": 7777,
    "bind": "127.0.0.2",
    "key_file": "somewhere.key",
    "capabilities": {"gpu": True},
    "log_defs": {"version": 1},
}

ASKED: dict[str, Callable[[AgentSystem, Any], Any]] = {
    "ask": lambda agents, dead: agents.ask(dead, "x"),
    "tell": lambda agents, dead: agents.tell(dead, "x"),
    "poll": lambda agents, dead: agents.poll(dead, mint.request()),
    "status": lambda agents, dead: agents.status(dead),
    "notify_ack": lambda agents, dead: agents.notify_ack(dead, 1),
    "drain": lambda agents, dead: agents.drain(dead),
}


class Stumbling(EchoBackend):
    """Raises in every turn."""

    def prompt(self, session: Any, prompt: str, turn: Any) -> Iterator[Any]:
        """Raise."""
        raise ValueError


@pytest.fixture(params=ALL)
def agents(request: pytest.FixtureRequest) -> Iterator[AgentSystem]:
    """A system on each base."""
    with running(request.param) as agents:
        yield agents


@pytest.mark.parametrize("end", ["stop", "drain"])
def test_calls_to_the_dead_are_told_so(agents: AgentSystem, end: str) -> None:
    """C211, C215: a call to an agent that has ended is AgentDown with noproc, a drain included, however it
    ended, and under its plain address, too."""
    agent: AgentAddress = agents.start_agent(Diary, name="a", backend="echo")
    getattr(agents, end)(agent)
    for dead in (agent, agent.actor):
        for ask in ASKED.values():
            with pytest.raises(AgentDown) as caught:
                ask(agents, dead)
            assert (caught.value.target, caught.value.reason) == (dead, "noproc")


def until(agents: AgentSystem, fact: Callable[[], bool]) -> None:
    """Wait until something is so that only asking tells."""
    end = time.monotonic() + LATE_S
    while not fact():
        assert time.monotonic() < end, "it never became so"
        assert agents.receive(lambda _: False, timeout=0.01) is None


@pytest.mark.parametrize("base", BASES)
def test_casts_to_a_busy_agent_leave_at_once(base: str) -> None:
    """C103, C125, C195, C205: casts to an agent that is blocked in a callback return at once, to its address
    and to its name, and reach it in order though their sender does nothing more."""
    with Stage() as stage, running(base) as agents, agents.private() as other:
        agent = agents.start_agent(Diary, name="a", backend="echo")
        assert (agents.address, agents.whereis("a")) == (agents.address, agent)
        agents.notify(agent, ("hold", stage.address, "callback"))
        stage.wait_blocked("callback")
        began = time.monotonic()
        for number in range(10):
            agents.notify("a", number)
        agents.submit_with_completion(agent, "x")
        agents.notify(agent, 10)
        agents.halt(agent)
        assert time.monotonic() - began < HASTY_S
        stage.release("callback")
        until(other, lambda: other.status(agent, timeout=LATE_S).halted)
        told = [event for event in other.status(agent).agent_state if isinstance(event, int)]
        assert told == list(range(11))


@pytest.mark.parametrize("base", BASES)
def test_many_casts_to_a_blocked_agent_keep_their_order(base: str) -> None:
    """C239: more casts than a kernel has room for connections are handled in the order they were sent."""
    with Stage() as stage, running(base) as agents:
        agent = agents.start_agent(Diary, name="a", backend="echo")
        agents.notify(agent, ("hold", stage.address, "callback"))
        stage.wait_blocked("callback")
        for number in range(CASTS):
            agents.notify(agent, number)
        stage.release("callback")
        until(agents, lambda: CASTS - 1 in agents.status(agent, timeout=LATE_S).agent_state)
        told = [event for event in agents.status(agent).agent_state if isinstance(event, int)]
        assert told == list(range(CASTS))


@pytest.mark.parametrize("base", BASES)
def test_a_call_comes_after_the_casts_before_it(base: str) -> None:
    """C209: calls and casts to a blocked agent are handled as they were made, also a call given up since."""
    with Stage() as stage, running(base) as agents:
        agent = agents.start_agent(Diary, name="a", backend="echo")
        for turn in range(3):
            agents.notify(agent, ("hold", stage.address, f"callback{turn}"))
            stage.wait_blocked(f"callback{turn}")
            for number in range(5):
                agents.notify(agent, number)
            with pytest.raises(CallTimeout):
                agents.notify_ack(agent, "called", timeout=0.1)
            agents.notify(agent, 5)
            stage.release(f"callback{turn}")
            state = agents.status(agent, timeout=LATE_S).agent_state
            assert state[-7:] == (0, 1, 2, 3, 4, "called", 5)


@pytest.mark.parametrize("base", ALL)
def test_nobody_at_a_plain_address_is_told(base: str) -> None:
    """C196: a request that found nobody at a plain address ends with AgentDown, noproc, a stream's, too."""
    with running(base) as agents:
        agent = agents.start_agent(Diary, name="a", backend="echo")
        assert agents.ask(agent.actor, "x").text == "echo: x"
        agents.stop(agent)
        ref = agents.submit_with_completion(agent.actor, "x")
        stream = agents.stream(agent.actor, "x")
        for ask in (lambda: agents.completion(ref), lambda: next(stream)):
            with pytest.raises(AgentDown) as caught:
                ask()
            assert (caught.value.target, caught.value.reason) == (agent.actor, "noproc")


def _leave(agents: AgentSystem, agent: AgentAddress) -> RequestRef:
    """Leave a stream at its first event, and another while it is queued; the ref of what is queued last."""
    for _ in agents.stream(agent, "running"):
        agents.stream(agent, "queued")
        return agents.tell(agent, "kept")
    raise AssertionError("the stream had no event")


@pytest.mark.parametrize("base", BASES)
def test_a_dropped_stream_is_taken_back(base: str) -> None:
    """C120, C122: the next use of its client ends a stream's request that nobody holds any more: queued or
    running, and no other; nothing of it is kept."""
    with Stage() as stage, running(base) as agents:
        streamed = (Event.text("a"), *held("midway"))
        agent = agents.start_agent(Diary, name="a", **scripted(stage, streamed, held("next"), reply("last")))
        kept = _leave(agents, agent)
        assert agents.poll(agent, kept) is PENDING
        stage.wait_blocked("next")
        stage.release("next")
        until(agents, lambda: agents.poll(agent, kept) is not PENDING)
        assert stage.history() == ("running", "kept")
        assert agents.ask(agent, "more", timeout=LATE_S).text == "last"
        assert agents.receive(timeout=0) is None
        assert not agents._pickup._queues
        assert not agents._pickup._unwanted._left


def test_a_stream_dropped_in_another_thread_sends_nothing_there() -> None:
    """A stream that the collector takes in any thread is left to the next use of its client."""
    with Stage() as stage, running("genAgentTCPBase") as agents:
        agent = agents.start_agent(Diary, name="a", **scripted(stage, held()))
        streams = [agents.stream(agent, "x")]
        stage.wait_blocked("held")
        thread = threading.Thread(target=streams.clear)
        thread.start()
        thread.join()
        with agents.private() as other:
            assert other.runtime_snapshot(agent).current_request is not None
            agents.resume(agent)
            until(other, lambda: other.runtime_snapshot(agent).current_request is None)


@pytest.mark.parametrize("base", BASES)
def test_a_workers_lines_arrive(base: str, tmp_path: Path) -> None:
    """C218, C219: what a worker logs reaches the system's log while that worker lives."""
    os.mkfifo(tmp_path / "log")
    handler = {"class": "logging.FileHandler", "filename": str(tmp_path / "log")}
    loggers = {"gen_agent.worker": {"handlers": ["pipe"], "level": "DEBUG"}}
    log_defs = {"version": 1, "handlers": {"pipe": handler}, "loggers": loggers}
    log = os.open(tmp_path / "log", os.O_RDONLY | os.O_NONBLOCK)
    with os.fdopen(log), running(base, log_defs=log_defs) as agents:
        agents.start_agent(Diary, name="me", backend=Stumbling)
        with pytest.raises(WorkerCrashed):
            agents.ask("me", "x")
        assert select.select([log], [], [], LATE_S)[0]
        line = os.read(log, 4096).decode()
    assert line.startswith(f"agent 'me' ({Diary.__module__}): turn raised ValueError")


@pytest.mark.parametrize(
    ("kind", "option"), [(kind, option) for kind, options in NOT_FOR.items() for option in options]
)
def test_what_a_system_could_only_ignore_is_refused(kind: str, option: str) -> None:
    """An option of which a system can make no use is a ValueError in the caller, by name."""
    system = kind if kind != "live" else ActorSystem.__new__(ActorSystem)
    with pytest.raises(ValueError, match=f"{option}: not for this system: "):
        AgentSystem(system, **{option: GIVEN[option]})


@pytest.mark.parametrize(
    ("option", "value", "error", "allowed"),
    [
        ("admin_port", "x", TypeError, "an int from 1 to 65535 is needed, not str"),
        ("admin_port", True, TypeError, "an int from 1 to 65535 is needed, not bool"),
        ("admin_port", 0, ValueError, "1 to 65535 is allowed, not 0"),
        ("admin_port", 70_000, ValueError, "1 to 65535 is allowed, not 70000"),
        ("bind", 7, TypeError, "an address of this machine is needed, not int"),
        ("bind", None, TypeError, "an address of this machine is needed, not NoneType"),
        ("key_file", b"x", TypeError, "a path or None is needed, not bytes"),
        ("capabilities", ["gpu"], TypeError, "a mapping or None is needed, not list"),
        ("log_defs", "quiet", TypeError, "a mapping or None is needed, not str"),
    ],
)
def test_bad_options_of_a_system_name_what_is_allowed(
    option: str, value: object, error: type[Exception], allowed: str
) -> None:
    """A wrong port, address, path or mapping raises in the caller on every base, before anything is
    started."""
    for base in ALL:
        with pytest.raises(error, match=f"{option}: {allowed}"):
            AgentSystem(base, **{option: value})
