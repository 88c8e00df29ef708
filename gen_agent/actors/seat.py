"""An agent's worker as a process: made, handed its work over the link, killed with all it started, replaced.

The law: nothing here waits, but for the deaths it causes. One seat has at most one worker; a worker that was
killed, has died or has served its turns is replaced at once, so that the next turn finds one. Whatever still
comes from a dead one is thrown away with its link, so nothing late reaches a later turn (C098, C180).
"""

from __future__ import annotations

import enum
import gc
import logging
import os
import signal
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import attrs

from gen_agent.actors import orders
from gen_agent.actors.children import CannotCreate, Child, create_child, forget_child
from gen_agent.actors.household import Household
from gen_agent.actors.internal import Attach
from gen_agent.actors.link import AgentEnd, socket_pair
from gen_agent.actors.processes import ProcessId, kill_children, kill_tree
from gen_agent.actors.service import Seed
from gen_agent.actors.shell import Shell
from gen_agent.actors.watching import Ready
from gen_agent.actors.worker import WorkerActor, plant
from gen_agent.core import signals
from gen_agent.errors import GenAgentError, WatchdogTimeout, WorkerCrashed
from gen_agent.sealed import Sealed, SealedRun

ATTACH_S = 10.0
"""How long a forked worker may take until it reads its link."""

LEAVE_S = 5.0
"""How long a worker that is being replaced may take to give its resources back."""

ALARM_AFTER_S = 1.0
"""How long after the watchdog the kernel's alarm ends a worker whose agent is blocked."""

_REAP_S = 5.0
_REMEMBERED = 64

LINK = "the worker's link"
DEATH = "the worker's death"
PATIENCE = "the worker's time is up"


class Phase(enum.Enum):
    """How far a worker is."""

    ATTACHING = "forked"
    BOOTING = "building its backend"
    READY = "waiting"
    RUNNING = "running a turn"
    RESETTING = "resetting the session"
    LEAVING = "giving back what it has"


@attrs.define(slots=True, eq=False)
class _Worker:
    child: Child
    process: ProcessId
    end: AgentEnd
    phase: Phase = Phase.ATTACHING
    held: Sealed | None = None
    turns: int = 0
    tag: signals.Tag | None = None


@attrs.frozen(slots=True)
class Port:
    """What a seat tells its agent: events for the machine, and the outcome of the first start."""

    feed: Callable[[signals.Event], None]
    booted: Callable[[Sealed | None, GenAgentError | None], None]


