"""Work given to a worker, and what comes back of it: orders out, the machine's events in.

One piece of work at a time, a turn or a reset. Whoever loses a worker says so here, and whatever was under
way ends with an event. Makes and kills nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gen_agent.actors import orders
from gen_agent.actors.service import Seed
from gen_agent.actors.workerprocess import Phase, WorkerProcess
from gen_agent.core import signals
from gen_agent.errors import GenAgentError, WorkerCrashed
from gen_agent.sealed import Sealed, SealedRun

ALARM_AFTER_S = 1.0
"""How long after the watchdog the kernel's alarm ends a worker whose agent is blocked."""

Work = signals.StartTurn | signals.ResetWorkerSession


class Handover:
    """What a seat and its worker have between them: the work that waits, and the work under way."""

    def __init__(self, seed: Seed, feed: Callable[[signals.Event], None]) -> None:
        self._seed, self._feed = seed, feed
        self._resetting: signals.ResetWorkerSession | None = None
        self._offered: Sealed | None = None
        self.waiting: Work | None = None
        self.listening = False

    def waits_for(self, tag: signals.Tag) -> bool:
        """Whether that turn has no worker yet."""
        return isinstance(self.waiting, signals.StartTurn) and self.waiting.tag == tag

    # ---------------------------------------------------------------- out

    def give(self, worker: WorkerProcess) -> None:
        """Hand the waiting work, if there is any, to a worker that is ready."""
        work, self.waiting = self.waiting, None
        if work is None:
            return
        session = None if worker.held == work.session else work.session
        worker.held = work.session
        if isinstance(work, signals.ResetWorkerSession):
            worker.phase, self._resetting = Phase.RESETTING, work
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
        return orders.RunTurn(work.tag, work.prompt, session, work.state, limit, self.listening, life)

    def answer_checkpoint(self, worker: WorkerProcess, error: GenAgentError | None) -> None:
        """Let the worker go on; it holds the session of an accepted checkpoint from now on."""
        if error is None and self._offered is not None:
            worker.held = self._offered
        worker.send(orders.CheckpointAnswer(error))

    # ---------------------------------------------------------------- in

    def take(self, worker: WorkerProcess, report: Any) -> None:
        """Turn what a worker says about its work into events."""
        tag = worker.tag
        if tag is None:
            if isinstance(report, orders.WasReset):
                self._was_reset(worker, report)
        elif isinstance(report, SealedRun):
            self._feed(signals.EventsStreamed(tag, report))
        elif isinstance(report, orders.Alive):
            self._feed(signals.EventsStreamed(tag, SealedRun(b"", 0)))
        elif isinstance(report, orders.Checkpoint):
            self._offered = report.session
            self._feed(signals.CheckpointAsked(tag, report.session_id, report.supported, report.session))
        elif isinstance(report, orders.Ended):
            self._turn_ended(worker, tag, report)

    def _turn_ended(self, worker: WorkerProcess, tag: signals.Tag, report: orders.Ended) -> None:
        worker.phase, worker.tag = Phase.READY, None
        worker.held = report.session or worker.held
        limit = self._seed.options.max_turns_per_worker
        if limit is not None and worker.turns >= limit:
            worker.leave()
        outcome = report.outcome.open()
        sealed = None if isinstance(outcome, GenAgentError) else report.outcome
        self._feed(signals.TurnEnded(tag, outcome, sealed, report.session, report.state, report.duration_s))

    def _was_reset(self, worker: WorkerProcess, report: orders.WasReset) -> None:
        worker.phase = Phase.READY
        worker.held = report.session or worker.held
        self._reset_ended(report.session, None if report.error is None else report.error.open())

    def _reset_ended(self, session: Sealed | None, error: GenAgentError | None) -> None:
        effect, self._resetting = self._resetting, None
        if effect is not None:
            self._feed(signals.ResetEnded(effect.by, session, error))

    # ---------------------------------------------------------------- lost

    def lost(self, worker: WorkerProcess, cause: GenAgentError) -> None:
        """The worker is gone: end what it was doing."""
        if worker.tag is not None:
            self._feed(signals.WorkerDied(worker.tag, cause))
        elif worker.phase is Phase.RESETTING:
            self._reset_ended(None, cause)

    def refuse(self, reason: str) -> None:
        """No worker can be had for the waiting work (C137)."""
        work, self.waiting = self.waiting, None
        if isinstance(work, signals.StartTurn):
            self._feed(signals.TurnRefused(work.tag, reason))
        elif work is not None:
            self._feed(signals.ResetEnded(work.by, None, WorkerCrashed(reason)))
