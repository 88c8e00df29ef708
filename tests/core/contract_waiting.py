"""The contract as a small model, part two: what waits and what a halt does to it: slot, queue (A3, A6-A8)."""

from __future__ import annotations

from gen_agent.agent import Halt, Prompt
from gen_agent.errors import GenAgentError, Halted
from gen_agent.values import payload_size
from tests.core.contract_basics import Basics, Job, refusal


class Waiting(Basics):
    """The reserved slot, event prompts in the queue, halting, and rejecting all that waits."""

    # -------------------------------------------------------------------- the slot (A7)

    def slot_refusal(self, size: int) -> GenAgentError | None:
        taken = self.slot is not None
        room = self.options.max_pending_prompt_bytes
        return refusal("self_chain", int(taken), self.slot.size if self.slot else 0, size, 1, room)

    def chain(self, text: str, paced: bool = False) -> None:
        """C141-C145."""
        over = self.slot_refusal(payload_size(text))
        if over is None:
            self.slot, self.paced = Job(self.fresh(), text, "self_chain"), paced
        else:
            self.report_overload(over, paced)

    def report_overload(self, over: GenAgentError, paced: bool = False) -> None:
        """C135, C145: handle_error under a ref of its own; the prompt it returns is dropped if it doesn't fit
        either."""
        self.tell("input.rejected", over)
        self.tell("prompt.error", None, 1, over, False)
        decision = self.decide("handle_error", self.fresh(), over)
        if isinstance(decision, Halt):
            self.enter_halt()
        elif isinstance(decision, Prompt) and self.slot_refusal(payload_size(decision.text)) is None:
            self.slot, self.paced = Job(self.fresh(), decision.text, "self_chain"), paced

    # -------------------------------------------------------------------- halting

    def enter_halt(self) -> None:
        """C085: the requests that fail on a halt fail first, the slot before the queue."""
        if self.halted or self.halting:
            return
        self.halting = True
        if self.slot is not None and self.slot.fails:
            job, self.slot = self.slot, None
            self.drop(job, Halted())
        failing = [job for job in self.queue if job.fails]
        self.queue = [job for job in self.queue if not job.fails]
        for job in failing:
            self.drop(job, Halted())

    def complete_halt(self) -> None:
        """C044, C045: post_run and its telemetry, once per transition."""
        if self.halting:
            self.halting, self.halted = False, True
            self.run("post_run")
            self.tell("halted", self.state)

    # -------------------------------------------------------------------- the queue

    def queue_event_prompt(self, text: str) -> GenAgentError | None:
        job = Job(self.fresh(), text, "event")
        over = self.prompt_refusal(job.size)
        if over is None:
            self.enqueue(job)
        else:
            self.tell("turn.rejected", None, 1, "event", over.code)
            self.report_overload(over)
        return over

    def reject_waiting(self, error: GenAgentError) -> None:
        """C088: the owned slot, then the queue; a plain self-chain is dropped silently."""
        waiting = [self.slot] if self.slot is not None and self.slot.owned else []
        waiting, self.slot, self.queue = waiting + self.queue, None, []
        for job in waiting:
            self.drop(job, error)
