"""One worker as its agent sees it: a child process, the link to it, and its certain death.

Made by a fork with what it grows from in memory; told its work over the link alone; killed together with all
it started. Nothing here waits, but for the deaths it causes and for a session to be closed. Processes only.
"""

from __future__ import annotations

import enum
import gc
import os
import signal
import time

import attrs

from gen_agent.actors import orders
from gen_agent.actors.children import CannotCreate, Child, fork_child
from gen_agent.actors.household import Household
from gen_agent.actors.link import AgentEnd, socket_pair
from gen_agent.actors.linkframes import NoFrame
from gen_agent.actors.processes import ProcessId, kill_children, kill_tree
from gen_agent.actors.ring import Ring
from gen_agent.actors.service import Seed
from gen_agent.actors.shell import Shell
from gen_agent.actors.worker import Birth, WorkerActor
from gen_agent.core.signals import Tag
from gen_agent.sealed import Sealed

LINK = "the worker's link"
DEATH = "the worker's death"
PATIENCE = "the worker's time is up"
STREAM = "what a worker streams"

LEAVE_S = 5.0
"""How long a worker that is being replaced may take to give its resources back."""

_REAP_S = 5.0


class Phase(enum.Enum):
    """How far a worker is."""

    ATTACHING = "forked"
    BOOTING = "building its backend"
    READY = "waiting"
    RUNNING = "running a turn"
    RESETTING = "resetting the session"
    LEAVING = "giving back what it has"


@attrs.define(slots=True, eq=False)
class WorkerProcess:
    """A worker, and what its agent knows of it: `held` is the session it has, `tag` the turn it runs."""

    child: Child
    process: ProcessId
    end: AgentEnd
    actor: Shell
    household: Household
    phase: Phase = Phase.ATTACHING
    held: Sealed | None = None
    turns: int = 0
    tag: Tag | None = None

    def send(self, order: object) -> None:
        """Send an order; what does not fit follows when the link is writable."""
        self.end.send(order)
        self.mind_unsent()

    def flush(self) -> None:
        """Send what is unsent, as far as the link takes it."""
        self.end.flush()
        self.mind_unsent()

    def mind_unsent(self) -> None:
        """Be told when the link is writable, as long as something is unsent."""
        if LINK in self.actor.watcher:
            self.actor.watcher.want_write(LINK, self.end.unsent > 0)

    def leave(self) -> None:
        """Have this worker give back what it has and exit; it is buried if it takes too long."""
        self.phase = Phase.LEAVING
        self.send(orders.Close(False))
        self.actor.set_deadline(PATIENCE, LEAVE_S)

    def bury(self) -> int | None:
        """Kill this worker with everything it started, and wait for it: what is left comes home to this
        subreaper.

        Returns the exit status, negative for a signal, None if unknown. Nothing that it said is read any
        more.
        """
        watcher = self.actor.watcher
        watcher.remove(LINK)
        self.end.close()
        kill_tree(self.process)
        watcher.wait_for((DEATH,), _REAP_S)
        watcher.remove(DEATH)
        code = self.child.exit_code()
        kill_children(keep=self.household.of_callbacks, deadline_s=_REAP_S)
        return code

    def await_closed(self, timeout_s: float | None) -> orders.Closed | None:
        """Wait for the report on `Close`, at most `timeout_s`; None if it did not come."""
        due = None if timeout_s is None else time.monotonic() + timeout_s
        while not self.end.ended:
            left = None if due is None else due - time.monotonic()
            if left is not None and left <= 0:
                return None
            ready = self.actor.watcher.wait_for((LINK, DEATH), left)
            self.flush()
            try:
                closed = [report for report in self.end.read() if isinstance(report, orders.Closed)]
            except NoFrame:
                return None
            if closed or DEATH in ready:
                return closed[0] if closed else None
        return None


def fork_worker(
    actor: Shell, seed: Seed, household: Household, keep: tuple[int, ...], first: bool
) -> WorkerProcess:
    """Make a worker of `actor`; raises `CannotCreate`. It is dead already if `DEATH` is not watched
    afterwards.
    """
    if first:
        # What there is now is shared with all workers, and stays shared if no collection touches it.
        gc.freeze()
    ours, theirs = socket_pair()
    ring = Ring.made()
    birth = Birth(theirs.fileno(), ring, seed, keep, os.getpid(), actor._myRef.transport)
    try:
        child = fork_child(actor, WorkerActor, lambda: WorkerActor().work(birth))
    except CannotCreate:
        ours.close()
        raise
    finally:
        theirs.close()
    process = child.process or ProcessId(0, 0)
    household.workers_child(process)
    worker = WorkerProcess(child, process, AgentEnd(ours, ring), actor, household)
    actor.watcher.add(worker.end, LINK)
    actor.watcher.add_process(process, DEATH)
    return worker


def named(code: int | None) -> str | int:
    """An exit status as it is told to users: the name of a signal, or the number."""
    if code is None:
        return "unknown"
    if code >= 0:
        return code
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
