"""What the small differences between the bases must not change: casts to the busy, calls to the dead, lines
in the log, what a script may ask of a system."""

from __future__ import annotations

import os
import select
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from thespian.actors import ActorSystem

from gen_agent import AgentDown, WorkerCrashed
from gen_agent.actors.system import AgentSystem
from gen_agent.backends.echo import EchoBackend
from gen_agent.values import AgentAddress, mint
from tests.actors.crew import ALL, BASES, Diary, running

LATE_S = 20.0
"""When what was to come at once is late, on any machine; in seconds."""

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
