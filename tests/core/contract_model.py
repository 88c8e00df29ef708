"""The contract as a small model, part four: what each request and each word of the worker does (A3, A5,
A13-A15)."""

from __future__ import annotations

from typing import Any

from gen_agent.agent import Halt, Prompt
from gen_agent.errors import (
    Busy,
    ConflictingSessionId,
    Draining,
    GenAgentError,
    Halted,
    Interrupted,
    InvalidSessionId,
    NotCurrent,
    RequestNotFound,
    StartError,
    UnknownRequest,
    UnsupportedCheckpoint,
    WatchdogTimeout,
    WorkerUnavailable,
)
from gen_agent.values import PENDING, Caller, RequestRef
from tests.core.contract_basics import Job, Raised
from tests.core.contract_turns import Turns


class Requests(Turns):
    """The beginning, prompts, notifications and questions."""

    # -------------------------------------------------------------------- the beginning

    def boot(self, state: Any, session: Any) -> None:
        self.state, self.session = state, session
        self.say("up")
        value = self.run("pre_run")
        if isinstance(value, Raised):
            self.leave("pre_run_failed" if isinstance(value.error, StartError) else "pre_run_crashed")
        elif value is None:
            self.leave("pre_run_invalid")
        else:
            self.state = value

    # -------------------------------------------------------------------- prompts (C051-C056)

    def accept(self, job: Job) -> None:
        over: GenAgentError | None = Draining() if self.draining else None
        if over is None and self.halted and job.fails:
            over = Halted()
        waits = self.busy or self.halted
        if over is None and waits:
            over = self.prompt_refusal(job.size)
        if over is not None:
            return self.refuse(job, over)
        job.admission_due = not waits
        if waits:
            self.enqueue(job)
            return self.acknowledge(job)
        self.dispatch(job)
        return self.serve()

    def refuse(self, job: Job, error: GenAgentError) -> None:
        """C151: no cache entry, no completion."""
        if not isinstance(error, Halted):  # C237
            self.tell("input.rejected", error)
            self.tell("turn.rejected", None, 1, job.origin, error.code)
        if job.submitted:
            self.say("admit", job.to, job.ref, error)
        else:
            self.say("answer", job.by, error)

    # -------------------------------------------------------------------- notifications (C058-C060)

    def notify(self, event: Any, size: int, by: Any = None) -> None:
        error: GenAgentError | None
        if self.draining:
            error = Draining()
            self.tell("input.rejected", error)
        else:
            self.tell("event.received", event)
            error = self.take_notice("handle_event", event, size)
        if by is not None:
            self.say("answer", by, error)

    def inform(self, message: Any, size: int) -> None:
        if not self.draining:
            self.take_notice("handle_info", message, size)

    def take_notice(self, kind: str, notice: Any, size: int) -> GenAgentError | None:
        if not self.busy:
            error = self.handle_now(kind, notice)
            self.complete_halt()
            self.serve()
            return error
        over = self.notice_refusal(size)
        if over is None:
            self.notices.append((kind, notice, size))
        else:
            self.tell("input.rejected", over)
        return over

    def handle_now(self, kind: str, notice: Any) -> GenAgentError | None:
        decision = self.consider(kind, notice)
        if isinstance(decision, Halt):
            self.enter_halt()
        elif isinstance(decision, Prompt) and self.halted:
            return self.queue_event_prompt(decision.text)
        elif isinstance(decision, Prompt):
            self.dispatch(Job(self.fresh(), decision.text, "event"))
        return None

    # -------------------------------------------------------------------- questions (C117, C118, C122-C124)

    def poll(self, by: Any, ref: RequestRef) -> None:
        known = [job.ref for job in (self.active, self.slot, *self.queue) if job is not None]
        if ref in self.results:
            self.say("answer", by, self.results[ref][0])
        elif ref in known:
            self.say("answer", by, PENDING)
        else:
            self.say("answer", by, RequestNotFound(ref))

    def cancel_request(self, by: Any, ref: RequestRef) -> None:
        self.say("answer", by, self._cancelled(ref))

    def _cancelled(self, ref: RequestRef) -> str:
        if self.active is not None and self.active.ref == ref and self.active.origin == "tell":
            return "current"
        if ref in self.results:
            return (
                "cancelled" if self.results[ref][0].__class__.__name__ == "Cancelled" else "already_finished"
            )
        waiting = [self.slot] if self.slot is not None else []
        for job in waiting + self.queue:
            if job.ref == ref and job.origin == "tell":
                self.slot = None if job is self.slot else self.slot
                self.queue = [other for other in self.queue if other is not job]
                self.cancel(job)
                return "cancelled"
        return "not_found"

    def unknown(self, by: Any) -> None:
        self.say("answer", by, UnknownRequest())