class WorkerSeat:
    """The place of one agent's worker."""

    def __init__(
        self, actor: Shell, seed: Seed, household: Household, port: Port, keep: tuple[int, ...]
    ) -> None:
        self._actor, self._seed, self._household = actor, seed, household
        self._feed, self._booted, self._keep = port.feed, port.booted, keep
        self._worker: _Worker | None = None
        self._waiting: signals.StartTurn | signals.ResetWorkerSession | None = None
        self._resetting: signals.ResetWorkerSession | None = None
        self._offered: Sealed | None = None
        self._listening = False
        self._first = True
        self._closed = False
        self.addresses: deque[Any] = deque(maxlen=_REMEMBERED)

    # ---------------------------------------------------------------- what the agent asks for

    def boot(self) -> None:
        """Make the first worker and start the session: `booted` is called back. Raises `CannotCreate`."""
        self._spawn()

    def start_turn(self, effect: signals.StartTurn, listening: bool) -> None:
        """Hand a turn to the worker, or have one made for it first."""
        self._listening = listening
        self._wait_for_worker(effect)

    def reset(self, effect: signals.ResetWorkerSession) -> None:
        """Have the worker reset the session, or have one made for it first."""
        self._wait_for_worker(effect)

    def answer_checkpoint(self, effect: signals.AnswerCheckpoint) -> None:
        """Let the worker go on from its checkpoint."""
        worker = self._worker
        if worker is not None and worker.tag == effect.tag:
            if effect.error is None and self._offered is not None:
                worker.held = self._offered
            worker.end.send(orders.CheckpointAnswer(effect.error))
            self._mind_unsent(worker)

    def kill_turn(self, tag: signals.Tag) -> None:
        """Kill the worker of that turn with everything it started: gone on return. Its successor is made at
        once.
        """
        if isinstance(self._waiting, signals.StartTurn) and self._waiting.tag == tag:
            self._waiting = None
        worker = self._worker
        if worker is not None and worker.tag == tag:
            self._bury(worker)
            self._actor.soon(self._replace)

    def shut(self) -> None:
        """Kill whatever worker there is; none is made any more."""
        self._closed = True
        self._waiting = None
        if self._worker is not None:
            self._bury(self._worker)

    def close_session(self, session: Sealed, timeout_s: float | None) -> tuple[bool, str | None] | None:
        """Have a live, idle worker run `terminate_session` and leave, waiting at most `timeout_s`, then end
        it.

        Returns whether it did it in time, and what it raised, by class. None at once where no worker can do
        it.
        """
        worker, self._closed = self._worker, True
        if worker is None or worker.phase is not Phase.READY:
            self.shut()
            return None
        worker.end.send(orders.Close(True, None if worker.held == session else session))
        report = self._await_closed(worker, None if timeout_s is None else time.monotonic() + timeout_s)
        self._bury(worker)
        return report is not None, None if report is None else report.error_class

    # ---------------------------------------------------------------- what happens

    def on_ready(self, ready: Ready) -> None:
        """The link has something, or takes something; or the worker has ended."""
        worker = self._worker
        if worker is None:
            return
        if ready.key == DEATH:
            self._ended(worker)
            return
        if ready.writable:
            worker.end.flush()
            self._mind_unsent(worker)
        if ready.readable:
            self._read(worker)

    def on_deadline(self) -> None:
        """The worker took too long to attach, to leave, or to die after its link ended."""
        worker = self._worker
        if worker is not None and worker.phase not in (Phase.READY, Phase.BOOTING):
            self._lost(worker, "no answer")

    # ---------------------------------------------------------------- beginning

    def _wait_for_worker(self, effect: signals.StartTurn | signals.ResetWorkerSession) -> None:
        self._waiting = effect
        if self._worker is None:
            self._replace()
        elif self._worker.phase is Phase.READY:
            self._hand_over(self._worker)

    def _replace(self) -> None:
        if self._worker is not None or self._closed:
            return
        try:
            self._spawn()
        except CannotCreate:
            self._refuse("no process could be made")

    def _spawn(self) -> None:
        ours, theirs = socket_pair()
        if self._first:
            # Everything there is now is shared with the workers, and stays so if no collection touches it.
            gc.collect()
            gc.freeze()
        plant(theirs.fileno(), self._seed)
        try:
            child = create_child(self._actor, WorkerActor)
        except CannotCreate:
            ours.close()
            raise
        finally:
            link = theirs.detach()
            plant(link, None)
        process = child.process or ProcessId(0, 0)
        self._household.workers_child(process)
        self.addresses.append(child.address)
        worker = self._worker = _Worker(child, process, AgentEnd(ours))
        self._actor.send(child.address, Attach(link, self._keep, os.getpid()))
        os.close(link)
        self._actor.watcher.add(worker.end, LINK)
        self._actor.set_deadline(PATIENCE, ATTACH_S)
        if not self._actor.watcher.add_process(process, DEATH):
            self._actor.soon(lambda: self._ended(worker))

    def _attached(self, worker: _Worker) -> None:
        self._actor.clear_deadline(PATIENCE)
        worker.phase = Phase.BOOTING
        worker.end.send(orders.Boot(self._first))

    def _was_booted(self, worker: _Worker, report: orders.Booted) -> None:
        error = None if report.error is None else report.error.open()
        if error is not None:
            self._lost(worker, f"{type(error).__name__}", error)
            return
        worker.phase, worker.held = Phase.READY, report.session
        first, self._first = self._first, False
        if first:
            self._booted(report.session, None)
        if self._worker is worker and self._waiting is not None:
            self._hand_over(worker)

    # ---------------------------------------------------------------- work

    def _hand_over(self, worker: _Worker) -> None:
        effect, self._waiting = self._waiting, None
        if effect is None:
            return
        session = None if worker.held == effect.session else effect.session
        worker.held = effect.session
        if isinstance(effect, signals.ResetWorkerSession):
            worker.phase, worker.tag = Phase.RESETTING, None
            self._resetting = effect
            worker.end.send(orders.Reset(session))
        else:
            worker.phase, worker.tag = Phase.RUNNING, effect.tag
            worker.turns += 1
            worker.end.send(self._order(effect, session))
            self._feed(signals.TurnStarted(effect.tag))
        if self._worker is worker:
            self._mind_unsent(worker)

    def _order(self, effect: signals.StartTurn, session: Sealed | None) -> orders.RunTurn:
        watchdog, idle = self._seed.options.watchdog_s, self._seed.options.idle_watchdog_s
        limit = None if watchdog is None else watchdog + ALARM_AFTER_S
        life = None if idle is None else idle / 4
        return orders.RunTurn(effect.tag, effect.prompt, session, effect.state, limit, self._listening, life)

    def _mind_unsent(self, worker: _Worker) -> None:
        self._actor.watcher.want_write(LINK, worker.end.unsent > 0)

    def _read(self, worker: _Worker) -> None:
        for item in worker.end.read():
            if self._worker is not worker:
                return
            self._take(worker, item)
        if worker.end.ended and self._worker is worker:
            # Its pidfd follows; a process that lives on without its link is of no use.
            self._actor.watcher.remove(LINK)
            self._actor.set_deadline(PATIENCE, ALARM_AFTER_S)
            worker.phase = Phase.LEAVING if worker.tag is None else Phase.RUNNING

    def _take(self, worker: _Worker, item: Any) -> None:
        tag = worker.tag
        if isinstance(item, SealedRun) and tag is not None:
            self._feed(signals.EventsStreamed(tag, item))
        elif isinstance(item, orders.Alive) and tag is not None:
            self._feed(signals.EventsStreamed(tag, SealedRun(b"", 0)))
        elif isinstance(item, orders.Checkpoint) and tag is not None:
            self._offered = item.session
            self._feed(signals.CheckpointAsked(tag, item.session_id, item.supported, item.session))
        elif isinstance(item, orders.Ended) and tag is not None:
            self._turn_ended(worker, tag, item)
        elif isinstance(item, orders.WasReset):
            self._was_reset(worker, item)
        elif isinstance(item, orders.Booted):
            self._was_booted(worker, item)
        elif isinstance(item, orders.Attached):
            self._attached(worker)
        elif isinstance(item, orders.Broken):
            logging.getLogger("gen_agent").error("the worker failed: %s", item.text)

    def _turn_ended(self, worker: _Worker, tag: signals.Tag, report: orders.Ended) -> None:
        worker.phase, worker.tag = Phase.READY, None
        if report.session is not None:
            worker.held = report.session
        outcome = report.outcome.open()
        sealed = None if isinstance(outcome, GenAgentError) else report.outcome
        limit = self._seed.options.max_turns_per_worker
        if limit is not None and worker.turns >= limit:
            worker.phase = Phase.LEAVING
            worker.end.send(orders.Close(False))
            self._actor.set_deadline(PATIENCE, LEAVE_S)
        self._feed(signals.TurnEnded(tag, outcome, sealed, report.session, report.state, report.duration_s))

    def _was_reset(self, worker: _Worker, report: orders.WasReset) -> None:
        worker.phase = Phase.READY
        if report.session is not None:
            worker.held = report.session
        error = None if report.error is None else report.error.open()
        self._reset_ended(report.session, error)

    def _reset_ended(self, session: Sealed | None, error: GenAgentError | None) -> None:
        effect, self._resetting = self._resetting, None
        if effect is not None:
            self._feed(signals.ResetEnded(effect.by, session, error))

    # ---------------------------------------------------------------- ends

    def _ended(self, worker: _Worker) -> None:
        if self._worker is not worker:
            return
        # What it said last counts, also when its death is seen first.
        for item in worker.end.read(None):
            self._take(worker, item)
            if self._worker is not worker:
                return
        code = self._bury(worker)
        self._mourn(worker, code)

    def _lost(self, worker: _Worker, reason: str, error: GenAgentError | None = None) -> None:
        self._bury(worker)
        self._mourn(worker, None, reason, error)

    def _mourn(
        self, worker: _Worker, code: int | None, reason: str | None = None, error: GenAgentError | None = None
    ) -> None:
        cause = error or WorkerCrashed(reason or _named(code))
        if worker.phase is Phase.RUNNING and worker.tag is not None:
            if code == -signal.SIGALRM and self._seed.options.watchdog_s is not None:
                cause = WatchdogTimeout(self._seed.options.watchdog_s)
            self._actor.soon(self._replace)
            self._feed(signals.WorkerDied(worker.tag, cause))
        elif worker.phase is Phase.RESETTING:
            self._actor.soon(self._replace)
            self._reset_ended(None, cause)
        elif worker.phase in (Phase.ATTACHING, Phase.BOOTING):
            self._never_served(reason or str(_named(code)), cause)
        else:
            self._replace()

    def _never_served(self, reason: str, error: GenAgentError) -> None:
        # No successor until work comes: what fails at its start would fail again and again.
        if self._first:
            self._booted(None, error)
        else:
            self._refuse(reason)

    def _refuse(self, reason: str) -> None:
        effect, self._waiting = self._waiting, None
        if isinstance(effect, signals.StartTurn):
            self._feed(signals.TurnRefused(effect.tag, reason))
        elif effect is not None:
            self._feed(signals.ResetEnded(effect.by, None, WorkerCrashed(reason)))

    def _bury(self, worker: _Worker) -> int | None:
        """Kill a worker with everything it started, and wait for it: what is left comes home to this
        subreaper.
        """
        self._worker = None
        self._actor.clear_deadline(PATIENCE)
        self._actor.watcher.remove(LINK)
        worker.end.close()
        kill_tree(worker.process)
        self._actor.watcher.wait_for((DEATH,), _REAP_S)
        self._actor.watcher.remove(DEATH)
        code = worker.child.exit_code()
        kill_children(keep=self._household.of_callbacks, deadline_s=_REAP_S)
        forget_child(self._actor, worker.child)
        return code

    def _await_closed(self, worker: _Worker, end: float | None) -> orders.Closed | None:
        while not worker.end.ended:
            self._mind_unsent(worker)
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                return None
            ready = self._actor.watcher.wait_for((LINK, DEATH), left)
            worker.end.flush()
            for item in worker.end.read():
                if isinstance(item, orders.Closed):
                    return item
            if DEATH in ready:
                return None
        return None


def _named(code: int | None) -> str | int:
    if code is None:
        return "unknown"
    if code >= 0:
        return code
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
