"""What must hold in every simulated run, checked after each step: the contract's promises, counted
independently.

Law: what is promised to clients is checked by what leaves the agent (the ledger), what is bounded by counting
again what the machine holds. A broken promise raises `InvariantBroken` with the end of the trace.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from gen_agent.core import signals as on
from gen_agent.core.model import State
from gen_agent.core.requests import Origin, Request
from gen_agent.errors import GenAgentError
from gen_agent.testing.simulation_agent import SimAgent
from gen_agent.testing.simulation_world import World
from gen_agent.values import RequestRef, payload_size


@attrs.define(eq=False)
class Fate:
    """What has become of one request so far."""

    ref: RequestRef
    kind: str
    agent: int
    refused: bool = False
    dropped: bool = False
    admissions: int = 0
    outcomes: int = 0
    attempt: int = 0
    outcome: Any = None


@attrs.define(eq=False)
class Call:
    """One call of a client: what was asked, about which request, and how often it was answered."""

    client: Any
    number: int
    kind: str
    ref: RequestRef | None = None
    agent: int = 0
    answers: int = 0
    handled: bool = False
    value: Any = None


class Ledger:
    """The fate of every request and call, and the promises about them (C112, C151, C240, C243)."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.fates: dict[RequestRef, Fate] = {}
        self.calls: list[Call] = []
        self.turns: list[tuple[int, on.Tag]] = []
        self._waiting: list[RequestRef] = []
        self._before = State.STARTING
        self._ran: set[tuple[int, RequestRef, int]] = set()
        self.ends: dict[int, str] = {}

    def require(self, holds: bool, what: str) -> None:
        """Raise unless it holds."""
        if not holds:
            raise self._world.broken(what)

    # -------------------------------------------------------------------- hearing

    def before(self, agent: SimAgent, event: on.Event) -> None:
        """A request reaches the agent: it is admitted in this order, if it is admitted."""
        self._before = agent.state
        if isinstance(event, (on.Asked, on.Told, on.Submitted)):
            kind = "submit" if isinstance(event, on.Submitted) else event.by.kind
            self.fates[event.ref] = Fate(event.ref, kind, agent.number)
            self._waiting.append(event.ref)
        call = getattr(event, "by", None)
        if isinstance(call, Call) and agent.state not in (State.STARTING, State.STOPPED):
            call.handled = True

    def told(self, agent: SimAgent, name: tuple[str, ...], told: Mapping[str, Any]) -> None:
        """What is rejected or cancelled waits no longer."""
        if name[1:] in (("turn", "rejected"), ("turn", "cancelled")):
            self._waits_no_longer(told["ref"])
            if told["reason_kind"] == "caller_down":
                self.fates[told["ref"]].dropped = True

    def performed(self, agent: SimAgent, effect: on.Effect) -> None:
        """Check one effect against all before it."""
        check = _CHECKS.get(type(effect))
        if check is not None:
            check(self, agent, effect)

    def ended(self, agent: SimAgent, reason: str) -> None:
        """Nothing of this agent waits any more."""
        self.ends[agent.number] = reason
        self._waiting = [ref for ref in self._waiting if self.fates[ref].agent != agent.number]

    def _waits_no_longer(self, ref: RequestRef) -> None:
        if ref in self._waiting:
            self._waiting.remove(ref)

    # -------------------------------------------------------------------- promises

    def turn_starts(self, agent: SimAgent, effect: on.StartTurn) -> None:
        """C066, C088, C240: one at a time, never twice, never while halted or draining, first come first
        served."""
        tag = effect.tag
        self.require(agent.worker is None or agent.worker.tag is None, f"two turns at once: {tag.ref}")
        self.require(self._before is not State.DRAINING, f"{tag.ref} started while draining")
        self.require(
            agent.state in (State.PROCESSING, State.DRAINING, State.STOPPED),
            f"{tag.ref} started while halted",
        )
        self.require((agent.number, tag.ref, tag.attempt) not in self._ran, f"{tag.ref} ran twice")
        self._ran.add((agent.number, tag.ref, tag.attempt))
        self.turns.append((agent.number, tag))
        fate = self.fates.get(tag.ref)
        if fate is None:
            return
        self.require(tag.attempt == fate.attempt + 1, f"{tag.ref} skipped an attempt")
        self.require(not fate.refused and not fate.outcomes, f"{tag.ref} ran although it was over")
        self.require(
            tag.attempt > 1 or self._waiting[:1] == [tag.ref], f"{tag.ref} overtook {self._waiting[:1]}"
        )
        fate.attempt = tag.attempt
        self._waits_no_longer(tag.ref)

    def admitted(self, agent: SimAgent, effect: on.Admit) -> None:
        """C198-C201: one admission, before any event; after the completion only if that says it never ran."""
        fate = self.fates[effect.ref]
        fate.admissions += 1
        self.require(fate.admissions == 1, f"{fate.ref} was admitted twice")
        self.require(
            not fate.outcomes or isinstance(fate.outcome, GenAgentError), f"{fate.ref}: admission last"
        )
        self._refuse(fate, effect.error)

    def completed(self, agent: SimAgent, effect: on.Complete) -> None:
        """C112, C199: one completion, and none for what was refused."""
        self._outcome(self.fates[effect.ref], effect.outcome)

    def relayed(self, agent: SimAgent, effect: on.Relay) -> None:
        """C175, C179, C243: events belong to the active turn, after the admission, before the completion."""
        fate = self.fates[effect.ref]
        self.require(agent.worker is not None and not fate.outcomes, f"{fate.ref}: an event after its end")
        self.require(
            fate.kind != "submit" or fate.admissions == 1, f"{fate.ref}: an event before the admission"
        )

    def answered(self, agent: SimAgent, effect: on.Answer) -> None:
        """One answer to each call; an ask's is its outcome."""
        call: Call = effect.by
        call.answers += 1
        call.value = effect.error if effect.error is not None else effect.value
        self.require(call.answers == 1, f"call {call.number} ({call.kind}) was answered twice")
        if call.ref is not None and call.kind == "ask":
            self._outcome(self.fates[call.ref], call.value)
        elif call.ref is not None and call.kind.startswith("tell"):
            self._refuse(self.fates[call.ref], effect.error)

    def quit(self, agent: SimAgent, effect: on.Quit) -> None:
        """C213: drain calls are answered by the end."""
        for call in effect.drained:
            call.answers += 1
            self.require(call.answers == 1, f"drain {call.number} was answered twice")

    def _refuse(self, fate: Fate, error: GenAgentError | None) -> None:
        if error is not None:
            self.require(
                not fate.outcomes and not fate.attempt, f"{fate.ref} was refused after it was accepted"
            )
            fate.refused = True
            self._waits_no_longer(fate.ref)

    def _outcome(self, fate: Fate, outcome: Any) -> None:
        fate.outcomes += 1
        fate.outcome = outcome
        self.require(fate.outcomes == 1, f"{fate.ref} has two outcomes")
        self.require(not fate.refused, f"{fate.ref} was refused and has an outcome")
        self._waits_no_longer(fate.ref)

    # -------------------------------------------------------------------- after each step, and at the end

    def after(self, agent: SimAgent, event: on.Event) -> None:
        """Count again what the machine holds (C157, C159, C108)."""
        if agent.state is not State.STOPPED:
            recount(agent, self)

    def settled(self) -> None:
        """Everything is over: each request and call had what it was promised, or its client saw the agent
        end."""
        for fate in self.fates.values():
            expected = (
                fate.kind in ("ask", "tell_with_completion", "submit")
                and not fate.refused
                and not fate.dropped
            )
            orderly = self.ends.get(fate.agent) in (None, "normal")
            self.require(
                not (expected and orderly) or fate.outcomes == 1, f"{fate.ref} ({fate.kind}) has no outcome"
            )
        for call in self.calls:
            excused = call.kind == "drain" or self.ends.get(call.agent) not in (None, "normal")
            waits = call.handled and not call.answers and not (call.ref and self.fates[call.ref].dropped)
            self.require(excused or not waits, f"call {call.number} ({call.kind}) was never answered")


