"""Starts in progress: from the request until the agent serves, failed, or was given up.

The law: a name is reserved before anything is spawned; a start is answered once; a start that was given up is
answered for only when its process is gone and its name is free. On a base with processes one nursery per
(script, backend) forks the agents; elsewhere they are the supervisor's own children.
"""

from __future__ import annotations

import itertools
import os
from collections import OrderedDict
from typing import Any, Protocol

import attrs
from thespian.actors import Actor

from gen_agent.actors.children import CannotCreate, Child
from gen_agent.actors.internal import AgentFailed, AgentUp, Begin, Preload, Spawn, Spawned, SpawnFailed
from gen_agent.actors.nurseries import Nurseries
from gen_agent.actors.outposts import Host as Outlook
from gen_agent.actors.outposts import Outposts
from gen_agent.actors.processes import ProcessId
from gen_agent.client.placing import nobody_has
from gen_agent.core.directory import Directory, Entry
from gen_agent.errors import AlreadyStarted, GenAgentError, InitFailed
from gen_agent.messages import StartAgent
from gen_agent.sealed import Sealed
from gen_agent.values import CallRef

UNSPAWNED_S = 1.0
"""How long a start that was given up waits for a process that does not exist yet, before its nursery is
ended.
"""

FAILING_S = 5.0
"""How long a process whose start failed has to end by itself."""

_FORGOTTEN_STARTS = 1_000


class Host(Outlook, Protocol):
    """What births and ends need of the actor they live in."""

    myAddress: Any

    @property
    def has_processes(self) -> bool:
        """Whether actors are processes here."""

    def send(self, address: Any, message: Any) -> None:
        """Send a message."""

    def create(self, actor: type[Actor]) -> Child:
        """Create a child actor."""

    def answer(
        self, to: Any, call: CallRef, value: Any = None, error: GenAgentError | Sealed | None = None
    ) -> None:
        """Reply to a call."""

    def follow(self, token: int, process: ProcessId) -> None:
        """Watch the process of a token; its end is reported also if it has ended already."""

    def kill(self, token: int) -> None:
        """End the process of a token and everything below it, or the actor where there are no processes."""

    def end_child(self, child: Child) -> None:
        """Ask a child actor that is not an agent to exit."""

    def kill_child(self, child: Child) -> None:
        """End the process of a child actor that is not an agent."""

    def now(self) -> float:
        """The monotonic clock, in seconds."""

    def set_deadline(self, key: Any, seconds: float) -> None:
        """Come back after `seconds`."""

    def clear_deadline(self, key: Any) -> None:
        """Do not."""


@attrs.define
class Birth:
    """One start: who wants to know, and what became of it so far. `starter` is None for a restart."""

    token: int
    start: StartAgent
    starter: Any = None
    has_process: bool = False
    failure: GenAgentError | Sealed | None = None
    given_up: list[tuple[Any, CallRef]] = attrs.field(factory=list)


