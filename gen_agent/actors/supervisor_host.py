"""What a supervisor can do with processes, here and on other machines: what its starts and ends act on.

The law: it carries out and decides nothing. Every token has its process here, watched by pidfd, or at an
outpost, which watches it there. This module must not know names, monitors or questions.
"""

from __future__ import annotations

import abc
import time
from collections.abc import Callable, Mapping
from typing import Any

from thespian.actors import Actor, ActorExitRequest

from gen_agent.actors.births import Births
from gen_agent.actors.children import Child, create_child, disown, give_up, send_or
from gen_agent.actors.ends import Ends
from gen_agent.actors.processes import ProcessId, kill_tree
from gen_agent.actors.shell import Shell
from gen_agent.errors import GenAgentError
from gen_agent.messages import Reply
from gen_agent.sealed import Sealed
from gen_agent.values import CallRef


class SupervisorHost(Shell):
    """What births and ends need of the actor they live in."""

    _births: Births
    _ends: Ends

    def __init__(self) -> None:
        super().__init__()
        self._processes: dict[int, ProcessId] = {}

    @property
    def capabilities(self) -> Mapping[str, Any]:
        """What this system is capable of."""
        # Where everything is in one process the system itself knows.
        one = self._myRef if self.has_processes else self._myRef._system
        return getattr(one, "capabilities", None) or {}

    def answer(
        self, to: Any, call: CallRef, value: Any = None, error: GenAgentError | Sealed | None = None
    ) -> None:
        """Reply to a call."""
        self.send(to, Reply(call, value, error))

    def create(self, actor: type[Actor]) -> Child:
        """Create a child actor; raises `CannotCreate`."""
        return create_child(self, actor)

    def create_away(self, actor: type[Actor], requirements: Mapping[str, Any]) -> Child:
        """Have a child made in a system that meets the requirements."""
        return create_child(self, actor, requirements)

    def disown(self, child: Child) -> None:
        """Never wait for the end of a child on another machine."""
        disown(self, child)

    def give_up(self, address: Any) -> None:
        """Drop what waits to be sent there."""
        give_up(self, address)

    def send_or(self, address: Any, message: Any, dead: Callable[[], None]) -> None:
        """Send a message; `dead` is called if nobody is at that address any more."""
        send_or(self, address, message, dead)

    def refused(self, token: int, error: GenAgentError) -> None:
        """There will be no process for that start."""
        self._births.refused(token, error)

    def lost(self, token: int, reason: str) -> None:
        """The process of an agent on another machine is not to be seen any more."""
        self._ends.lost(token, reason)

    def now(self) -> float:
        """The monotonic clock, in seconds."""
        return time.monotonic()

    def follow(self, token: int, process: ProcessId) -> None:
        """Watch the process of a token; one that has ended already is dealt with at once, one on another
        machine is watched by an outpost there.
        """
        if self._births.outposts.has(token):
            return
        self._processes[token] = process
        if not self.watcher.add_process(process, token):
            self._gone(token)

    def kill(self, token: int) -> None:
        """End the process of a token with all below it; without processes, ask the actor to exit."""
        process = self._processes.get(token)
        if process is not None:
            kill_tree(process)
            return
        if self._births.outposts.has(token):
            self._births.outposts.kill(token)
            return
        for child, number in self._births.children:
            if number == token:
                self.send(child, ActorExitRequest())

    def end_child(self, child: Child) -> None:
        """Ask a child that is not an agent to exit."""
        self.send(child.address, ActorExitRequest())

    def kill_child(self, child: Child) -> None:
        """End the process of a child that is not an agent."""
        if child.process is not None:
            kill_tree(child.process)

    @abc.abstractmethod
    def _gone(self, token: int) -> None: ...
