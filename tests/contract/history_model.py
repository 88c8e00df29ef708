"""What one agent owes its clients, told from the public calls alone: the model of a real history.

Every turn is held at a gate until the history releases it, so that at each moment it is known what runs, what
waits, and which messages have to come next, for whom, in which order.
"""

from __future__ import annotations

from typing import Any

import attrs

from gen_agent import PENDING, RequestRef
from gen_agent.values import payload_size
from tests.contract.history_waiting import FOLLOW_UP, Job, Waiting

_CODES = {"bad": "backend_failed", "crash": "task_crashed", "again": "no_terminal_event"}
_TERMINALS = {"good": "good", "chain": "chain", "doom": "doom", "bad": "error"}


class Requests(Waiting):
    """What becomes of a request until it runs."""

    def take(self, job: Job) -> None:
        """An admitted request runs or waits."""
        if self.active is not None or self.halted:
            self.queue.append(job)
            self.admit(job)
        else:
            self.dispatch(job)
            self.serve()

    def admit(self, job: Job) -> None:
        """A submit is told so, once."""
        if job.admission_due:
            job.admission_due = False
            self.say(job.to, "admission", job.ref, None)

    def dispatch(self, job: Job) -> None:
        """`pre_turn`, then the turn as far as its gate; what is rejected was accepted all the same (C201)."""
        if job.word == "skip":
            self.complete(job, "pre_turn_skipped")
        elif job.word == "pause":
            self.complete(job, "pre_turn_halted")
            self.enter_halt()
        else:
            self.active = job
        self.admit(job)
        if self.active is job and "text:t" in job.prompt:
            self.say(job.stream_to, "event", job.ref, job.attempt, "t")

    def serve(self) -> None:
        """What comes next, if anything may: the slot, then the queue (C078, C079)."""
        while self.active is None and not self.halted and (self.slot is not None or self.queue):
            if self.slot is not None:
                job, self.slot = self.slot, None
            else:
                job = self.queue.pop(0)
            self.dispatch(job)

    def polled(self, ref: RequestRef) -> Any:
        """The answer to a poll: `PENDING`, or a text or code."""
        known = [job.ref for job in (self.active, self.slot, *self.queue) if job is not None]
        return PENDING if ref in known else self.results.get(ref, "not_found")

    def cancel(self, ref: RequestRef) -> str:
        """The answer to a cancel, and what it does (C122, C123)."""
        if self.active is not None and self.active.ref == ref:
            return "current" if self.active.origin == "tell" else "not_found"
        if ref in self.results:
            return "cancelled" if self.results[ref] == "cancelled" else "already_finished"
        for job in (self.slot, *self.queue):
            if job is not None and job.origin == "tell" and job.ref == ref:
                self.take_out(job)
                self.complete(job, "cancelled")
                return "cancelled"
        return "not_found"

    def take_out(self, job: Job) -> None:
        """It waits no longer."""
        if job is self.slot:
            self.slot = None
        else:
            self.queue.remove(job)


class Model(Requests):
    """One incarnation of the agent."""

    def close_stream(self, key: str, ref: RequestRef) -> None:
        """Nobody reads on: the request is taken back, and nothing is due for it any more."""
        self.closed.add(key)
        self.due.pop(key, None)
        if self.cancel(ref) == "current":
            self.interrupt()

    def caller_dies(self, who: str, asks: list[str]) -> set[RequestRef]:
        """Its queued asks are dropped (C108), and of what else was due to it nobody hears: those requests."""
        self.closed.update(asks)
        self.queue = [job for job in self.queue if (job.origin, job.by) != ("ask", who)]
        mute = set()
        for job in (self.active, self.slot, *self.queue):
            if job is not None and job.to == who:
                assert job.ref is not None
                mute.add(job.ref)
                job.to = None
            if job is not None and job.stream_to == who:
                job.stream_to = None
        return mute

    # ---------------------------------------------------------------- the turn

    def finish(self) -> None:
        """The gate was opened: the active turn comes to what its prompt says."""
        job = self.active
        assert job is not None
        if job.word in _TERMINALS:
            self.say(job.stream_to, "event", job.ref, job.attempt, _TERMINALS[job.word])
        before, self.turns = self.turns, self.turns + (job.word != "crash")
        if job.word == "doom":
            self.end("callback_failed")
        elif job.word == "again" and not self.draining:
            # A failed request is retried under its ref (C130).
            self.slot = attrs.evolve(job, prompt=FOLLOW_UP, attempt=job.attempt + 1)
            self.move_on()
        else:
            self.complete(job, _CODES.get(job.word, f"{job.word} {before}"))
            if job.word == "chain" and not self.draining:
                self.slot = Job(FOLLOW_UP, "own")
            self.move_on()

    def cut_short(self, code: str) -> None:
        """The active turn's worker was killed; the session is what it was before the turn (C095)."""
        if self.active is not None:
            self.complete(self.active, code)
            self.move_on()

    def interrupt(self) -> None:
        """On purpose."""
        self.cut_short("interrupted")

    def move_on(self) -> None:
        """After a turn: the halt's failures, deferred events, the next work (C045, C085)."""
        self.active = None
        if self.halt_pending:
            self.enter_halt()
        events, self.deferred = self.deferred, []
        for event in events:
            self.handle(event, True)
        if self.draining:
            self.end("normal")
        self.serve()

    # ---------------------------------------------------------------- events and controls

    def notify(self, event: str) -> Any:
        """An event is handled or kept (None), or refused: a code, or an `Overloaded`."""
        if self.draining:
            return "draining"
        if self.active is None:
            refusal = self.handle(event, False)
            self.serve()
            return refusal
        over = self.notice_overload(payload_size(event))
        if over is None:
            self.deferred.append(event)
        return over

    def handle(self, event: str, deferred: bool) -> Any:
        """What `handle_event` makes of it (C039, C045, C146)."""
        self.noticed.append(event)
        if event == "stop":
            self.enter_halt()
        if event != "go":
            return None
        job = Job(FOLLOW_UP, "own")
        if not deferred and not self.halted:
            self.dispatch(job)
            return None
        over = self.prompt_overload(payload_size(job.prompt))
        if over is None:
            self.queue.append(job)
        return over

    def halt(self) -> None:
        """A halt was asked for."""
        if self.active is None:
            self.enter_halt()
        elif not self.draining:
            self.halt_pending = True

    def resume(self) -> None:
        """A resume was asked for."""
        if not self.draining:
            self.halt_pending = self.halted = False
            self.serve()

    def reset(self) -> Any:
        """The answer to a reset: a code, or None when it is done."""
        if self.active is not None:
            return "draining" if self.draining else "busy"
        self.turns = 0
        return None

    def drain(self, key: str) -> None:
        """Who waits is told, and the agent ends after its turn (C068, C088, C214)."""
        self.drains.append(key)
        if not self.draining:
            self.draining = True
            self.reject_waiting()
        if self.active is None:
            self.end("normal")
