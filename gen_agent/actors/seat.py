"""The place of an agent's worker: one at a time, handed its work, replaced.

The law: nothing here waits, but for the deaths it causes. A worker that was killed, has died or has served
its turns is replaced at once, so that the next turn finds one; one that never served is not, until work
comes. Whatever still comes from a dead one is thrown away with its link, so nothing late reaches a later turn
(C098, C180).
"""

from __future__ import annotations

import logging
import signal
from collections import deque
from collections.abc import Callable
from typing import Any

import attrs

from gen_agent.actors import orders
from gen_agent.actors.children import CannotCreate
from gen_agent.actors.household import Household
from gen_agent.actors.service import Seed
from gen_agent.actors.shell import Shell
from gen_agent.actors.watching import Ready
from gen_agent.actors.workerprocess import DEATH, LINK, Phase, WorkerProcess, fork_worker, named
from gen_agent.core import signals
from gen_agent.errors import GenAgentError, WatchdogTimeout, WorkerCrashed
from gen_agent.sealed import Sealed, SealedRun

ATTACH_S = 10.0
"""How long a forked worker may take until it reads its link."""

LEAVE_S = 5.0
"""How long a worker that is being replaced may take to give its resources back."""

ALARM_AFTER_S = 1.0
"""How long after the watchdog the kernel's alarm ends a worker whose agent is blocked."""

PATIENCE = "the worker's time is up"

_REMEMBERED = 64

Work = signals.StartTurn | signals.ResetWorkerSession


@attrs.frozen(slots=True)
class Port:
    """What a seat tells its agent: events for the machine, and the outcome of the first start."""

    feed: Callable[[signals.Event], None]
    booted: Callable[[Sealed | None, GenAgentError | None], None]


class Desk:
    """What a seat and its worker have between them: the work that waits, and the work under way."""

    def __init__(self) -> None:
        self.waiting: Work | None = None
        self.resetting: signals.ResetWorkerSession | None = None
        self.offered: Sealed | None = None
        self.listening = False
        self.first = True
        self.closed = False


