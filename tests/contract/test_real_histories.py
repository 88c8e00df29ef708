"""Random histories of public calls on a real agent, against the model of what it owes its client.

After each step everything that has to come has come, in its order, and the agent's counters are the model's;
at the end nothing else comes.
"""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from gen_agent import PENDING, Busy, GenAgentError, Overloaded, RequestRef
from gen_agent.actors.system import AgentSystem
from gen_agent.backends.stage import Stage
from gen_agent.messages import Admission, Completion, Down
from tests.bases import OWN
from tests.contract.cast import say
from tests.contract.history_model import FOLLOW_UP, MAX_BYTES, MAX_NOTICES, MAX_PROMPTS, PROMPTS, Job, Model
from tests.contract.troupe import PATIENCE_S, Troupe, told

BOOK = {
    ("handle_error", "no_terminal_event"): say(FOLLOW_UP),
    ("handle_response", PROMPTS["chain"]): say(FOLLOW_UP),
}
words = st.sampled_from(sorted(PROMPTS))
on_halts = st.sampled_from(["queue", "queue", "fail"])
which = st.integers(0, 20)


class Calls(RuleBasedStateMachine):
    """A client, its agent, and the model of it."""

    house: AgentSystem

    def __init__(self) -> None:
        super().__init__()
        self.owned = contextlib.ExitStack()
        client, stage = self.owned.enter_context(self.house.private()), self.owned.enter_context(Stage())
        self.troupe = Troupe(client, stage, OWN)
        self.refs: list[RequestRef] = []
        self.events = 0
        self.begin()

    def begin(self) -> None:
        """A new incarnation, watched."""
        self.model = Model()
        self.agent = self.troupe.start(
            book=BOOK, max_pending_prompts=MAX_PROMPTS, max_pending_prompt_bytes=MAX_BYTES,
            max_pending_notifications=MAX_NOTICES,
        )  # fmt: skip
        self.monitor = self.troupe.agents.monitor(self.agent)

    def target(self, number: int) -> Any:
        """The agent by name or by address."""
        return "a" if number % 2 else self.agent

    def ref(self, number: int) -> RequestRef:
        """One of the latest refs, those of dead incarnations included."""
        return self.refs[-1 - number % min(len(self.refs), 8)]

    def answer(self, call: Any) -> Any:
        """What a call returns, or the code of what it raises, or an `Overloaded`."""
        try:
            return call()
        except Overloaded as error:
            return error
        except GenAgentError as error:
            return error.code

    # ---------------------------------------------------------------- requests

    @rule(word=words, on_halt=on_halts, number=which)
    def tell(self, word: str, on_halt: Any, number: int) -> None:
        prompt = PROMPTS[word]
        refusal = self.model.refusal(prompt, on_halt)
        found = self.answer(
            lambda: self.troupe.agents.tell_with_completion(self.target(number), prompt, on_halt=on_halt)
        )
        if refusal is not None:
            assert found == refusal
        else:
            self.refs.append(found)
            self.model.take(Job(found, prompt, on_halt))

    @rule(word=words, on_halt=on_halts)
    def submit(self, word: str, on_halt: Any) -> None:
        prompt = PROMPTS[word]
        refusal = self.model.refusal(prompt, on_halt)
        ref = self.troupe.agents.submit_with_completion(self.agent, prompt, on_halt=on_halt)
        self.refs.append(ref)
        code = refusal.code if isinstance(refusal, Overloaded) else refusal
        self.model.due.append(("admission", ref, code))
        if refusal is None:
            self.model.take(Job(ref, prompt, on_halt))

    @precondition(lambda self: self.model.active is None and not self.model.halted)
    @rule(number=which)
    def ask(self, number: int) -> None:
        assert self.troupe.ask(self.target(number), "quick") == "quick"

    @precondition(lambda self: self.refs)
    @rule(number=which)
    def poll(self, number: int) -> None:
        ref = self.ref(number)
        found = self.answer(lambda: self.troupe.agents.poll(self.target(number), ref))
        code = found if found is PENDING or isinstance(found, str) else found.text
        assert code == self.model.polled(ref)

    @precondition(lambda self: self.refs)
    @rule(number=which)
    def cancel(self, number: int) -> None:
        ref = self.ref(number)
        assert self.troupe.agents.cancel_request(self.target(number), ref) == self.model.cancel(ref)

    # ---------------------------------------------------------------- the turn

    @precondition(lambda self: self.model.active is not None)
    @rule()
    def release(self) -> None:
        before = self.attempt()
        self.troupe.release()
        self.troupe.until(lambda: self.attempt() != before)
        self.model.finish()

    def attempt(self) -> Any:
        """What runs."""
        current = self.troupe.agents.runtime_snapshot("a").current_request
        return None if current is None else (current.ref, current.attempt)

    @precondition(lambda self: self.refs)
    @rule(number=which)
    def interrupt_request(self, number: int) -> None:
        ref, active = self.ref(number), self.model.active
        expected = "idle" if active is None else "accepted" if active.ref == ref else "not_current"
        assert self.troupe.agents.interrupt_request(self.target(number), ref) == expected
        if expected == "accepted":
            self.killed()

    @rule(number=which)
    def interrupt(self, number: int) -> None:
        self.troupe.agents.interrupt(self.target(number))
        self.killed()

    def killed(self) -> None:
        """Whoever waited at the gate is gone."""
        if self.model.active is not None:
            self.troupe.stage.wait_gone("here", PATIENCE_S)
            self.model.interrupt()


