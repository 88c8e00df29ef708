"""The contract as a small model, part three: how turns begin and end, halting, draining, the end (A3, A4, A6,
A7)."""

from __future__ import annotations

from typing import Any

import attrs

from gen_agent.agent import Halt, NoReply, Proceed, Prompt, Skip
from gen_agent.errors import (
    AgentTerminated,
    Draining,
    GenAgentError,
    Interrupted,
    PreTurnCrashed,
    PreTurnHalted,
    PreTurnInvalid,
    PreTurnSkipped,
    WorkerUnavailable,
)
from gen_agent.events import Response
from gen_agent.values import payload_size
from tests.core.contract_basics import Job, Raised
from tests.core.contract_waiting import Waiting


class Beginnings(Waiting):
    """From admission to a turn."""

    started = False
    """Whether a live worker has the prompt of the active turn."""
    finished = False
    prompt = ""
    checkpoint: str | None = None
    fault: GenAgentError | None = None

    # -------------------------------------------------------------------- beginning

    def serve(self) -> None:
        """C078: the next work item, and the next if that was rejected (C079)."""
        while not (self.busy or self.halted or self.gone):
            if self.draining:
                self.leave("normal")
            elif self.slot is not None and not self.paced:
                job, self.slot = self.slot, None
                self.dispatch(job)
            elif self.queue:
                self.dispatch(self.queue.pop(0))
            else:
                return

    def dispatch(self, job: Job) -> None:
        """C026-C034."""
        gate = self.run("pre_turn", job.prompt)
        if isinstance(gate, Proceed) and isinstance(gate.prompt, str):
            self.state = gate.state
            return self.begin(job, gate.prompt)
        error: GenAgentError = PreTurnInvalid()
        if isinstance(gate, Raised):
            error = PreTurnSkipped() if job.owned else PreTurnCrashed(type(gate.error).__name__)
        elif isinstance(gate, (Skip, Halt)):
            error = PreTurnSkipped() if isinstance(gate, Skip) else PreTurnHalted()
            self.state = gate.state
        self.reject(job, error)
        if isinstance(gate, Halt):
            self.enter_halt()
        return self.complete_halt()

    def begin(self, job: Job, prompt: str) -> None:
        self.active, self.busy, self.started, self.prompt = job, True, False, prompt
        self.checkpoint = self.fault = None
        self.say("start", job.ref, job.attempt, prompt, self.session)
        if job.origin == "tell" and not job.submitted and job.admission_due:
            self.admit(job)

    def admit(self, job: Job) -> None:
        if job.admission_due:
            job.admission_due = False
            self.acknowledge(job)

    def worker_has_it(self) -> None:
        """C221, C226; an idle submit is admitted now."""
        job = self.active
        assert job is not None
        self.started = True
        self.tell_start(job)
        self.admit(job)

    def tell_start(self, job: Job) -> None:
        self.tell("prompt.start", job.ref, job.attempt, self.prompt, self.prompt != job.prompt)
        self.tell("turn.start", job.ref, job.attempt, job.origin)

    def reject(self, job: Job, error: GenAgentError) -> None:
        if job.owned:
            self.drop(job, error)
            return self.admit(job)
        self.tell("turn.rejected", job.ref, job.attempt, job.origin, rejection_kind(error))
        if isinstance(error, PreTurnHalted):
            return None  # C032: it just halts
        self.tell("prompt.error", None, 1, error, False)
        return self.follow_rejection(self.decide("handle_error", job.ref, error))

    def follow_rejection(self, decision: Any) -> None:
        """C033."""
        if isinstance(decision, Prompt):
            self.chain(decision.text, paced=True)
        elif isinstance(decision, Halt):
            self.enter_halt()

    def leave(self, reason: str) -> None:
        """C109: an orderly end answers every ask; any other leaves it to the monitors."""
        if reason in ("normal", "shutdown"):
            waiting = [self.active, self.slot, *self.queue]
            for job in waiting:
                if job is not None and job.origin == "ask":
                    self.say("answer", job.by, AgentTerminated(reason))
        self.gone = reason
        self.say("exit", reason)