class ContractModel(Requests):
    """Feed it what happens; compare what it `said`, `told` and holds afterwards."""

    # -------------------------------------------------------------------- control (C061-C071)

    def interrupt(self) -> None:
        if self.busy:
            self.kill(Interrupted())

    def interrupt_request(self, by: Any, ref: RequestRef) -> None:
        if not self.busy:
            self.say("answer", by, "idle")
        elif self.active is None or self.active.ref != ref:
            self.say("answer", by, "not_current")
        else:
            self.kill(Interrupted())
            self.say("answer", by, "accepted")

    def kill(self, error: GenAgentError) -> None:
        assert self.active is not None
        self.say("kill", self.active.ref, self.active.attempt)
        self.turn_ended(error)

    def watchdog(self, idle: bool = False) -> None:
        limit = self.options.idle_watchdog_s if idle else self.options.watchdog_s
        self.kill(WatchdogTimeout(limit, idle))

    def halt(self) -> None:
        if self.busy:
            self.halt_pending = self.halt_pending or not self.draining
        elif not self.halted:
            self.enter_halt()
            self.complete_halt()

    def resume(self) -> None:
        self.halt_pending = self.halt_pending and self.draining
        if self.halted:
            self.halted = self.paced = False
            self.serve()

    def paced_out(self) -> None:
        """C033: the 10 ms are over; a no-op while a turn runs."""
        if self.paced and not (self.busy or self.halted):
            self.paced = False
            self.serve()

    reset_by: Any = None
    """Whose reset has just begun; whoever feeds this model takes it from here."""

    def reset(self, by: Any) -> None:
        """C069."""
        if self.busy:
            self.say("answer", by, Draining() if self.draining else Busy())
        else:
            self.reset_by = by

    def reset_ended(self, by: Any, session: Any, error: GenAgentError | None) -> None:
        """C126: in every failure the old session stays."""
        self.session = self.session if error is not None else session
        self.say("answer", by, error)

    def stop(self, reason: str) -> None:
        self.leave(reason)

    def caller_died(self, caller: Caller) -> None:
        """C077, C108."""
        for job in [job for job in self.queue if job.origin == "ask" and job.caller == caller]:
            self.queue.remove(job)
            self.tell("turn.cancelled", job.ref, job.attempt, job.origin, "caller_down")

    def callers(self) -> set[Caller]:
        """Whose death matters: callers of queued asks."""
        return {job.caller for job in self.queue if job.origin == "ask" and job.caller is not None}

    # -------------------------------------------------------------------- the worker (C073-C075, C188-C190)

    def refused(self, reason: str) -> None:
        self.turn_ended(WorkerUnavailable(reason))

    def streamed(self, run: Any) -> None:
        job = self.active
        if job is not None and job.stream is not None:
            self.say("relay", job.stream, job.ref, job.attempt, run)

    def offer(self, session_id: Any, supported: bool, session: Any, current: bool = True) -> None:
        """C188, C189: unsupported, invalid, same, conflicting, in this order; the first such error fails the
        turn."""
        error: GenAgentError | None = None
        if not current or not self.busy:
            return self.say("checkpoint", NotCurrent())
        if not supported:
            error = UnsupportedCheckpoint()
        elif not valid_session_id(session_id):
            error = InvalidSessionId()
        elif self.checkpoint is None:
            self.checkpoint, self.session = session_id, session
        elif self.checkpoint != session_id:
            error = ConflictingSessionId()
        if error is not None and self.fault is None:
            self.fault = error
        return self.say("checkpoint", error)


def valid_session_id(value: Any) -> bool:
    """1 to 1024 bytes of UTF-8 without control characters."""
    if not isinstance(value, str):
        return False
    try:
        data = value.encode()
    except UnicodeEncodeError:
        return False
    return 1 <= len(data) <= 1024 and all(byte > 0x1F and byte != 0x7F for byte in data)
