"""SupervisorActor: one per actor system, by global name. Parent of supervised agents, keeper of names and
monitors.

The law: it never runs, loads or opens anything of a user's, never waits, and answers every call. What it
knows of agents is `core.directory`; starts are `births`, ends are `ends`. Agents with another parent register
here, and their processes are watched like those of our own. When it dies its agents end with registry_lost,
and the next one that a client makes knows none of them, but tells their ends to whoever asks.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from thespian.actors import Actor, ActorExitRequest, ChildActorExited

from gen_agent.actors.abroad import Abroad
from gen_agent.actors.agent import AgentActor
from gen_agent.actors.births import Births
from gen_agent.actors.children import forget_address
from gen_agent.actors.ends import Ends
from gen_agent.actors.identity import host, this_process
from gen_agent.actors.internal import (
    AgentFailed,
    AgentUp,
    Ending,
    Register,
    Spawned,
    SpawnFailed,
)
from gen_agent.actors.mailbox import MailboxActor
from gen_agent.actors.nursery import SupervisedNursery
from gen_agent.actors.outpost import OutpostActor
from gen_agent.actors.outposts import OUTPOST
from gen_agent.actors.processes import ProcessId
from gen_agent.actors.watching import Ready
from gen_agent.client.protocol import (
    Abandon,
    Hello,
    Inherit,
    IsAlive,
    ListNames,
    Lookup,
    Shutdown,
    StopUnder,
    WhyDown,
)
from gen_agent.client.targets import actor_of
from gen_agent.core.directory import Directory, Entry
from gen_agent.envelopes import VERSION, Call, Envelope
from gen_agent.errors import AgentDown, AgentNotFound, AlreadyStarted, UnknownRequest
from gen_agent.messages import Demonitor, Monitor, StartAgent, StopAgent
from gen_agent.soundness import is_sound, sound_call
from gen_agent.values import Caller, CallRef, is_address

REAPING_S = 0.002
REAPING_LOOKS = 50
"""How often and how long its parent is given to reap a process that has ended, before its end is told."""

PRELOADED = (MailboxActor,)
"""What whoever forks actors has imported with this module, so that no actor has to."""


class SupervisorActor(Abroad):
    """The supervisor. It does its work in messages, watched processes and deadlines; nothing in it blocks."""

    nursery_class: type[Actor] = SupervisedNursery
    agent_class: type[Actor] = AgentActor
    outpost_class: type[Actor] = OutpostActor

    def __init__(self) -> None:
        super().__init__()
        self._directory = Directory()
        classes = (self.nursery_class, self.agent_class, self.outpost_class)
        self._births = Births(self, self._directory, *classes)
        self._ends = Ends(self, self._directory, self._births)
        self._closing: list[tuple[Any, CallRef]] = []
        self._handlers = {**self._table(), **self._table_abroad()}

    def _table(self) -> dict[type, Callable[[Any, Any], None]]:
        births, ends, names = self._births, self._ends, self._directory
        return {
            StartAgent: births.begin,
            Spawned: lambda message, _: births.spawned(message),
            SpawnFailed: lambda message, _: births.spawn_failed(message),
            AgentUp: lambda message, _: self._up(message),
            AgentFailed: lambda message, _: births.failed(message),
            Ending: lambda message, _: ends.announced(message),
            Register: self._register,
            Monitor: self._monitor,
            Demonitor: self._demonitor,
            Inherit: self._inherit,
            StopAgent: lambda message, sender: self._stop(message.target, None, message.call, sender),
            StopUnder: lambda message, sender: self._stop(
                message.target, message.supervisor, message.call, sender
            ),
            Abandon: self._abandon,
            Lookup: lambda message, sender: self.answer(sender, message.call, names.find(message.name)),
            ListNames: lambda message, sender: self.answer(sender, message.call, [*names.names()]),
            WhyDown: lambda message, sender: ends.why(message.whom, message.where, sender, message.call),
            IsAlive: self._is_alive,
            Hello: self._hello,
            Shutdown: self._shutdown,
            ChildActorExited: lambda message, _: self._child_exited(message.childAddress),
        }

    def handle(self, message: Any, sender: Any) -> None:
        """Deal with one message; what is not known is answered if it is a call, else dropped."""
        if isinstance(message, Envelope) and not (message.version == VERSION and is_sound(message)):
            call = sound_call(message)
            if call is not None:
                self.answer(sender, call, error=UnknownRequest())
            return
        handler = self._handlers.get(type(message))
        if handler is not None:
            handler(message, sender)
        elif isinstance(message, Call):
            self.answer(sender, message.call, error=UnknownRequest())
        self._close_if_empty()

    # ---------------------------------------------------------------- what happens by itself

    def on_ready(self, ready: Ready) -> None:
        """A watched process has ended."""
        if isinstance(ready.key, int):
            self._gone(ready.key)
        self._close_if_empty()

    def _gone(self, token: int) -> None:
        self.watcher.remove(token)
        self._lodgers.pop(token, None)
        self._await_reaping(token, REAPING_LOOKS)

    def _await_reaping(self, token: int, looks: int) -> None:
        # A zombie still looks like a process to whoever was told that it has ended.
        process = self._processes.get(token)
        if looks and process is not None and _is_listed(process):
            self.set_deadline(("reaped", token, looks - 1), REAPING_S)
            return
        self._processes.pop(token, None)
        self._ends.died(token)

    def _child_exited(self, address: Any) -> None:
        if self._births.outposts.exited(address):
            return
        token = self._births.child_exited(address)
        if self.has_processes:
            forget_address(self, address)
        elif token is not None:
            self._ends.died(token)

    def on_deadline(self, key: Any) -> None:
        """Somebody took longer than allowed."""
        kind, token, *looks = key
        if kind == "reaped":
            self._await_reaping(token, looks[0])
        elif kind in ("kill", "failing"):
            self.kill(token)
        elif kind == "late":
            self._ends.late(token)
        elif kind == "unspawned":
            self._births.unspawned(token)
        elif kind == OUTPOST:
            self._births.outposts.on_deadline(token, *looks)
        self._close_if_empty()

    # ---------------------------------------------------------------- questions

    def _up(self, message: AgentUp) -> None:
        self._ends.limit(message.token, message.shutdown_s)
        self._births.up(message)
        self._ends.came_up(message.token)

    def _register(self, message: Register, sender: Any) -> None:
        address = message.address
        entry = Entry(self._births.new_token(), address.name, parent=message.parent)
        holder = self._directory.reserve(entry)
        if holder is not None:
            self.answer(sender, message.call, error=AlreadyStarted(holder.address))
            return
        self._directory.up(entry.token, address)
        self._ends.limit(entry.token, message.shutdown_s)
        self.answer(sender, message.call, os.getpid() if self.has_processes else None)
        who = address.incarnation
        if self.has_processes and who.host == host():
            self.follow(entry.token, ProcessId(who.pid, who.start_time))
        self._ends.came_up(entry.token)

    def _stop(self, target: Any, supervisor: Any, call: CallRef, sender: Any) -> None:
        entry = self._directory.whom(target)
        if entry is None or entry.address is None:
            if entry is not None and self._ends.stop_restart(entry, sender, call):
                return
            gone = AgentDown(target, "noproc") if is_address(target) else AgentNotFound(target)
            self.answer(sender, call, error=gone)
        elif self._is_parent(entry, supervisor):
            self._ends.stop(entry, sender, call)
        else:
            self.answer(sender, call, error=AgentNotFound(target))

    def _is_parent(self, entry: Entry, supervisor: Any) -> bool:
        own = entry.parent is None
        if supervisor is None or actor_of(supervisor) == self.myAddress:
            return own
        return not own and bool(actor_of(supervisor) == actor_of(entry.parent))

    def _monitor(self, message: Monitor, sender: Any) -> None:
        self._ends.monitor(message, sender)
        self.answer(sender, message.call, message.ref)

    def _inherit(self, message: Inherit, sender: Any) -> None:
        self._ends.inherit(message)
        self.answer(sender, message.call, message.ref)

    def _demonitor(self, message: Demonitor, sender: Any) -> None:
        self._ends.demonitor(message)
        self.answer(sender, message.call)

    def _abandon(self, message: Abandon, sender: Any) -> None:
        if self._births.give_up(message.start, sender, message.call):
            return
        served = [entry for entry in self._directory if isinstance(entry.start, StartAgent)]
        entry = next((entry for entry in served if entry.start.call == message.start), None)
        if entry is not None:
            self._ends.kill(entry, sender, message.call)
        else:
            self._births.never(message.start)
            self.answer(sender, message.call)

    def _is_alive(self, message: IsAlive, sender: Any) -> None:
        self.answer(sender, message.call, self._directory.incarnation(message.whom) is not None)

    def _hello(self, message: Hello, sender: Any) -> None:
        me = this_process()
        who = me if self.has_processes else Caller(me.host, 0, 0)
        self.answer(sender, message.call, who)

    # ---------------------------------------------------------------- the end

    def _shutdown(self, message: Shutdown, sender: Any) -> None:
        self._closing.append((sender, message.call))
        self._ends.stop_all()
        self._evict_all()

    def _close_if_empty(self) -> None:
        if not self._closing or len(self._directory) or self._lodgers:
            return
        for sender, call in self._closing:
            self.answer(sender, call)
        self._closing.clear()
        self.send(self.myAddress, ActorExitRequest())


def _is_listed(process: ProcessId) -> bool:
    try:
        return ProcessId.of(process.pid) == process
    except ProcessLookupError:
        return False
