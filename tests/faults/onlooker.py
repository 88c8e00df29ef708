"""An actor that monitors agents, may be their parent, and notes when it learned of their ends."""

from __future__ import annotations

import os
import signal
import time
from collections import defaultdict
from types import TracebackType
from typing import Any

from thespian.actors import Actor

from gen_agent import AgentClient
from gen_agent.actors.processes import ProcessId
from gen_agent.actors.system import AgentSystem
from gen_agent.messages import Down, Reply
from gen_agent.values import CallRef
from tests.faults.scene import PATIENCE_S, kill


class Onlooker(Actor):
    """Does `("do", method, keywords)` with its client; answers `"pid"`, `"reply"` with the replies, a call
    with the reply to it, and `"downs"` with what ended, each once there is one.
    """

    def __init__(self) -> None:
        super().__init__()
        self.client = AgentClient(self)
        self.found: defaultdict[str | CallRef, list[Any]] = defaultdict(list, pid=[os.getpid()])
        self.asked: tuple[Any, str | CallRef] | None = None

    def receiveMessage(self, message: Any, sender: Any) -> None:
        """Note what comes, tell it to whoever asked."""
        if isinstance(message, tuple):
            self.send(sender, getattr(self.client, message[1])(**message[2]))
        elif isinstance(message, (str, CallRef)):
            self.asked = (sender, message)
        elif isinstance(message, Down):
            self.found["downs"].append((message.monitor, message.reason, time.monotonic()))
        elif isinstance(message, Reply):
            self.found["reply"].append(message)
            self.found[message.call].append(message)
        if self.asked is not None and self.found[self.asked[1]]:
            self.send(self.asked[0], tuple(self.found[self.asked[1]]))
            self.asked = None


class Ally:
    """A script's hold on such an actor, which is killed in the end."""

    def __init__(self, agents: AgentSystem) -> None:
        self._system = agents.actor_system
        self.address = self._system.createActor(Onlooker)
        (pid,) = self._system.ask(self.address, "pid", PATIENCE_S)
        self._process = ProcessId.of(pid)

    def __enter__(self) -> Ally:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        kill(self._process, signal.SIGKILL)
        # The connection to it is closed when the loop that has it runs next.
        self._system.listen(0.0)

    def do(self, method: str, **keywords: Any) -> Any:
        """What a method of its client returns."""
        return self._system.ask(self.address, ("do", method, keywords), PATIENCE_S)

    def settle(self) -> None:
        """Wait until the supervisor has had what this actor sent it before."""
        self._system.ask(self.address, self.do("whereis", name="nobody"), PATIENCE_S)

    def start(self, **options: Any) -> Any:
        """Have it start an agent that is its child; the agent's address."""
        self.do("start_agent", supervised=False, **options)
        (reply,) = self._system.ask(self.address, "reply", PATIENCE_S)
        return reply.result()

    def downs(self) -> Any:
        """The ends it has been told: monitor, reason and moment of each."""
        return self._system.ask(self.address, "downs", PATIENCE_S)