class WorkerSeat:
    """The place of one agent's worker."""

    def __init__(
        self, actor: Shell, seed: Seed, household: Household, port: Port, keep: tuple[int, ...]
    ) -> None:
        self._actor, self._seed, self._household = actor, seed, household
        self._feed, self._booted, self._keep = port.feed, port.booted, keep
        self._worker: WorkerProcess | None = None
        self._desk = Desk()
        self.addresses: deque[Any] = deque(maxlen=_REMEMBERED)

    # ---------------------------------------------------------------- what the agent asks for

    def boot(self) -> None:
        """Make the first worker and start the session: `booted` is called back. Raises `CannotCreate`."""
        self._fork()

    def start_turn(self, effect: signals.StartTurn, listening: bool) -> None:
        """Hand a turn to the worker, or have one made for it first."""
        self._desk.listening = listening
        self._give(effect)

    def reset(self, effect: signals.ResetWorkerSession) -> None:
        """Have the worker reset the session, or have one made for it first."""
        self._give(effect)

    def answer_checkpoint(self, effect: signals.AnswerCheckpoint) -> None:
        """Let the worker go on from its checkpoint."""
        worker = self._worker
        if worker is not None and worker.tag == effect.tag:
            if effect.error is None and self._desk.offered is not None:
                worker.held = self._desk.offered
            worker.send(orders.CheckpointAnswer(effect.error))

    def kill_turn(self, tag: signals.Tag) -> None:
        """Kill the worker of that turn with everything it started: gone on return.

        A worker that is still being made for that turn goes as well. The successor is made at once.
        """
        worker, waiting = self._worker, self._desk.waiting
        awaited = isinstance(waiting, signals.StartTurn) and waiting.tag == tag
        if awaited:
            self._desk.waiting = None
        if worker is not None and (awaited or worker.tag == tag):
            self._bury(worker)
            self._actor.soon(self._replace)

    def shut(self) -> None:
        """Kill whatever worker there is; none is made any more."""
        self._desk.closed, self._desk.waiting = True, None
        if self._worker is not None:
            self._bury(self._worker)

    def close_session(self, session: Sealed, timeout_s: float | None) -> tuple[bool, str | None] | None:
        """Have a live, idle worker run `terminate_session` and leave, waiting at most `timeout_s`, then end
        it.

        Returns whether it did so in time, and what it raised, by class. None at once where no worker can.
        """
        worker, self._desk.closed = self._worker, True
        if worker is None or worker.phase is not Phase.READY:
            self.shut()
            return None
        worker.send(orders.Close(True, None if worker.held == session else session))
        report = worker.await_closed(timeout_s)
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
            worker.flush()
        if ready.readable:
            self._read(worker)

    def on_deadline(self) -> None:
        """The worker took too long to attach, to leave, or to die after its link ended."""
        worker = self._worker
        if worker is not None:
            self._bury(worker)
            self._mourn(worker, WorkerCrashed("no answer"))

    # ---------------------------------------------------------------- making workers

    def _give(self, work: Work) -> None:
        self._desk.waiting = work
        if self._worker is None:
            self._replace()
        elif self._worker.phase is Phase.READY:
            self._hand_over(self._worker)

    def _replace(self) -> None:
        if self._worker is not None or self._desk.closed:
            return
        try:
            self._fork()
        except CannotCreate:
            self._refuse("no process could be made")

    def _fork(self) -> None:
        worker = fork_worker(self._actor, self._seed, self._household, self._keep, self._desk.first)
        self._worker = worker
        self.addresses.append(worker.child.address)
        self._actor.set_deadline(PATIENCE, ATTACH_S)
        if DEATH not in self._actor.watcher:
            self._actor.soon(lambda: self._ended(worker))

    def _was_booted(self, worker: WorkerProcess, report: orders.Booted) -> None:
        if report.error is not None:
            self._bury(worker)
            self._mourn(worker, report.error.open())
            return
        worker.phase, worker.held = Phase.READY, report.session
        first, self._desk.first = self._desk.first, False
        if first:
            self._booted(report.session, None)
        if self._worker is worker and self._desk.waiting is not None:
            self._hand_over(worker)

    # ---------------------------------------------------------------- work

    def _hand_over(self, worker: WorkerProcess) -> None:
        work, self._desk.waiting = self._desk.waiting, None
        if work is None:
            return
        session = None if worker.held == work.session else work.session
        worker.held = work.session
        if isinstance(work, signals.ResetWorkerSession):
            worker.phase, self._desk.resetting = Phase.RESETTING, work
            worker.send(orders.Reset(session))
            return
        worker.phase, worker.tag = Phase.RUNNING, work.tag
        worker.turns += 1
        worker.send(self._order(work, session))
        self._feed(signals.TurnStarted(work.tag))

    def _order(self, work: signals.StartTurn, session: Sealed | None) -> orders.RunTurn:
        watchdog, idle = self._seed.options.watchdog_s, self._seed.options.idle_watchdog_s
        limit = None if watchdog is None else watchdog + ALARM_AFTER_S
        life = None if idle is None else idle / 4
        return orders.RunTurn(work.tag, work.prompt, session, work.state, limit, self._desk.listening, life)

    def _read(self, worker: WorkerProcess) -> None:
        for report in worker.end.read():
            if self._worker is not worker:
                return
            self._take(worker, report)
        if worker.end.ended and self._worker is worker:
            # Its death follows; a process that lives on without its link is of no use.
            self._actor.watcher.remove(LINK)
            self._actor.set_deadline(PATIENCE, ALARM_AFTER_S)

    def _take(self, worker: WorkerProcess, report: Any) -> None:
        if worker.tag is not None:
            self._take_of_turn(worker, worker.tag, report)
        elif isinstance(report, orders.WasReset):
            self._was_reset(worker, report)
        elif isinstance(report, orders.Booted):
            self._was_booted(worker, report)
        elif isinstance(report, orders.Attached):
            self._actor.clear_deadline(PATIENCE)
            worker.phase = Phase.BOOTING
            worker.send(orders.Boot(self._desk.first))
        if isinstance(report, orders.Broken):
            logging.getLogger("gen_agent").error("the worker failed: %s", report.text)

    def _take_of_turn(self, worker: WorkerProcess, tag: signals.Tag, report: Any) -> None:
        if isinstance(report, SealedRun):
            self._feed(signals.EventsStreamed(tag, report))
        elif isinstance(report, orders.Alive):
            self._feed(signals.EventsStreamed(tag, SealedRun(b"", 0)))
        elif isinstance(report, orders.Checkpoint):
            self._desk.offered = report.session
            self._feed(signals.CheckpointAsked(tag, report.session_id, report.supported, report.session))
        elif isinstance(report, orders.Ended):
            self._turn_ended(worker, tag, report)

    def _turn_ended(self, worker: WorkerProcess, tag: signals.Tag, report: orders.Ended) -> None:
        worker.phase, worker.tag = Phase.READY, None
        worker.held = report.session or worker.held
        limit = self._seed.options.max_turns_per_worker
        if limit is not None and worker.turns >= limit:
            worker.phase = Phase.LEAVING
            worker.send(orders.Close(False))
            self._actor.set_deadline(PATIENCE, LEAVE_S)
        outcome = report.outcome.open()
        sealed = None if isinstance(outcome, GenAgentError) else report.outcome
        self._feed(signals.TurnEnded(tag, outcome, sealed, report.session, report.state, report.duration_s))

    def _was_reset(self, worker: WorkerProcess, report: orders.WasReset) -> None:
        worker.phase = Phase.READY
        worker.held = report.session or worker.held
        self._reset_ended(report.session, None if report.error is None else report.error.open())

    def _reset_ended(self, session: Sealed | None, error: GenAgentError | None) -> None:
        effect, self._desk.resetting = self._desk.resetting, None
        if effect is not None:
            self._feed(signals.ResetEnded(effect.by, session, error))

    # ---------------------------------------------------------------- ends

    def _ended(self, worker: WorkerProcess) -> None:
        if self._worker is not worker:
            return
        # What it said last counts, also when its death is seen first.
        for report in worker.end.read(None):
            self._take(worker, report)
            if self._worker is not worker:
                return
        self._mourn(worker, self._cause(self._bury(worker)))

    def _cause(self, code: int | None) -> GenAgentError:
        limit = self._seed.options.watchdog_s
        if code == -signal.SIGALRM and limit is not None:
            return WatchdogTimeout(limit)
        return WorkerCrashed(named(code))

    def _bury(self, worker: WorkerProcess) -> int | None:
        self._worker = None
        self._actor.clear_deadline(PATIENCE)
        return worker.bury()

    def _mourn(self, worker: WorkerProcess, cause: GenAgentError) -> None:
        if worker.phase in (Phase.ATTACHING, Phase.BOOTING):
            self._never_served(cause)
            return
        self._actor.soon(self._replace)
        if worker.tag is not None:
            self._feed(signals.WorkerDied(worker.tag, cause))
        elif worker.phase is Phase.RESETTING:
            self._reset_ended(None, cause)
        elif self._desk.waiting is not None:
            self._replace()

    def _never_served(self, cause: GenAgentError) -> None:
        # No successor until work comes: what fails at its start would fail again and again.
        if self._desk.first:
            self._booted(None, cause)
        else:
            self._refuse(str(cause.fields.get("reason", cause.code)))

    def _refuse(self, reason: str) -> None:
        work, self._desk.waiting = self._desk.waiting, None
        if isinstance(work, signals.StartTurn):
            self._feed(signals.TurnRefused(work.tag, reason))
        elif work is not None:
            self._feed(signals.ResetEnded(work.by, None, WorkerCrashed(reason)))
