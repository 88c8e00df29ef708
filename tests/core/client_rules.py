"""What clients do in the stateful test: every kind of request, to the machine and to the model alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
)

from gen_agent.core import signals as on
from gen_agent.errors import (
    Unsupported,
)
from gen_agent.sealed import Sealed
from gen_agent.values import Caller, RequestRef, payload_size
from tests.core import machine_choices as choose
from tests.core.contract_basics import Job
from tests.core.contract_checks import Comparison
from tests.core.planned_agent import Do, Notice


class Clients(RuleBasedStateMachine):
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
