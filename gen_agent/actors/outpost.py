"""OutpostActor: a supervisor's hands in another system, which start, watch and end agents there.

The supervisor keeps the names, the monitors and the last word; the agents answer to it directly. An outpost
has its agents forked, tells of their deaths, kills when asked, and answers beats, for the supervisor can't
see that machine's processes. The law: it runs nothing of a user's and never waits, so that it answers while
its agents are busy; it lives no longer than its supervisor is heard of, and its agents no longer than itself:
they end with registry_lost (C014). When the system it is in ends, it has them asked to end before.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from thespian.actors import Actor, ActorExitRequest, ChildActorExited

from gen_agent.actors.children import CannotCreate, Child, create_child, forget_address
from gen_agent.actors.convention import meets
from gen_agent.actors.heartbeat import BEAT_S, Pulse
from gen_agent.actors.identity import local_process, machine, this_process
from gen_agent.actors.internal import (
    Beat,
    Dismiss,
    Evict,
    Gone,
    Kill,
    Lodge,
    Preload,
    Settle,
    Settled,
    Spawn,
    Spawned,
    SpawnFailed,
)
from gen_agent.actors.nurseries import Nurseries
from gen_agent.actors.nursery import SupervisedNursery
from gen_agent.actors.processes import ProcessId, kill_tree
from gen_agent.actors.shell import Shell
from gen_agent.actors.watching import Ready
from gen_agent.client.protocol import SUPERVISOR, SUPERVISOR_CLASS
from gen_agent.messages import StartAgent

UNSPAWNED_S = 1.0
"""How long a nursery may take to fork an agent that is not wanted any more, before it is killed; in seconds.
"""

_BEAT = "beat"
_SUPERVISOR = "the supervisor"


class OutpostActor(Shell):
    """One supervisor's hands in one other system."""

    nursery_class: type[Actor] = SupervisedNursery

    def __init__(self) -> None:
        super().__init__()
        self._supervisor: Any = None
        self._pulse = Pulse()
        self._processes: dict[int, ProcessId] = {}
        self._unwanted: set[int] = set()
        self._waiting: set[int] = set()
        self._nurseries = Nurseries(self._make_nursery, self._end_nursery)
        self._handlers: dict[type, Callable[[Any], None]] = {
            Spawn: self._spawn,
            Spawned: self._spawned,
            SpawnFailed: lambda message: self._not_spawned(message.token, message.reason),
            Kill: lambda message: self._kill(message.token),
            Beat: lambda message: self._answer_beat(),
            Evict: lambda message: self.send(self._supervisor, message),
            Dismiss: lambda message: Actor.send(self, self.myAddress, ActorExitRequest()),
            ChildActorExited: lambda message: self._child_exited(message.childAddress),
        }

    @staticmethod
    def actorSystemCapabilityCheck(capabilities: Mapping[str, Any], requirements: Mapping[str, Any]) -> bool:
        """Thespian's question whether a system may have this actor."""
        return meets(capabilities, requirements)

    def handle(self, message: Any, sender: Any) -> None:
        """Deal with what the supervisor and the nurseries say."""
        if isinstance(message, Settle):
            self._settle(message, sender)
        elif type(message) in self._handlers:
            self._handlers[type(message)](message)

    # ---------------------------------------------------------------- the supervisor

    def _settle(self, message: Settle, sender: Any) -> None:
        self._supervisor = sender
        # First, so that what ends together with this system is asked to before it is killed.
        landlord = self.createActor(SUPERVISOR_CLASS, globalName=SUPERVISOR)
        self.send(landlord, Lodge(this_process()))
        self.send(sender, Settled(machine()))
        process = local_process(message.who) if message.machine == machine() else None
        if process is not None and not self.watcher.add_process(process, _SUPERVISOR):
            self._abandon()
        self.set_deadline(_BEAT, BEAT_S)

    def _answer_beat(self) -> None:
        self._pulse.heard()
        self.send(self._supervisor, Beat())

    def _abandon(self) -> None:
        # As a supervisor's death does: the kernel tells nurseries and agents, which end in their own ways.
        os._exit(1)

    # ---------------------------------------------------------------- agents

    def _spawn(self, message: Spawn) -> None:
        token = message.token
        self._waiting.add(token)
        try:
            nursery = self._nurseries.for_start(message.start, token)
        except CannotCreate as error:
            self._not_spawned(token, type(error).__name__)
            return
        self.send(nursery.child.address, Spawn(token, message.start, os.getpid(), self._supervisor))

    def _spawned(self, message: Spawned) -> None:
        token, process = message.token, ProcessId(message.pid, message.start_time)
        if token not in self._waiting:
            kill_tree(process)
            return
        self._waiting.discard(token)
        self._processes[token] = process
        self.send(self._supervisor, message)
        if not self.watcher.add_process(process, token):
            self._gone(token)
        elif token in self._unwanted:
            kill_tree(process)

    def _not_spawned(self, token: int, reason: str) -> None:
        if token not in self._waiting:
            return
        self.send(self._supervisor, SpawnFailed(token, reason))
        self._gone(token)

    def _kill(self, token: int) -> None:
        process = self._processes.get(token)
        if process is not None:
            kill_tree(process)
        elif token in self._waiting:
            self._unwanted.add(token)
            self.set_deadline(token, UNSPAWNED_S)
        else:
            self.send(self._supervisor, Gone(token))

    def _gone(self, token: int) -> None:
        self.clear_deadline(token)
        self.watcher.remove(token)
        self._nurseries.left(token)
        self._waiting.discard(token)
        self._unwanted.discard(token)
        self._processes.pop(token, None)
        self.send(self._supervisor, Gone(token))

    # ---------------------------------------------------------------- nurseries

    def _make_nursery(self, start: StartAgent) -> Child:
        child = create_child(self, self.nursery_class)
        self.send(child.address, Preload(start.script, parent_pid=os.getpid()))
        return child

    def _end_nursery(self, child: Child) -> None:
        self.send(child.address, ActorExitRequest())

    def _child_exited(self, address: Any) -> None:
        for token in self._nurseries.exited(address):
            self._not_spawned(token, "the nursery ended")
        forget_address(self, address)

    # ---------------------------------------------------------------- what happens by itself

    def on_ready(self, ready: Ready) -> None:
        """An agent has ended, or the supervisor, where its process can be seen."""
        if ready.key == _SUPERVISOR:
            self._abandon()
        elif isinstance(ready.key, int):
            self._gone(ready.key)

    def on_deadline(self, key: Any) -> None:
        """It is time for a beat, or a nursery did not fork in its time."""
        if key == _BEAT:
            if not self._pulse.beat():
                self._abandon()
            self.set_deadline(_BEAT, BEAT_S)
        elif key in self._waiting:
            nursery = self._nurseries.take_if_only(key)
            if nursery is not None and nursery.child.process is not None:
                kill_tree(nursery.child.process)
            self._gone(key)
