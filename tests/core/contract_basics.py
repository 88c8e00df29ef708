"""The contract as a small model, part one: what an agent has, how callbacks count, how requests end.

Written from the rules alone and as plainly as possible: lists, linear searches, no effects, no shells. It
must not import the machine, its queues, caches or hooks; it only shares public values with them.
"""

from __future__ import annotations

import itertools
import pickle
from typing import Any

import attrs

from gen_agent.agent import Halt, NoReply, Prompt
from gen_agent.errors import Cancelled, GenAgentError, Overloaded
from gen_agent.options import AgentOptions
from gen_agent.values import Caller, RequestRef, payload_size
from tests.core.planned_agent import PlannedAgent


@attrs.define(eq=False)
class Job:
    """A prompt with everything that is due to whoever wants it run."""

    ref: RequestRef
    prompt: str
    origin: str
    by: Any = None
    caller: Caller | None = None
    to: Any = None
    fails: bool = False
    stream: Any = None
    submitted: bool = False
    admission_due: bool = False
    attempt: int = 1

    @property
    def size(self) -> int:
        return payload_size(self.prompt)

    @property
    def owned(self) -> bool:
        return self.origin in ("ask", "tell")


@attrs.frozen
class Raised:
    """A callback raised: the class is all that is known of it."""

    error: Exception


class Basics:
    """Data, outputs (`said`), telemetry (`told`), callbacks, and the three ways a waiting job can end."""

    def __init__(self, options: AgentOptions, agent: PlannedAgent) -> None:
        self.options, self.agent = options, agent
        self.busy = self.halted = self.halt_pending = self.draining = self.halting = False
        self.gone: str | None = None
        self.active: Job | None = None
        self.slot: Job | None = None
        self.paced = False
        self.queue: list[Job] = []
        self.notices: list[tuple[str, Any, int]] = []
        self.results: dict[RequestRef, tuple[Any, int]] = {}
        self.state: Any = None
        self.session: Any = None
        self.drains: list[Any] = []
        self.said: list[tuple[Any, ...]] = []
        self.told: list[tuple[Any, ...]] = []
        self._numbers = itertools.count(1)

    def fresh(self) -> RequestRef:
        """A ref of the agent's own making; which number it gets is nobody's business."""
        return RequestRef("own", next(self._numbers))

    def say(self, *what: Any) -> None:
        self.said.append(what)

    def tell(self, *what: Any) -> None:
        self.told.append(what)

    # -------------------------------------------------------------------- callbacks (A2)

    def run(self, hook: str, *args: Any) -> Any:
        try:
            return getattr(self.agent, hook)(*args, self.state)
        except Exception as error:
            return Raised(error)

    def decide(self, hook: str, *args: Any) -> Any:
        """C037-C040: a raise or a wrong shape counts as NoReply with the old state."""
        decision = self.run(hook, *args)
        if not isinstance(decision, (NoReply, Prompt, Halt)):
            return NoReply(self.state)
        self.state = decision.state
        return decision

    def settle_state(self, hook: str, *args: Any) -> None:
        """C042: state of a callback that returns bare state; a forgotten return keeps the old one."""
        state = self.run(hook, *args)
        if state is not None and not isinstance(state, Raised):
            self.state = state

    # -------------------------------------------------------------------- room (A8)

    @property
    def pending_bytes(self) -> int:
        return sum(job.size for job in self.queue)

    def prompt_refusal(self, size: int) -> Overloaded | None:
        limits = self.options.max_pending_prompts, self.options.max_pending_prompt_bytes
        return refusal("prompts", len(self.queue), self.pending_bytes, size, *limits)

    def notice_refusal(self, size: int) -> Overloaded | None:
        limits = self.options.max_pending_notifications, self.options.max_pending_notification_bytes
        total = sum(notice[2] for notice in self.notices)
        return refusal("notifications", len(self.notices), total, size, *limits)

    def enqueue(self, job: Job) -> None:
        self.queue.append(job)
        self.tell("mailbox.queued", len(self.queue))

    # -------------------------------------------------------------------- outcomes (A5, A9)

    def deliver(self, job: Job, outcome: Any) -> None:
        """One outcome to whoever owns the job: a reply, or a cache entry and perhaps a completion (C112,
        C158)."""
        if job.origin == "ask":
            self.say("answer", job.by, outcome)
        elif job.origin == "tell":
            if job.to is not None:
                self.say("complete", job.to, job.ref, outcome)
            self.remember(job.ref, outcome)

    def remember(self, ref: RequestRef, outcome: Any) -> None:
        """C159-C161: oldest out until both bounds hold."""
        self.results[ref] = (outcome, result_size(ref, outcome))
        most, room = self.options.max_tell_results, self.options.max_tell_result_bytes
        while self.results and (len(self.results) > most or self.result_bytes > room or not room):
            del self.results[next(iter(self.results))]

    @property
    def result_bytes(self) -> int:
        return sum(size for _, size in self.results.values())

    def drop(self, job: Job, error: GenAgentError) -> None:
        """An accepted job that will never be dispatched: C085, C088, pre_turn rejections."""
        self.tell("turn.rejected", job.ref, job.attempt, job.origin, error.code)
        self.deliver(job, error)

    def cancel(self, job: Job) -> None:
        """C123."""
        self.tell("turn.cancelled", job.ref, job.attempt, job.origin, "caller_cancelled")
        self.deliver(job, Cancelled())

    def acknowledge(self, job: Job) -> None:
        """C052, C055: what a tell or submit gets for being accepted; an ask gets nothing yet."""
        if job.submitted:
            self.say("admit", job.to, job.ref, None)
        elif job.origin == "tell":
            self.say("answer", job.by, job.ref)


def refusal(queue: str, count: int, total: int, size: int, most: int, room: int) -> Overloaded | None:
    """C148, C149: count before bytes; an exact fit is accepted; no room at all refuses everything."""
    if count >= most:
        return Overloaded(queue, "count", count, total, size, most, room)
    if size > room - total or room == 0:
        return Overloaded(queue, "bytes", count, total, size, most, room)
    return None


def result_size(ref: RequestRef, outcome: Any) -> int:
    """The bytes of a cached pair: the ref as text and the outcome's pickle, or the code that is all of an
    error."""
    if isinstance(outcome, GenAgentError) and not outcome.fields:
        return len(str(ref)) + len(outcome.code)
    return len(str(ref)) + len(pickle.dumps(outcome, 5))