class Turns(Beginnings):
    """From the worker's last word to what is next, and to the end of it all."""

    # -------------------------------------------------------------------- ending a turn (A4)

    def turn_ended(self, outcome: Any, state: Any = None, session: Any = None) -> None:
        """C090, C092. `state` and `session` are what the worker leaves behind, None for unchanged."""
        job = self.active
        assert job is not None
        if self.fault is not None and not isinstance(outcome, Interrupted):
            outcome = self.fault if getattr(outcome, "code", "") != "timeout" else outcome
        self.state = self.state if state is None else state
        self.session = self.session if session is None else session
        if isinstance(outcome, Response):
            self.succeed(job, outcome)
        else:
            self.fail(job, outcome)

    def succeed(self, job: Job, response: Response) -> None:
        self.tell("prompt.stop", job.ref, job.attempt, self.state)
        self.tell("turn.stop", job.ref, job.attempt, job.origin)
        decision = self.run("handle_response", job.ref, response)
        if not isinstance(decision, (NoReply, Prompt, Halt)):
            self.active = None
            return self.leave("callback_failed")  # C036
        self.state = decision.state
        self.settle_state("post_turn", response, job.ref)
        self.deliver(job, response)
        follow_up = decision.text if isinstance(decision, Prompt) and not self.draining else None
        if follow_up is not None:
            self.chain(follow_up)
        return self.become_idle(isinstance(decision, Halt))

    def fail(self, job: Job, error: GenAgentError) -> None:
        unavailable = isinstance(error, WorkerUnavailable)
        if not self.started and not unavailable:
            self.tell_start(job)  # C235: cut short before a worker had it
        self.tell("prompt.error", job.ref, job.attempt, error, not unavailable)
        if unavailable:
            self.tell("turn.rejected", job.ref, job.attempt, job.origin, error.code)
        else:
            self.tell("turn.error", job.ref, job.attempt, job.origin, reason_kind(error))
        decision = self.decide("handle_error", job.ref, error)
        self.settle_state("post_turn", error, job.ref)
        prompts = isinstance(decision, Prompt) and not self.draining and not unavailable
        if prompts and job.owned and not isinstance(error, Interrupted):
            self.retry(job, decision.text, error)
        else:
            self.deliver(job, error)
            if prompts:
                self.chain(decision.text)
        self.admit(job)
        self.become_idle(isinstance(decision, Halt))

    def retry(self, job: Job, text: str, error: GenAgentError) -> None:
        """C130, C135."""
        over = self.slot_refusal(payload_size(text))
        if over is None:
            again = attrs.evolve(job, prompt=text, attempt=job.attempt + 1, admission_due=False)
            self.slot, self.paced = again, False
        else:
            self.deliver(job, error)
            self.report_overload(over)

    def become_idle(self, halts: bool) -> None:
        """C045: what failed on the halt, the deferred batch, post_run, then the next item."""
        if halts or self.halt_pending:
            self.enter_halt()
        self.halt_pending = False
        batch, self.notices = self.notices, []
        for kind, notice, _ in batch:
            self.handle_deferred(kind, notice)
        self.active, self.busy, self.paced = None, False, False
        self.complete_halt()
        if self.draining and not self.gone:
            return self.leave("normal")
        return self.serve()

    def handle_deferred(self, kind: str, notice: Any) -> None:
        """C146: prompts go to the tail of the queue."""
        decision = self.consider(kind, notice)
        if isinstance(decision, Halt):
            self.enter_halt()
        elif isinstance(decision, Prompt):
            self.queue_event_prompt(decision.text)

    def consider(self, kind: str, notice: Any) -> Any:
        """C041: an agent without handle_info drops ordinary messages, when their time has come."""
        if kind == "handle_event":
            return self.decide(kind, notice)
        return self.decide(kind, notice, None) if hasattr(self.agent, kind) else NoReply(self.state)

    # -------------------------------------------------------------------- the end

    def start_draining(self, by: Any) -> None:
        self.drains.append(by)
        if self.gone:
            return
        if not self.draining:
            self.draining, self.notices = True, []
            self.reject_waiting(Draining())
        if not self.busy:
            self.leave("normal")

    def finish(self) -> None:
        """C047: the active turn is dead, then both terminations, then telemetry; drain calls are answered
        last."""
        self.finished, job = True, self.active
        if job is not None and self.started:
            error = AgentTerminated(str(self.gone))
            self.tell("prompt.error", job.ref, job.attempt, error, True)
            self.tell("turn.error", job.ref, job.attempt, job.origin, reason_kind(error))
        self.active = None
        self.run("terminate_agent", self.gone)
        self.say("close", self.session)
        self.tell("terminated", self.gone)
        self.say("quit", self.gone, tuple(self.drains) if self.gone == "normal" else ())


def rejection_kind(error: GenAgentError) -> Any:
    """C224."""
    return (error.code, error.exception) if isinstance(error, PreTurnCrashed) else error.code


def reason_kind(error: GenAgentError) -> str:
    """C223."""
    return (
        error.code
        if error.code in ("timeout", "interrupted", "task_crashed")
        else "backend_or_callback_error"
    )
