"""What one agent owes its client, told from the public calls alone: the model of a real history.

Every turn is held at a gate until the history releases it, so that at each moment it is known what runs, what
waits, and which messages have to come next, in which order.
"""

from __future__ import annotations

from typing import Any

import attrs

from gen_agent import PENDING, Overloaded, RequestRef
from gen_agent.values import payload_size

MAX_PROMPTS, MAX_BYTES, MAX_NOTICES = 3, 60, 2

PROMPTS = {
    "good": "good hold:here",
    "bad": "bad hold:here error:r",
    "again": "again hold:here silent",
    "chain": "chain hold:here",
}
"""What a turn comes to, by its first word: success, an error, a retry that succeeds, success and a chain."""

FOLLOW_UP = PROMPTS["good"]


@attrs.define
class Job:
    """A request, or an agent's own follow-up, which has no ref that a client knows."""

    ref: RequestRef | None
    prompt: str
    on_halt: str = "queue"
    attempt: int = 1

    @property
    def word(self) -> str:
        """What becomes of it."""
        return self.prompt.split()[0]


@attrs.define
class Model:
    """One incarnation of the agent."""

    active: Job | None = None
    slot: Job | None = None
    queue: list[Job] = attrs.field(factory=list)
    halted: bool = False
    halt_pending: bool = False
    noticed: list[str] = attrs.field(factory=list)
    deferred: list[str] = attrs.field(factory=list)
    results: dict[RequestRef, str] = attrs.field(factory=dict)
    due: list[tuple[str, RequestRef | None, str | None]] = attrs.field(factory=list)

    @property
    def bytes(self) -> int:
        """How much waits in the queue."""
        return sum(payload_size(job.prompt) for job in self.queue)

    def refusal(self, prompt: str, on_halt: str) -> Any:
        """Why a request would not be admitted now: an error's code, an `Overloaded`, or None."""
        if self.halted and on_halt == "fail":
            return "halted"
        size = payload_size(prompt)
        by_count = len(self.queue) >= MAX_PROMPTS
        if (self.active is None and not self.halted) or not (by_count or self.bytes + size > MAX_BYTES):
            return None
        return Overloaded(
            "prompts",
            "count" if by_count else "bytes",
            len(self.queue),
            self.bytes,
            size,
            MAX_PROMPTS,
            MAX_BYTES,
        )

    def take(self, job: Job) -> None:
        """An admitted request runs or waits."""
        self.queue.append(job)
        self.serve()

    def serve(self) -> None:
        """What comes next, if anything may: the slot, then the queue (C078)."""
        if self.active is not None or self.halted:
            return
        if self.slot is not None:
            self.active, self.slot = self.slot, None
        elif self.queue:
            self.active = self.queue.pop(0)

    def complete(self, job: Job, code: str) -> None:
        """One outcome, once."""
        if job.ref is not None:
            assert job.ref not in self.results
            self.results[job.ref] = code
            self.due.append(("completion", job.ref, code))

    def finish(self) -> None:
        """The gate was opened: the active turn comes to what its prompt says."""
        job = self.active
        assert job is not None
        if job.word == "again":
            # A failed request is retried under its ref, an agent's own turn followed up (C130, C133).
            self.slot = Job(job.ref, FOLLOW_UP, job.on_halt, job.attempt + 1)
        else:
            self.complete(job, {"bad": "backend_failed"}.get(job.word, job.word))
        if job.word == "chain":
            self.slot = Job(None, FOLLOW_UP)
        self.move_on()

    def interrupt(self) -> None:
        """The active turn was killed."""
        if self.active is not None:
            self.complete(self.active, "interrupted")
            self.move_on()

    def move_on(self) -> None:
        """After a turn: the halt's failures, deferred events, the next work (C045, C085)."""
        self.active = None
        if self.halt_pending:
            self.enter_halt()
        self.noticed += self.deferred
        self.deferred = []
        self.serve()

    def enter_halt(self) -> None:
        """Whoever asked not to wait is told."""
        self.halted, self.halt_pending = True, False
        if self.slot is not None and self.slot.on_halt == "fail":
            self.complete(self.slot, "halted")
            self.slot = None
        for job in [job for job in self.queue if job.on_halt == "fail"]:
            self.queue.remove(job)
            self.complete(job, "halted")

    def halt(self) -> None:
        """A halt was asked for."""
        if self.active is not None:
            self.halt_pending = True
        elif not self.halted:
            self.enter_halt()

    def resume(self) -> None:
        """A resume was asked for."""
        self.halt_pending = self.halted = False
        self.serve()

    def notify(self, event: str) -> bool:
        """Whether an event is handled or kept."""
        if self.active is None:
            self.noticed.append(event)
        elif len(self.deferred) < MAX_NOTICES:
            self.deferred.append(event)
        else:
            return False
        return True

    def cancel(self, ref: RequestRef) -> str:
        """The answer to a cancel, and what it does (C122, C123)."""
        if self.active is not None and self.active.ref == ref:
            return "current"
        if ref in self.results:
            return "cancelled" if self.results[ref] == "cancelled" else "already_finished"
        waiting = [job for job in (self.slot, *self.queue) if job is not None and job.ref == ref]
        if not waiting:
            return "not_found"
        if waiting[0] is self.slot:
            self.slot = None
        else:
            self.queue.remove(waiting[0])
        self.complete(waiting[0], "cancelled")
        return "cancelled"

    def polled(self, ref: RequestRef) -> Any:
        """The answer to a poll: `PENDING`, or a text or code."""
        known = [job.ref for job in (self.active, self.slot, *self.queue) if job is not None]
        return PENDING if ref in known else self.results.get(ref, "not_found")

    def drain(self) -> None:
        """A drain of an agent without a turn: who waits is told, and it ends."""
        for job in self.queue:
            self.complete(job, "draining")
        self.queue = []