class Histories(Calls):
    """Events, halts, and the ends of incarnations."""

    @rule(number=which, acknowledged=st.booleans())
    def notify(self, number: int, acknowledged: bool) -> None:
        self.events += 1
        event, agents = f"e{self.events}", self.troupe.agents
        if not acknowledged:
            agents.notify(self.target(number), event)
            self.model.notify(event)
        else:
            found = self.answer(lambda: agents.notify_ack(self.target(number), event))
            assert (found is None) == self.model.notify(event)

    @rule(number=which)
    def halt(self, number: int) -> None:
        self.troupe.agents.halt(self.target(number))
        self.model.halt()

    @rule(number=which)
    def resume(self, number: int) -> None:
        self.troupe.agents.resume(self.target(number))
        self.model.resume()

    @rule(number=which)
    def reset(self, number: int) -> None:
        found = self.answer(lambda: self.troupe.agents.reset_session(self.target(number)))
        assert found == (Busy().code if self.model.active is not None else "unsupported")

    @precondition(lambda self: self.model.active is None and self.model.slot is None)
    @rule(number=which)
    def drain(self, number: int) -> None:
        self.read_events()
        self.troupe.agents.drain(self.target(number), timeout=PATIENCE_S)
        self.model.drain()
        self.ended("normal")

    @rule(number=which)
    def stop(self, number: int) -> None:
        self.read_events()
        self.troupe.agents.stop(self.target(number), timeout=PATIENCE_S)
        if self.model.active is not None:
            self.troupe.stage.wait_gone("here", PATIENCE_S)
            self.model.active = None
        self.ended("shutdown")

    def ended(self, reason: str) -> None:
        """What was due has come, then the `Down`, and the name is free."""
        self.everything_due_has_come()
        down = self.troupe.next()
        assert isinstance(down, Down)
        assert (down.monitor, down.reason) == (self.monitor, reason)
        assert self.troupe.agents.whereis("a") is None
        self.begin()

    # ---------------------------------------------------------------- after each step

    @invariant()
    def everything_due_has_come(self) -> None:
        if self.model.active is not None:
            self.troupe.stage.wait_blocked("here", PATIENCE_S)
        for due in self.model.due:
            assert _words(self.troupe.next()) == due
        self.model.due = []

    @invariant()
    def the_counters_are_the_models(self) -> None:
        model, snapshot = self.model, self.troupe.agents.runtime_snapshot("a")
        current = snapshot.current_request
        assert (snapshot.pending_prompts, snapshot.pending_notifications) == (
            len(model.queue),
            len(model.deferred),
        )
        assert (snapshot.halted, snapshot.halt_pending) == (model.halted, model.halt_pending)
        assert snapshot.self_chain_pending == (model.slot is not None)
        assert (current is None) == (model.active is None)
        if current is not None and model.active is not None:
            assert current.attempt == model.active.attempt
            assert model.active.ref in (None, current.ref)

    def read_events(self) -> None:
        """Every event that was taken has been handled, in order."""
        lines = [line for line in self.troupe.lines("a") if line.startswith("handle_event")]
        assert lines == [f"handle_event {event}" for event in self.model.noticed]

    def teardown(self) -> None:
        """The rest of the history, and the end of its agent, whatever became of it."""
        with self.owned:
            try:
                self.let_everything_end()
            finally:
                if self.troupe.agents.whereis("a") is not None:
                    self.troupe.agents.stop("a", timeout=PATIENCE_S)

    def let_everything_end(self) -> None:
        """Nothing but what was due has come."""
        self.model.resume()
        self.troupe.agents.resume("a")
        self.everything_due_has_come()
        while self.model.active is not None:
            self.release()
            self.everything_due_has_come()
        self.the_counters_are_the_models()
        self.read_events()
        assert self.troupe.until_end(self.agent) == []


def _words(message: Any) -> tuple[str, Any, Any]:
    if isinstance(message, Admission):
        return ("admission", message.ref, None if message.error is None else message.error.code)
    assert isinstance(message, Completion), f"nobody expected {message}"
    return ("completion", message.ref, told(message))


@pytest.mark.timeout(10_800)
def test_a_real_agent_owes_what_the_model_says(house: AgentSystem) -> None:
    """C052-C070, C112, C117, C122, C147-C158, C239-C247: one outcome each, in order; counters as the
    model's."""
    machine = type("OnThisSystem", (Histories,), {"house": house})
    often = 50 if settings().max_examples >= 5_000 else 1
    # What real processes do is not repeated well enough to look for a smaller history.
    plan = settings(max_examples=8 * often, stateful_step_count=40, phases=(Phase.generate,))
    run_state_machine_as_test(machine, settings=plan)
