"""The real machine against the contract's model, in random order: what it says, tells, calls and holds after
each step.

A step is one message to the agent. After it, everything is compared: answers, admissions, events and
completions per recipient in order; starts, kills and exits in order; callbacks in order and with their state;
telemetry; status, snapshot, cached results, counters in count and bytes, watched callers and deadlines.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from gen_agent.core import signals as on
from gen_agent.errors import (
    BackendError,
    NoTerminalEvent,
    WatchdogTimeout,
    WorkerCrashed,
)
from gen_agent.events import Response
from gen_agent.sealed import Sealed, SealedRun
from tests.core import machine_choices as choose
from tests.core.client_rules import Clients

ERRORS = (BackendError("sim", "busy"), NoTerminalEvent(), WorkerCrashed("ValueError"))


class AgainstTheContract(Clients):
    """Clients, and the worker with its clock and its late words."""

    # ---------------------------------------------------------------- the worker

    @precondition(lambda self: self.model.busy and not self.model.started and not self.model.gone)
    @rule(comes=choose.mostly)
    def worker_comes(self, comes: bool) -> None:
        if comes:
            self.has_worker()
        else:
            self.feed(on.TurnRefused(self.tag, "OSError"), lambda model: model.refused("OSError"))

    def has_worker(self) -> None:
        """A worker speaks only after it was given the prompt."""
        if not self.model.started:
            self.feed(on.TurnStarted(self.tag), lambda model: model.worker_has_it())

    @precondition(lambda self: self.model.busy and not self.model.gone)
    @rule(sealed=st.booleans(), state=choose.left_states, session=st.booleans(), pad=choose.pads)
    def turn_succeeds(self, sealed: bool, state: int | None, session: bool, pad: int) -> None:
        response = Response(text=f"{self.number()}" + "y" * pad, prompt="p")
        self.turn_over(response, Sealed.of(response) if sealed else None, state, session)

    @precondition(lambda self: self.model.busy and not self.model.gone)
    @rule(error=st.sampled_from(ERRORS), state=choose.left_states, halting=st.booleans())
    def turn_fails(self, error: Any, state: int | None, halting: bool) -> None:
        if halting:  # so that a retry often waits in a halted agent
            self.order("halt")
        self.turn_over(error, None, state, state is not None)

    @precondition(lambda self: self.model.busy and not self.model.gone)
    @rule(deeds=st.lists(choose.notice_deeds, max_size=3), on_halt=choose.on_halts, prompt=choose.prompts)
    def turn_with_company(self, deeds: list[str], on_halt: on.OnHalt, prompt: int) -> None:
        self.submit(prompt, "anna", on_halt, None)
        for deed in deeds:
            self.notify(deed, False, prompt)
        self.turn_over(Response(text="a", prompt="p"), None, None, False)

    def turn_over(self, outcome: Any, sealed: Sealed | None, state: int | None, changed: bool) -> None:
        self.has_worker()
        session = Sealed.of(("session", self.number())) if changed else None
        left = Sealed.of(state) if state is not None else None
        event = on.TurnEnded(self.tag, outcome, sealed, session, left, 0.5)
        self.feed(event, lambda model: model.turn_ended(outcome, state, session))

    @precondition(lambda self: self.model.busy and not self.model.gone)
    @rule(alarm=st.booleans())
    def worker_dies(self, alarm: bool) -> None:
        error = WatchdogTimeout(601.0) if alarm else WorkerCrashed("SIGSEGV")
        self.feed(on.WorkerDied(self.tag, error), lambda model: model.turn_ended(error))

    @precondition(lambda self: self.model.busy and not self.model.gone)
    @rule(events=st.integers(1, 3))
    def worker_streams(self, events: int) -> None:
        self.has_worker()
        run = SealedRun.of(tuple(range(events)))
        self.feed(on.EventsStreamed(self.tag, run), lambda model: model.streamed(run))

    @precondition(lambda self: self.model.busy and not self.model.gone)
    @rule(session_ids=st.lists(choose.session_ids, min_size=1, max_size=3), supported=choose.mostly)
    def worker_checkpoints(self, session_ids: list[Any], supported: bool) -> None:
        self.has_worker()
        for session_id in session_ids:
            self.checkpoint(session_id, supported)

    def checkpoint(self, session_id: Any, supported: bool) -> None:
        session = Sealed.of(("checkpoint", session_id)) if supported else None
        event = on.CheckpointAsked(self.tag, session_id, supported, session)
        self.feed(event, lambda model: model.offer(session_id, supported, session))

    @precondition(lambda self: self.both.harness.deadlines and not self.model.gone)
    @rule(which=st.integers(0, 3))
    def deadline(self, which: int) -> None:
        keys = sorted(self.both.harness.deadlines, key=lambda key: (key.kind, key.turn))
        key = keys[which % len(keys)]
        self.both.harness.deadlines.pop(key)
        idle = key.kind == "idle"
        expect = (
            (lambda model: model.paced_out()) if key.kind == "paced" else (lambda model: model.watchdog(idle))
        )
        self.feed(on.DeadlineReached(key), expect)

    @precondition(lambda self: self.late and not self.model.gone)
    @rule(which=st.integers(0, 3), word=choose.late_words)
    def late_word(self, which: int, word: str) -> None:
        tag = self.late[which % len(self.late)]
        if self.model.busy and tag == self.tag:
            tag = on.Tag(tag.ref, tag.attempt, tag.turn + 1000)
        wrong = word == "checkpoint"
        self.feed(
            choose.late_event(word, tag), lambda model: model.offer("x", True, None, False) if wrong else None
        )

    # ---------------------------------------------------------------- after each step

    @invariant()
    def holds_the_same(self) -> None:
        self.both.compare_holdings(self.refs[-6:])


# Finding the smallest example of a failure takes far longer than a test usually may, and so does the deep
# profile.
@pytest.mark.timeout(10_800)
def test_machine_does_what_the_contract_says() -> None:
    """C051-C097: whatever happens in whatever order, the machine does what the contract's model says."""
    steps = 100 if settings().max_examples >= 5_000 else 75
    run_state_machine_as_test(AgainstTheContract, settings=settings(stateful_step_count=steps))
