"""Plain Thespian systems with agents in them: what the tests of agents and workers stand on."""

from __future__ import annotations

import contextlib
import gc
import os
import random
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from thespian.actors import Actor, ActorAddress, ActorSystem
from thespian.system.transport.TCPTransport import TCPTransport

from gen_agent.actors.agent import AgentActor
from gen_agent.actors.base import GenAgentBase
from gen_agent.actors.identity import this_process
from gen_agent.actors.keys import new_key
from gen_agent.actors.sockets import listener
from gen_agent.actors.transport import GenAgentTransport, transport_class
from gen_agent.client.protocol import SUPERVISOR, SUPERVISOR_CLASS, Hello
from gen_agent.messages import Completion, GetStatus, Reply, StartAgent, Submit
from gen_agent.values import AgentAddress, RequestRef, Status
from tests.actors.agent_cast import Counting, Player

QUIET = {"version": 1, "root": {"handlers": [], "level": "CRITICAL"}}
OWN, STOCK, SIMPLE = "genAgentTCPBase", "multiprocTCPBase", "simpleSystemBase"
BASES = (OWN, STOCK, SIMPLE)
PROCESS_BASES = (OWN, STOCK)

ANSWER_S = 60.0

# The stock base leaves its sockets to the garbage collector, which complains about each.
ON_STOCK_TOO = pytest.mark.filterwarnings("ignore:.*socket.socket:pytest.PytestUnraisableExceptionWarning")


class Recorder(Actor):
    """Keeps what it gets, and tells it once so many completions have come."""

    def __init__(self) -> None:
        self.got: list[Any] = []
        self.waiting: tuple[Any, int] | None = None

    def receiveMessage(self, message: Any, sender: Any) -> None:
        if isinstance(message, tuple) and message[0] == "until":
            self.waiting = (sender, message[1])
        elif type(message).__module__.startswith("gen_agent"):
            self.got.append(message)
        elif message == "pid":
            self.send(sender, os.getpid())
        done = sum(isinstance(one, Completion) for one in self.got)
        if self.waiting is not None and done >= self.waiting[1]:
            self.send(self.waiting[0], tuple(self.got))
            self.waiting = None


class AgentUnderTest:
    """One agent, spoken to with nothing but Thespian."""

    def __init__(self, system: ActorSystem, address: AgentAddress) -> None:
        self.system, self.address = system, address

    @property
    def pid(self) -> int:
        """The agent's process."""
        return self.address.incarnation.pid

    def call(self, message: Any, timeout_s: float = ANSWER_S) -> Any:
        """Send a call and return its value, or raise its error."""
        return self.reply(message, timeout_s).result()

    def reply(self, message: Any, timeout_s: float = ANSWER_S) -> Reply:
        """Send a call and return its reply; what else arrives is dropped."""
        got = self.system.ask(self.address.actor, message, timeout_s)
        while got is not None and not (isinstance(got, Reply) and got.call == message.call):
            got = self.system.listen(timeout_s)
        assert got is not None, f"no reply to {message}"
        return got

    def cast(self, message: Any) -> None:
        """Send a cast."""
        self.system.tell(self.address.actor, message)

    def submit(self, prompt: str, recipient: Any, **more: Any) -> RequestRef:
        """Submit a prompt and return its ref."""
        message = Submit(prompt, recipient, **more)
        self.cast(message)
        return message.ref

    def status(self) -> Status:
        """The agent's status: also a barrier for what was sent before."""
        return self.call(GetStatus())


class Plain:
    """One Thespian system."""

    def __init__(self, system: ActorSystem) -> None:
        self.system = system

    def start(
        self, agent: type = Counting, backend: Any = Player, name: str = "a", **options: Any
    ) -> AgentUnderTest:
        """Start an agent; raises the start's error."""
        address = self.reply_to_start(agent, backend, name, **options).result()
        return AgentUnderTest(self.system, address)

    def reply_to_start(self, agent: type, backend: Any, name: str = "a", **options: Any) -> Reply:
        """Start an agent and return the reply."""
        actor = self.system.createActor(AgentActor)
        return self.system.ask(
            actor, StartAgent(agent, name=name, backend=backend, options=options, caller=this_process()), 30
        )

    def supervisor_pid(self) -> int:
        """The process of this system's supervisor."""
        supervisor = self.system.createActor(SUPERVISOR_CLASS, globalName=SUPERVISOR)
        pid: int = self.system.ask(supervisor, Hello(), ANSWER_S).result().pid
        return pid

    def recorder(self) -> ActorAddress:
        """A recipient."""
        return self.system.createActor(Recorder)

    def process_of(self, recorder: ActorAddress) -> int:
        """Its process."""
        pid: int = self.system.ask(recorder, "pid", ANSWER_S)
        return pid

    def recorded(self, recorder: ActorAddress, completions: int = 1) -> tuple[Any, ...]:
        """What it got, once that many completions have come."""
        got: tuple[Any, ...] = self.system.ask(recorder, ("until", completions), ANSWER_S)
        assert got is not None, "the completions did not come"
        return got


@contextlib.contextmanager
def plain_system(base: str) -> Iterator[Plain]:
    """A system on `base`, ended with everything in it."""
    system = _own() if base == OWN else ActorSystem(base, _port(base), QUIET, transientUnique=True)
    try:
        yield Plain(system)
    finally:
        _shut_down(system)


def _shut_down(system: ActorSystem) -> None:
    transport = getattr(system._systemBase, "transport", None)
    system.shutdown()
    if isinstance(transport, TCPTransport) and not isinstance(transport, GenAgentTransport):
        transport.__dict__.clear()
    gc.collect()


def _own() -> ActorSystem:
    admin = listener("127.0.0.1", 0)
    kind = transport_class(new_key(), admin_socket=admin, guardian_pid=os.getpid())
    base = GenAgentBase(kind, {"Admin Port": admin.getsockname()[1]}, QUIET, start_admin=True)
    admin.close()
    return ActorSystem(base, transientUnique=True)


def _port(base: str) -> dict[str, int]:
    if base == SIMPLE:
        return {}
    # Below the range from which actors get theirs.
    while True:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("", port))
            return {"Admin Port": port}


class Meeting:
    """A named pipe at which a worker says something and the test waits for it."""

    def __init__(self, path: Any) -> None:
        self.path = str(path)
        os.mkfifo(self.path)

    def wait(self) -> str:
        """What was said; waits until somebody has said it."""
        with open(self.path) as pipe:
            return pipe.read()
