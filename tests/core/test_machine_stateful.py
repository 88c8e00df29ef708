"""The real machine against the contract's model, in random order: what it says, tells, calls and holds after
each step.

A step is one message to the agent. After it, everything is compared: answers, admissions, events and
completions per recipient in order; starts, kills and exits in order; callbacks in order and with their state;
telemetry; status, snapshot, cached results, counters in count and bytes, watched callers and deadlines.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from gen_agent.core import signals as on
from gen_agent.errors import (
    BackendError,
    NoTerminalEvent,
    Unsupported,
    WatchdogTimeout,
    WorkerCrashed,
)
from gen_agent.events import Response
from gen_agent.sealed import Sealed, SealedRun
from gen_agent.values import Caller, RequestRef, payload_size
from tests.core import machine_choices as choose
from tests.core.contract_basics import Job
from tests.core.contract_checks import Comparison
from tests.core.planned_agent import Do, Notice

ERRORS = (BackendError("sim", "busy"), NoTerminalEvent(), WorkerCrashed("ValueError"))


class AgainstTheContract(RuleBasedStateMachine):
    """Every rule feeds the same happening to the machine and to the model."""

    # ---------------------------------------------------------------- the agent's life

    @initialize(setting=choose.settings())
    def begin(self, setting: choose.Setting) -> None:
        self.setting = setting
        self.numbers = 0
        self.refs: list[RequestRef] = []
        self.boot()

    def boot(self) -> None:
        self.age = 0
        self.late: list[on.Tag] = []
        self.both = Comparison(self.setting)
        session = Sealed.of("session")
        self.both.feed(on.Booted(1, session), lambda model: model.boot(1, session))

    @property
    def model(self) -> Any:
        return self.both.model

    @property
    def tag(self) -> on.Tag:
        tag = self.both.harness.tag
        assert tag is not None
        return tag

    def number(self) -> int:
        self.numbers += 1
        return self.numbers

    def feed(self, event: on.Event, expect: Callable[[Any], None]) -> None:
        self.age += 1
        if self.both.harness.tag is not None and self.model.busy:
            self.late = [*self.late[-3:], self.tag]
        self.both.feed(event, expect)

    @precondition(lambda self: self.model.gone)
    @rule(pre_run=st.sampled_from(("keep", "keep", "refuse", "raise", "bad")))
    def start_again(self, pre_run: str) -> None:
        self.setting.book.on_pre_run = pre_run
        self.boot()

    @precondition(lambda self: self.age > 8 and not self.model.gone)
    @rule(how=choose.ends)
    def end(self, how: str) -> None:
        by = ("drain", self.number())
        if how == "drain":
            self.feed(on.DrainAsked(by), lambda model: model.start_draining(by))
        elif how != "no":
            self.feed(on.StopAsked(how), lambda model: model.stop(how))

    # ---------------------------------------------------------------- prompts

    @precondition(lambda self: not self.model.gone)
    @rule(prompt=choose.prompts, caller=choose.callers)
    def ask(self, prompt: int, caller: Caller | None) -> None:
        ref, by, text = self.new_ref(), ("call", self.number()), self.setting.prompt(prompt)
        job = Job(ref, text, "ask", by, caller)
        self.feed(on.Asked(by, ref, text, payload_size(text), caller), lambda model: model.accept(job))

    @precondition(lambda self: not self.model.gone)
    @rule(prompt=choose.prompts, to=choose.recipients, on_halt=choose.on_halts, stream=choose.streams)
    def tell(self, prompt: int, to: str | None, on_halt: on.OnHalt, stream: str | None) -> None:
        ref, by, text = self.new_ref(), ("call", self.number()), self.setting.prompt(prompt)
        job = Job(ref, text, "tell", by, None, to, on_halt == "fail", stream)
        event = on.Told(by, ref, text, payload_size(text), to, on_halt, stream)
        self.feed(event, lambda model: model.accept(job))

    @precondition(lambda self: not self.model.gone)
    @rule(prompt=choose.prompts, to=choose.hearers, on_halt=choose.on_halts, stream=choose.streams)
    def submit(self, prompt: int, to: str, on_halt: on.OnHalt, stream: str | None) -> None:
        ref, text = self.new_ref(), self.setting.prompt(prompt)
        job = Job(ref, text, "tell", None, None, to, on_halt == "fail", stream, submitted=True)
        event = on.Submitted(ref, text, payload_size(text), to, on_halt, stream)
        self.feed(event, lambda model: model.accept(job))

    def new_ref(self) -> RequestRef:
        ref = RequestRef("test-client", self.number())
        self.refs.append(ref)
        return ref

    def some_ref(self, back: int) -> tuple[RequestRef, RequestRef]:
        """One of the last requests, the active one for 0, or one that never was; as machine and model call
        it."""
        if back == 0 and self.model.busy:
            return self.tag.ref, self.model.active.ref
        ref = self.refs[-back] if 0 < back <= len(self.refs) else RequestRef("nobody", 1)
        return ref, ref

    # ---------------------------------------------------------------- notifications and questions

    @precondition(lambda self: not self.model.gone)
    @rule(do=choose.notice_deeds, acknowledged=st.booleans(), prompt=choose.prompts)
    def notify(self, do: str, acknowledged: bool, prompt: int) -> None:
        notice = Notice(self.number(), Do(do, self.setting.prompt(prompt)))
        by = ("call", self.number()) if acknowledged else None
        event = on.Notified(notice, 10, by)
        self.feed(event, lambda model: model.notify(notice, 10, by))

    @precondition(lambda self: not self.model.gone)
    @rule(do=choose.notice_deeds, prompt=choose.prompts)
    def inform(self, do: str, prompt: int) -> None:
        notice = Notice(self.number(), Do(do, self.setting.prompt(prompt)))
        self.feed(on.InfoArrived(notice, None, 10), lambda model: model.inform(notice, 10))

    @precondition(lambda self: not self.model.gone)
    @rule(question=choose.questions, back=choose.backs)
    def inquire(self, question: str, back: int) -> None:
        by, (ref, same) = ("call", self.number()), self.some_ref(back)
        asked: dict[str, tuple[on.Event, Callable[[Any], None]]] = {
            "poll": (on.Polled(by, ref), lambda model: model.poll(by, same)),
            "cancel": (on.CancelRequested(by, ref), lambda model: model.cancel_request(by, same)),
            "interrupt": (on.InterruptRequested(by, ref), lambda model: model.interrupt_request(by, same)),
            "nonsense": (on.UnknownAsked(by), lambda model: model.unknown(by)),
        }
        self.feed(*asked[question])

    # ---------------------------------------------------------------- control

    @precondition(lambda self: not self.model.gone)
    @rule(order=choose.orders)
    def steer(self, order: str) -> None:
        self.order(order)

    def order(self, order: str) -> None:
        by = ("call", self.number())
        given: dict[str, tuple[on.Event, Callable[[Any], None]]] = {
            "reset": (on.ResetAsked(by), lambda model: model.reset(by)),
            "interrupt": (on.InterruptAsked(), lambda model: model.interrupt()),
            "halt": (on.HaltAsked(), lambda model: model.halt()),
            "resume": (on.ResumeAsked(), lambda model: model.resume()),
        }
        self.feed(*given[order])

    @precondition(lambda self: self.both.resetting is not None)
    @rule(fails=st.booleans())
    def reset_done(self, fails: bool) -> None:
        by, session = self.both.resetting, None if fails else Sealed.of(("reset", self.number()))
        error = Unsupported() if fails else None
        self.age += 1
        self.both.reset_ended(by, session, error)

    @precondition(lambda self: not self.model.gone and self.both.harness.watched)
    @rule(which=st.integers(0, 2))
    def caller_dies(self, which: int) -> None:
        watched = sorted(self.both.harness.watched, key=lambda caller: caller.pid)
        caller = watched[which % len(watched)]
        self.feed(on.CallerDied(caller), lambda model: model.caller_died(caller))

    @precondition(lambda self: not self.model.gone)
    @rule(on_overload=choose.overload_deeds, prompt=choose.prompts, on_post_turn=choose.post_turns)
    def change_mind(self, on_overload: str, prompt: int, on_post_turn: str) -> None:
        self.setting.book.on_overload = Do(on_overload, self.setting.prompt(prompt))
        self.setting.book.on_post_turn = on_post_turn

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
    run_state_machine_as_test(AgainstTheContract, settings=settings(stateful_step_count=100))