class Births:
    """The starts of one supervisor."""

    def __init__(
        self,
        host: Host,
        directory: Directory,
        nursery: type[Actor],
        agent: type[Actor],
        outpost: type[Actor],
    ) -> None:
        self._host = host
        self._directory = directory
        self._nursery_class = nursery
        self._agent_class = agent
        self._births: dict[int, Birth] = {}
        self._tokens = itertools.count(1)
        self._nurseries = Nurseries(self._make_nursery, host.end_child)
        self.outposts = Outposts(host, outpost)
        self._never: OrderedDict[CallRef, None] = OrderedDict()
        self.children: list[tuple[Any, int]] = []

    def new_token(self) -> int:
        """A number never used before by this supervisor."""
        return next(self._tokens)

    # ---------------------------------------------------------------- beginning

    def begin(self, start: StartAgent, starter: Any) -> None:
        """Reserve the name and have the agent made; the answer comes with `up`, `failed` or `died`."""
        if start.call in self._never or start.name is None:
            return
        token = self.new_token()
        holder = self._directory.reserve(Entry(token, start.name, start=start))
        if holder is not None:
            self._tell(starter, start, error=AlreadyStarted(holder.address))
            return
        birth = self._births[token] = Birth(token, start, starter)
        try:
            self._make(birth)
        except CannotCreate as error:
            self.spawn_failed(SpawnFailed(token, type(error).__name__))
        except TypeError:
            self.refused(token, InitFailed("requirements", "they can't be opened by the supervisor"))

    def _make(self, birth: Birth) -> None:
        token, start = birth.token, birth.start
        away = self.outposts.needed(start.requirements)
        if away and not self._host.has_processes:
            self.refused(token, nobody_has(start.requirements))
        elif away:
            self.outposts.spawn(token, start, start.requirements)
        elif self._host.has_processes:
            nursery = self._nurseries.for_start(start, token)
            self._host.send(nursery.child.address, Spawn(token, start, os.getpid()))
        else:
            child = self._host.create(self._agent_class)
            self.children.append((child.address, token))
            self._host.send(child.address, Begin(start, token, self._host.myAddress))

    def _tell(
        self,
        starter: Any,
        start: StartAgent,
        value: Any = None,
        error: GenAgentError | Sealed | None = None,
    ) -> None:
        if starter is not None:
            self._host.answer(starter, start.call, value, error)

    def _make_nursery(self, start: StartAgent) -> Child:
        child = self._host.create(self._nursery_class)
        self._host.send(child.address, Preload(start.script, parent_pid=os.getpid()))
        return child

    # ---------------------------------------------------------------- what nursery and agent say

    def spawned(self, message: Spawned) -> None:
        """The process exists: from now on its end is noticed."""
        self._has_process(message.token, ProcessId(message.pid, message.start_time))

    def _has_process(self, token: int, process: ProcessId) -> None:
        birth = self._births.get(token)
        if birth is None or birth.has_process:
            return
        birth.has_process = True
        self._host.follow(token, process)
        if birth.given_up:
            self._host.kill(token)

    def spawn_failed(self, message: SpawnFailed) -> None:
        """There will be no process: the start has failed."""
        self.refused(message.token, InitFailed("spawn", message.reason))

    def refused(self, token: int, error: GenAgentError) -> bool:
        """There will be no process, for this reason: the start has failed. False if it is not in progress."""
        birth = self._births.get(token)
        if birth is not None:
            birth.failure = error
        return self.died(token)

    def up(self, message: AgentUp) -> None:
        """The agent serves: answer the starter."""
        birth = self._births.get(message.token)
        if birth is None or birth.given_up:
            return
        if self._host.has_processes:
            who = message.address.incarnation
            self._has_process(message.token, ProcessId(who.pid, who.start_time))
        if message.token not in self._births:
            return
        del self._births[message.token]
        self._directory.up(message.token, message.address)
        self._tell(birth.starter, birth.start, message.address)

    def failed(self, message: AgentFailed) -> None:
        """The agent could not start; its process ends next, which answers the starter."""
        birth = self._births.get(message.token)
        if birth is not None:
            birth.failure = message.error
            self._host.set_deadline(("failing", message.token), FAILING_S)

    def died(self, token: int) -> bool:
        """The process of a start is gone: answer everybody, free the name. False if that start is not in
        progress.
        """
        birth = self._births.pop(token, None)
        if birth is None:
            return False
        self.left(token)
        self._directory.release(token)
        self._host.clear_deadline(("failing", token))
        self._host.clear_deadline(("unspawned", token))
        error = birth.failure or InitFailed("exit", "the process ended before it was up")
        if not birth.given_up:
            self._tell(birth.starter, birth.start, error=error)
        for sender, call in birth.given_up:
            self._host.answer(sender, call)
        return True

    def left(self, token: int) -> None:
        """An agent is gone: its nursery has one fewer."""
        self._nurseries.left(token)
        self.outposts.left(token)
        self.children = [(child, number) for child, number in self.children if number != token]

    # ---------------------------------------------------------------- giving up

    def give_up(self, start: CallRef, sender: Any, call: CallRef) -> bool:
        """Abandon a start in progress; answered by `died`. False if there is no such start in progress."""
        birth = next((birth for birth in self._births.values() if birth.start.call == start), None)
        if birth is None:
            return False
        birth.given_up.append((sender, call))
        if birth.has_process or self.outposts.has(birth.token) or not self._host.has_processes:
            self._host.kill(birth.token)
        else:
            self._host.set_deadline(("unspawned", birth.token), UNSPAWNED_S)
        return True

    def give_up_restart(self, token: int, sender: Any, call: CallRef) -> bool:
        """The same for an agent that is being started again; False for a start that somebody waits for."""
        birth = self._births.get(token)
        return birth is not None and birth.starter is None and self.give_up(birth.start.call, sender, call)

    def never(self, start: CallRef) -> None:
        """A start that was given up before it arrived: it will not be begun."""
        self._never[start] = None
        if len(self._never) > _FORGOTTEN_STARTS:
            self._never.popitem(last=False)

    def unspawned(self, token: int) -> None:
        """No process came for a start that was given up: its nursery hangs, and ends
        if nobody else needs it.
        """
        birth = self._births.get(token)
        if birth is None or birth.has_process:
            return
        nursery = self._nurseries.take_if_only(token)
        if nursery is not None:
            self._host.kill_child(nursery.child)
        self.died(token)

    def child_exited(self, address: Any) -> int | None:
        """A child is gone: the token of an agent that was our child; a nursery's unspawned starts fail."""
        for child, token in self.children:
            if child == address:
                return token
        for token in self._nurseries.exited(address):
            birth = self._births.get(token)
            if birth is not None and not birth.has_process:
                self.spawn_failed(SpawnFailed(token, "the nursery ended"))
        return None
