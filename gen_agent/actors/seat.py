"""The place of an agent's worker: one at a time, made, watched, replaced.

The law: nothing here waits, but for the deaths it causes. A worker that was killed, has died or has served
its turns is replaced at once, so that the next turn finds one; one that never served is not, until work
comes. Whatever still comes from a dead one is thrown away with its link, so nothing late reaches a later turn
(C098, C180).
"""

from __future__ import annotations

import contextlib
import logging
import signal
from collections.abc import Callable, Hashable
from typing import Any

import attrs

from gen_agent.actors import orders
from gen_agent.actors.children import CannotCreate
from gen_agent.actors.handover import ALARM_AFTER_S, Handover, Work
from gen_agent.actors.household import Household
from gen_agent.actors.linkframes import NoFrame
from gen_agent.actors.service import Seed
from gen_agent.actors.shell import Shell
from gen_agent.actors.watching import Ready
from gen_agent.actors.workerprocess import (
    DEATH,
    LINK,
    PATIENCE,
    STREAM,
    Phase,
    WorkerProcess,
    fork_worker,
    named,
)
from gen_agent.core import signals
from gen_agent.errors import GenAgentError, WatchdogTimeout, WorkerCrashed
from gen_agent.sealed import Sealed

ATTACH_S = 10.0
"""How long a forked worker may take until it reads its link."""


@attrs.frozen(slots=True)
class Port:
    """What a seat tells its agent: events for the machine, and the outcome of the first start."""

    feed: Callable[[signals.Event], None]
    booted: Callable[[Sealed | None, GenAgentError | None], None]


class WorkerPlace:
    """Where a worker is made and buried: at most one at a time, and none any more once it is closed."""

    def __init__(self, actor: Shell, seed: Seed, household: Household, keep: tuple[int, ...]) -> None:
        self._actor, self._seed, self._household, self._keep = actor, seed, household, keep
        self._worker: WorkerProcess | None = None
        self._first, self._closed = True, False
        self._broken: str | None = None

    def _fork(self, died: Callable[[WorkerProcess], None]) -> None:
        self._broken = None
        worker = fork_worker(self._actor, self._seed, self._household, self._keep, self._first)
        self._worker = worker
        self._actor.set_deadline(PATIENCE, ATTACH_S)
        # It finds this in its link as soon as it looks there.
        worker.send(orders.Boot(self._first))
        if DEATH not in self._actor.watcher:
            self._actor.soon(lambda: died(worker))

    def _bury(self, worker: WorkerProcess) -> int | None:
        self._worker = None
        self._actor.clear_deadline(PATIENCE)
        return worker.bury()

    def _cause(self, code: int | None) -> GenAgentError:
        limit = self._seed.options.watchdog_s
        if code == -signal.SIGALRM and limit is not None:
            return WatchdogTimeout(limit)
        # What it met is told by its last word; its status is the same for all of that.
        return WorkerCrashed(named(code) if self._broken is None else self._broken)

    def shut(self) -> None:
        """Kill whatever worker there is; none is made any more."""
        self._closed = True
        if self._worker is not None:
            self._bury(self._worker)

    def close_session(self, session: Sealed, timeout_s: float | None) -> tuple[bool, str | None] | None:
        """Have a live, idle worker run `terminate_session` and leave, waiting at most `timeout_s`; end it.

        Returns whether it did so in time, and what it raised, by class. None at once where no worker can.
        """
        worker, self._closed = self._worker, True
        if worker is None or worker.phase is not Phase.READY:
            self.shut()
            return None
        worker.send(orders.Close(True, None if worker.held == session else session))
        report = worker.await_closed(timeout_s)
        self._bury(worker)
        return report is not None, None if report is None else report.error_class


