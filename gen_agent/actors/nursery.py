"""NurseryActor: imports what agents need once, and forks them.

Forking costs milliseconds, importing a provider's SDK a hundred. One nursery serves one version of a script
and one backend, so that what it has loaded is never stale for the agents it makes; while many are started in
a row it forks one ahead. It runs users' modules, at import only; it knows no agent's state and answers nobody
but its supervisor.
"""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Hashable
from importlib import import_module
from typing import Any

import attrs
from thespian.actors import ChildActorExited

from gen_agent.actors import scripts
from gen_agent.actors.agent import AgentActor
from gen_agent.actors.children import CannotCreate, Child, create_child, forget_address
from gen_agent.actors.internal import Begin, Preload, Spawn, Spawned, SpawnFailed
from gen_agent.actors.processes import die_with_parent, open_descriptors
from gen_agent.actors.shell import Shell, log_failure
from gen_agent.actors.spare import Spare
from gen_agent.backends import resolve
from gen_agent.errors import Undecodable
from gen_agent.messages import StartAgent


class NurseryActor(Shell):
    """Forks agents for one supervisor, or for its outpost on another machine."""

    def __init__(self) -> None:
        super().__init__()
        self._keep: frozenset[int] = frozenset()
        self._warm = False
        self._spare = Spare(self, self._fork)

    def handle(self, message: Any, sender: Any) -> None:
        """Load, or fork and begin an agent; one that has ended is forgotten."""
        if isinstance(message, Preload):
            self._load(lambda: _import_all(message))
        elif isinstance(message, Spawn):
            self._spawn(message, sender)
        elif isinstance(message, ChildActorExited):
            forget_address(self, message.childAddress)

    def _load(self, call: Any) -> None:
        before = open_descriptors() if self.has_processes else frozenset()
        try:
            call()
        except BaseException as error:
            # Users' modules, SystemExit included. The agent meets the same error at its own start, where
            # there is somebody to answer.
            log_failure("preloading", error)
        if self.has_processes:
            # What users' modules opened at their top level is theirs: agents keep it.
            self._keep |= open_descriptors() - before

    def _spawn(self, spawn: Spawn, supervisor: Any) -> None:
        if not self._warm:
            self._warm = True
            self._load(lambda: _import_classes(spawn.start))
            gc.collect()
            gc.freeze()
        try:
            child = self._spare.take() or self._fork()
        except CannotCreate as error:
            self.send(supervisor, SpawnFailed(spawn.token, type(error).__name__))
            return
        away = spawn.registrar is not None
        begin = Begin(spawn.start, spawn.token, spawn.registrar if away else supervisor, away=away)
        if child.process is not None:
            self.send(supervisor, Spawned(spawn.token, child.process.pid, child.process.start_time))
            begin = attrs.evolve(
                begin,
                parent_pid=os.getpid(),
                supervisor_pid=spawn.supervisor_pid,
                keep=tuple(sorted(self._keep)),
            )
        self.send(child.address, begin)
        self._spare.expect_more()

    def _fork(self) -> Child:
        return create_child(self, AgentActor)

    def on_deadline(self, key: Hashable) -> None:
        """The spare's time has come, or is over."""
        self._spare.on_deadline(key)


def _import_all(preload: Preload) -> None:
    scripts.load(preload.script)
    for module in preload.modules:
        import_module(module)


def _import_classes(start: StartAgent) -> None:
    scripts.load(start.script)
    if not isinstance(start.agent, Undecodable) and not isinstance(start.backend, Undecodable):
        resolve(start.backend)


class SupervisedNursery(NurseryActor):
    """A nursery that does not outlive its supervisor, on a base that lets children live on as well."""

    def handle(self, message: Any, sender: Any) -> None:
        """Follow the supervisor into death before anything of a user's is loaded."""
        if isinstance(message, Preload) and message.parent_pid is not None:
            die_with_parent(signal.SIGKILL, message.parent_pid)
        super().handle(message, sender)
