"""What waits in an agent, what has been told of it, and what halts, drains and ends do to it: the first half
of the model of a real history.
"""

from __future__ import annotations

from typing import Any

import attrs

from gen_agent import Overloaded, RequestRef
from gen_agent.values import payload_size

MAX_PROMPTS, MAX_PROMPT_BYTES = 3, 60
MAX_NOTICES, MAX_NOTICE_BYTES = 3, 8
MAX_RESULTS = 6

PROMPTS = {
    "good": "good text:t hold:here",
    "bad": "bad text:t hold:here error:r",
    "again": "again text:t hold:here silent",
    "chain": "chain hold:here",
    "crash": "crash text:t hold:here crash",
    "doom": "doom hold:here",
    "skip": "skip",
    "pause": "pause",
}
"""What a prompt comes to, by its first word: success, an error, a retry that succeeds, success and a chain, a
worker's crash, the agent's own end; and what `pre_turn` skips or halts at.
"""

FOLLOW_UP = PROMPTS["good"]


@attrs.define(eq=False)
class Job:
    """A prompt and what is due to whoever wants it run: `to` and `stream_to` are keys of `Model.due`."""

    prompt: str
    origin: str = "tell"
    ref: RequestRef | None = None
    to: str | None = None
    stream_to: str | None = None
    on_halt: str = "queue"
    admission_due: bool = False
    attempt: int = 1
    by: str = ""

    @property
    def word(self) -> str:
        """What becomes of it."""
        return self.prompt.split()[0]


def overload(queue: str, sizes: list[int], size: int, most: int, room: int) -> Overloaded | None:
    """Why one of that size does not fit, if it does not (C148, C149)."""
    by_count = len(sizes) >= most
    if not by_count and size <= room - sum(sizes):
        return None
    return Overloaded(queue, "count" if by_count else "bytes", len(sizes), sum(sizes), size, most, room)


class Waiting:
    """What waits, what has been told, and what a halt does to it."""

    def __init__(self) -> None:
        self.active: Job | None = None
        self.slot: Job | None = None
        self.queue: list[Job] = []
        self.halted = self.halt_pending = self.draining = False
        self.halts = self.turns = 0
        self.noticed: list[str] = []
        self.deferred: list[str] = []
        self.results: dict[RequestRef, Any] = {}
        self.due: dict[str, list[Any]] = {}
        self.closed: set[str] = set()
        self.lost: set[RequestRef] = set()
        self.drains: list[str] = []
        self.gone: str | None = None

    def say(self, to: str | None, *word: Any) -> None:
        """A message is due."""
        if to is not None and to not in self.closed:
            self.due.setdefault(to, []).append(word)

    def complete(self, job: Job, code: Any) -> None:
        """One outcome, once (C112, C158, C159)."""
        if job.origin == "ask":
            self.say(job.to, "answer", code)
        elif job.origin == "tell":
            assert job.ref is not None
            self.results[job.ref] = code
            if len(self.results) > MAX_RESULTS:
                del self.results[next(iter(self.results))]
            self.say(job.to, "completion", job.ref, code)

    def prompt_overload(self, size: int) -> Overloaded | None:
        """Why a prompt of that size can not wait."""
        sizes = [payload_size(job.prompt) for job in self.queue]
        return overload("prompts", sizes, size, MAX_PROMPTS, MAX_PROMPT_BYTES)

    def notice_overload(self, size: int) -> Overloaded | None:
        """Why an event of that size can not wait."""
        sizes = [payload_size(event) for event in self.deferred]
        return overload("notifications", sizes, size, MAX_NOTICES, MAX_NOTICE_BYTES)

    def refusal(self, prompt: str, on_halt: str = "queue") -> Any:
        """Why a request would not be admitted now: an error's code, an `Overloaded`, or None."""
        if self.draining:
            return "draining"
        if self.halted and on_halt == "fail":
            return "halted"
        waits = self.active is not None or self.halted
        return self.prompt_overload(payload_size(prompt)) if waits else None

    def enter_halt(self) -> None:
        """Whoever asked not to wait is told (C044, C085)."""
        self.halt_pending = False
        if self.halted:
            return
        self.halted = True
        self.halts += 1
        if self.slot is not None and self.slot.on_halt == "fail":
            self.complete(self.slot, "halted")
            self.slot = None
        for job in [job for job in self.queue if job.on_halt == "fail"]:
            self.queue.remove(job)
            self.complete(job, "halted")

    def reject_waiting(self) -> None:
        """A drain ends what waits; an agent's own follow-up is dropped (C088)."""
        waiting = [job for job in (self.slot, *self.queue) if job is not None]
        self.slot, self.queue, self.deferred = None, [], []
        for job in waiting:
            self.complete(job, "draining")

    def end(self, reason: str) -> None:
        """The agent is gone: only an orderly end answers who asks, and only a normal one a drain (C109,
        C115, C213)."""
        waiting = [job for job in (self.active, self.slot, *self.queue) if job is not None]
        for job in waiting:
            if job.origin == "ask":
                self.say(job.to, "answer", "agent_terminated" if reason == "shutdown" else "agent_down")
            elif job.origin == "tell":
                assert job.ref is not None
                self.lost.add(job.ref)
                if job.to is not None and job.to.startswith("stream"):
                    self.say(job.to, "down")
        for drain in self.drains:
            self.say(drain, "answer", None if reason == "normal" else "agent_down")
        self.active, self.slot, self.queue, self.gone = None, None, [], reason