_CHECKS: Mapping[type, Any] = {
    on.StartTurn: Ledger.turn_starts,
    on.Admit: Ledger.admitted,
    on.Complete: Ledger.completed,
    on.Relay: Ledger.relayed,
    on.Answer: Ledger.answered,
    on.Quit: Ledger.quit,
}


def recount(agent: SimAgent, ledger: Ledger) -> None:
    """The machine's counters are what its queues and its cache really hold, and within the limits."""
    held, options = agent.machine._model, agent.options
    prompts = tuple(held.prompts)
    ledger.require(
        len(held.prompts) == len(prompts) <= options.max_pending_prompts, "the count of queued prompts"
    )
    size = sum(payload_size(request.prompt) for request in prompts)
    ledger.require(
        held.prompts.size == size <= options.max_pending_prompt_bytes, "the bytes of queued prompts"
    )
    ledger.require(len(held.results) <= options.max_tell_results, "the count of cached results")
    ledger.require(0 <= held.results.size <= options.max_tell_result_bytes, "the bytes of cached results")
    ledger.require(len(held.notices) <= options.max_pending_notifications, "the count of notifications")
    ledger.require(
        0 <= held.notices.size <= options.max_pending_notification_bytes, "the bytes of notifications"
    )
    _recount_callers(agent, ledger, prompts)
    idle = agent.state in (State.IDLE, State.HALTED)
    ledger.require(
        not idle or (held.turn is None and not held.notices), "an idle agent holds a turn or notifications"
    )
    ledger.require(agent.state is not State.IDLE or not prompts, "an idle agent has queued prompts")


def _recount_callers(agent: SimAgent, ledger: Ledger, prompts: tuple[Request, ...]) -> None:
    callers = {
        request.caller for request in prompts if request.origin is Origin.ASK and request.caller is not None
    }
    ledger.require(agent.watched.keys() == callers, "watched callers are not the callers of queued asks")