class WorkerSeat(WorkerPlace):
    """The place of one agent's worker, and the work that is done there."""

    def __init__(
        self, actor: Shell, seed: Seed, household: Household, port: Port, keep: tuple[int, ...]
    ) -> None:
        super().__init__(actor, seed, household, keep)
        self._booted = port.booted
        self._work = Handover(seed, port.feed)

    # ---------------------------------------------------------------- what the agent asks for

    def boot(self) -> None:
        """Make the first worker and start the session: `booted` is called back. Raises `CannotCreate`."""
        self._fork(self._ended)

    def start_turn(self, effect: signals.StartTurn, listening: bool) -> None:
        """Hand a turn to the worker, or have one made for it first."""
        self._work.listening = listening
        self._give(effect)

    def reset(self, effect: signals.ResetWorkerSession) -> None:
        """Have the worker reset the session, or have one made for it first."""
        self._give(effect)

    def _give(self, work: Work) -> None:
        self._work.waiting = work
        if self._worker is None:
            self._replace()
        elif self._worker.phase is Phase.READY:
            if self._actor.watcher.wait_for((DEATH,), 0.0):
                # Nothing was begun: its successor does it.
                self._ended(self._worker)
            else:
                self._work.give(self._worker)

    def answer_checkpoint(self, effect: signals.AnswerCheckpoint) -> None:
        """Let the worker go on from its checkpoint."""
        if self._worker is not None and self._worker.tag == effect.tag:
            self._work.answer_checkpoint(self._worker, effect.error)

    def kill_turn(self, tag: signals.Tag) -> None:
        """Kill the worker of that turn with everything it started: gone on return.

        A worker that is still being made for that turn goes as well. The successor is made at once.
        """
        awaited = self._work.waits_for(tag)
        if awaited:
            self._work.waiting = None
        worker = self._worker
        if worker is not None and (awaited or worker.tag == tag):
            self._bury(worker)
            self._actor.soon(self._replace)

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

    def _read(self, worker: WorkerProcess) -> None:
        try:
            reports = worker.end.read()
        except NoFrame:
            self._end(worker, WorkerCrashed("garbage on its link"))
            return
        self._take(worker, reports)
        if worker.end.ended and self._worker is worker:
            # Its death follows; a process that lives on without its link is of no use.
            self._actor.watcher.remove(LINK)
            self._actor.set_deadline(PATIENCE, ALARM_AFTER_S)
        elif self._worker is worker and worker.end.again_s is not None:
            self._read_again(worker, worker.end.again_s)

    def _read_again(self, worker: WorkerProcess, after_s: float) -> None:
        if after_s > 0.0 and self._actor.sends_at_once:
            self._actor.set_deadline(STREAM, after_s)
        else:
            # Elsewhere a wakeup may come late.
            self._actor.soon(lambda: self._read(worker) if self._worker is worker else None)

    def _take(self, worker: WorkerProcess, reports: list[Any]) -> None:
        for report in reports:
            if self._worker is not worker:
                return
            if isinstance(report, orders.Attached):
                self._actor.clear_deadline(PATIENCE)
                worker.phase = Phase.BOOTING
            elif isinstance(report, orders.Booted):
                self._was_booted(worker, report)
            elif isinstance(report, orders.Broken):
                self._broken = report.text.partition(" ")[0]
                logging.getLogger("gen_agent").error("the worker failed: %s", report.text)
            else:
                self._work.take(worker, report)

    def on_deadline(self, key: Hashable) -> None:
        """It is time to read on; or the worker took too long to attach, to leave, or to die after its link
        ended.
        """
        if self._worker is None:
            return
        if key == STREAM:
            # Of an earlier worker, perhaps: there is no harm in looking.
            self._read(self._worker)
        else:
            self._end(self._worker, WorkerCrashed("no answer"))

    def _end(self, worker: WorkerProcess, cause: GenAgentError) -> None:
        self._bury(worker)
        self._mourn(worker, cause)

    # ---------------------------------------------------------------- making workers

    def _replace(self) -> None:
        if self._worker is not None or self._closed:
            return
        try:
            self._fork(self._ended)
        except CannotCreate:
            self._work.refuse("no process could be made")

    def _was_booted(self, worker: WorkerProcess, report: orders.Booted) -> None:
        if report.error is not None:
            self._bury(worker)
            self._mourn(worker, report.error.open())
            return
        worker.phase, worker.held = Phase.READY, report.session
        first, self._first = self._first, False
        if first:
            self._booted(report.session, None)
        if self._worker is worker:
            self._work.give(worker)

    # ---------------------------------------------------------------- ends

    def _ended(self, worker: WorkerProcess) -> None:
        if self._worker is not worker:
            return
        # What it said last counts, also when its death is seen first; but for a last word broken off.
        with contextlib.suppress(NoFrame):
            self._take(worker, worker.end.read(None))
        if self._worker is worker:
            self._mourn(worker, self._cause(self._bury(worker)))

    def _mourn(self, worker: WorkerProcess, cause: GenAgentError) -> None:
        if worker.phase in (Phase.ATTACHING, Phase.BOOTING):
            # No successor until work comes: what fails at its start would fail again and again.
            self._never_served(cause)
            return
        self._actor.soon(self._replace)
        self._work.lost(worker, cause)
        if self._work.waiting is not None:
            self._replace()

    def _never_served(self, cause: GenAgentError) -> None:
        if self._first:
            self._booted(None, cause)
        else:
            self._work.refuse(str(cause.fields.get("reason", cause.code)))
