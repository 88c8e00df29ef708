"""An agent's worker where there are no processes: turns run to their end inside the dispatch, in the agent
itself.

The same face as `seat.WorkerSeat`; what can't be had here (killing, watchdogs, streams that arrive while a
turn runs) is not pretended. This module must not know Thespian.
"""

from __future__ import annotations

from collections.abc import Callable

from gen_agent.actors import orders
from gen_agent.actors.service import Seed, Service
from gen_agent.core import signals
from gen_agent.errors import GenAgentError
from gen_agent.sealed import Sealed, SealedRun

Feed = Callable[[signals.Event], None]


class LocalSeat:
    """The place of a worker that is the agent itself."""

    def __init__(
        self,
        seed: Seed,
        feed: Feed,
        booted: Callable[[Sealed | None, GenAgentError | None], None],
        soon: Callable[[Callable[[], None]], None],
        log: Callable[[str, str], None],
    ) -> None:
        self._service = Service(seed, log)
        self._feed, self._booted, self._later = feed, booted, soon
        self._held: Sealed | None = None
        self._answer: GenAgentError | None = None
        self._stopped = False

    def boot(self) -> None:
        """Start the session."""
        report = self._service.boot(orders.Boot(True))
        self._held = report.session
        self._booted(report.session, None if report.error is None else report.error.open())

    def start_turn(self, effect: signals.StartTurn, listening: bool) -> None:
        """Run the turn as soon as the effects before it are done."""
        self._later(lambda: self._run(effect, listening))

    def _run(self, effect: signals.StartTurn, listening: bool) -> None:
        if self._stopped:
            return
        tag, session = effect.tag, None if self._held == effect.session else effect.session
        self._held = effect.session
        self._feed(signals.TurnStarted(tag))
        order = orders.RunTurn(tag, effect.prompt, session, effect.state, None, listening, None)

        def on_event(body: bytes) -> None:
            if listening:
                self._feed(signals.EventsStreamed(tag, SealedRun.joined((body,))))

        report = self._service.run(order, on_event, lambda *offered: self._offer(tag, *offered))
        if report.session is not None:
            self._held = report.session
        outcome = report.outcome.open()
        sealed = None if isinstance(outcome, GenAgentError) else report.outcome
        self._feed(signals.TurnEnded(tag, outcome, sealed, report.session, report.state, report.duration_s))

    def _offer(
        self, tag: signals.Tag, session_id: object, supported: bool, session: Sealed | None
    ) -> GenAgentError | None:
        self._feed(signals.CheckpointAsked(tag, session_id, supported, session))
        if self._answer is None and session is not None:
            self._held = session
        return self._answer

    def answer_checkpoint(self, effect: signals.AnswerCheckpoint) -> None:
        """Remember the answer for the turn that waits for it."""
        self._answer = effect.error

    def reset(self, effect: signals.ResetWorkerSession) -> None:
        """Reset the session as soon as the effects before it are done."""

        def run() -> None:
            session = None if self._held == effect.session else effect.session
            report = self._service.reset(orders.Reset(session))
            self._held = report.session or effect.session
            error = None if report.error is None else report.error.open()
            self._feed(signals.ResetEnded(effect.by, report.session, error))

        self._later(run)

    def kill_turn(self, tag: signals.Tag) -> None:
        """Nothing runs outside the dispatch: there is nothing to kill."""

    def shut(self) -> None:
        """No turn is run any more."""
        self._stopped = True

    def close_session(self, session: Sealed, timeout_s: float | None) -> tuple[bool, str | None] | None:
        """Run `terminate_session`; always in time, for nothing can stop it."""
        self._stopped = True
        report = self._service.close(orders.Close(True, None if self._held == session else session))
        return True, report.error_class
