"""The steps of a real history that ask for work: every way to give a prompt, and to take one back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from gen_agent import CallTimeout, RequestRef
from tests.contract.history_actor import Posted
from tests.contract.history_checks import Checks
from tests.contract.history_desk import Reader, answer, code
from tests.contract.history_players import ACTOR, LONG_S, hows, on_halts, scripts, which, whos, words
from tests.contract.history_waiting import FOLLOW_UP, PROMPTS, Job
from tests.contract.troupe import PATIENCE_S

recipients = st.sampled_from(["anna", "bert", "carl", "", "", ""])
"""Whom a completion or the events go to; nobody in particular."""


class Prompts(Checks):
    """Requests."""

    def address(self, name: str) -> Any:
        """A mailbox, None for nobody's in particular."""
        return self.desks[name].client.address if name else None

    def accepted(self, job: Job) -> None:
        """The agent has it."""
        assert job.ref is not None
        self.refs.append(job.ref)
        if job.to is not None:
            self.ledger.accept(job.ref, job.to)
        self.model.take(job)

    @rule(word=words, who=whos, named=hows)
    def tell(self, word: str, who: str, named: bool) -> None:
        client, target = self.act(who, named)
        prompt = PROMPTS[word]
        refusal = self.model.refusal(prompt)
        found = answer(lambda: client.tell(target, prompt))
        if refusal is not None:
            assert found == refusal
        else:
            self.accepted(Job(prompt, ref=found))

    @rule(word=words, who=whos, named=hows, to=recipients, stream=recipients, on_halt=on_halts, batch=hows)
    def tell_with_completion(
        self, word: str, who: str, named: bool, to: str, stream: str, on_halt: Any, batch: bool
    ) -> None:
        client, target = self.act(who, named)
        prompt, options = PROMPTS[word], {"on_halt": on_halt, "stream_to": self.address(stream)}
        refusal = self.model.refusal(prompt, on_halt)
        found = answer(
            lambda: client.tell_with_completion(
                target, prompt, self.address(to), stream_batch=batch, **options
            )
        )
        if refusal is not None:
            assert found == refusal
        else:
            self.accepted(Job(prompt, "tell", found, to or who, stream or None, on_halt))

    @rule(word=words, who=whos, to=recipients, stream=recipients, on_halt=on_halts)
    def submit(self, word: str, who: str, to: str, stream: str, on_halt: Any) -> None:
        client, address = self.act(who, False)
        self.submitted(
            client.submit_with_completion(
                address, PROMPTS[word], self.address(to), on_halt=on_halt, stream_to=self.address(stream)
            ),
            Job(PROMPTS[word], "tell", None, to or who, stream or None, on_halt),
        )

    def submitted(self, ref: RequestRef, job: Job) -> None:
        """Its recipient is told what became of it."""
        refusal = self.model.refusal(job.prompt, job.on_halt)
        job.ref, job.admission_due = ref, True
        if refusal is None:
            self.accepted(job)
        else:
            self.refs.append(ref)
            self.model.say(job.to, "admission", ref, refusal)

    # ---------------------------------------------------------------- asking

    @precondition(lambda self: self.model.active is None and not self.model.halted)
    @rule(who=whos, named=hows)
    def ask(self, who: str, named: bool) -> None:
        client, target = self.act(who, named)
        assert answer(lambda: client.ask(target, "quick", timeout=PATIENCE_S)) == f"quick {self.model.turns}"
        self.model.turns += 1

    @rule(word=words, who=whos, named=hows)
    def ask_beside(self, word: str, who: str, named: bool) -> None:
        _, target = self.act(who, named)
        prompt = PROMPTS[word]
        refusal = self.model.refusal(prompt)
        key = self.beside("ask", lambda client: client.ask(target, prompt, timeout=LONG_S))
        if refusal is not None:
            self.model.say(key, "answer", refusal)
            return
        self.model.take(Job(prompt, "ask", to=key))
        self.troupe.until(self.is_where_the_model_is)

    def is_where_the_model_is(self) -> bool:
        """Whether what was asked beside has arrived."""
        snapshot = self.snapshot()
        runs, waits = self.model.active is not None, len(self.model.queue)
        return (snapshot.current_request is not None, snapshot.pending_prompts) == (runs, waits)

    @precondition(lambda self: self.model.active is not None or self.model.halted)
    @rule(who=whos, word=words)
    def ask_in_vain(self, who: str, word: str) -> None:
        client, address = self.act(who, False)
        refusal = self.model.refusal(PROMPTS[word])
        if refusal is not None:
            assert answer(lambda: client.ask(address, PROMPTS[word])) == refusal
            return
        with pytest.raises(CallTimeout):
            client.ask(address, PROMPTS[word], timeout=0.02)
        self.model.take(Job(PROMPTS[word], "ask", by=who))

    @rule(word=words, named=hows)
    def actor_asks(self, word: str, named: bool) -> None:
        """And does not wait."""
        _, target = self.act(ACTOR, named)
        refusal, key = self.model.refusal(PROMPTS[word]), self.new_key("ask")
        call = self.actor.post("ask", target, PROMPTS[word], timeout=LONG_S)
        self.readers[key] = Posted(self.actor, call)
        if refusal is not None:
            self.model.say(key, "answer", refusal)
        else:
            self.model.take(Job(PROMPTS[word], "ask", to=key, by=ACTOR))
            self.troupe.until(self.is_where_the_model_is)

    @rule()
    def actor_dies(self) -> None:
        """Its queued asks go with it, and nobody reads what else was due to it (C108, C114)."""
        self.act("anna", False)
        self.actor.die()
        mine = [key for key, reader in self.readers.items() if isinstance(reader, Posted)]
        for key in mine:
            del self.readers[key]
        self.ledger.forget(self.model.caller_dies(ACTOR, mine))
        self.desks[ACTOR].monitors = set()
        self.troupe.until(self.is_where_the_model_is)


class Calls(Prompts):
    """Streams and questions."""

    # ---------------------------------------------------------------- streams

    @rule(word=words, who=scripts, named=hows)
    def open_stream(self, word: str, who: str, named: bool) -> None:
        client, target = self.act(who, named)
        self.act(who, False)  # a stream is of one agent, not of a name
        stream, key = client.stream(target, PROMPTS[word]), self.new_key("stream")
        self.readers[key] = Reader(key, self.acting, stream)
        self.submitted(stream.ref, Job(PROMPTS[word], to=key, stream_to=key))

    @precondition(lambda self: any(isinstance(reader, Reader) for reader in self.readers.values()))
    @rule(number=which)
    def close_stream(self, number: int) -> None:
        keys = [key for key, reader in self.readers.items() if isinstance(reader, Reader)]
        key = keys[number % len(keys)]
        reader = self.readers.pop(key)
        assert isinstance(reader, Reader)
        self.act(reader.desk.name, False)
        active = self.model.active
        runs = active is not None and active.ref == reader.stream.ref
        with reader.stream:
            pass  # leaving the block early is what is tried
        if runs:
            self.troupe.stage.wait_gone("here", PATIENCE_S)
        self.model.close_stream(key, reader.stream.ref)
        assert answer(lambda: reader.stream.response) == ("interrupted" if runs else "cancelled")
        assert list(reader.stream._events) == []
        self.ledger.forget([reader.stream.ref])

    # ---------------------------------------------------------------- questions

    @precondition(lambda self: self.refs)
    @rule(number=which, who=whos, named=hows)
    def poll(self, number: int, who: str, named: bool) -> None:
        client, target = self.act(who, named)
        ref = self.ref(number)
        assert answer(lambda: client.poll(target, ref, timeout=PATIENCE_S)) == self.model.polled(ref)

    @precondition(lambda self: self.refs)
    @rule(number=which, who=whos, named=hows)
    def cancel(self, number: int, who: str, named: bool) -> None:
        client, target = self.act(who, named)
        ref = self.ref(number)
        assert client.cancel_request(target, ref, timeout=PATIENCE_S) == self.model.cancel(ref)

    @precondition(lambda self: self.model.results)
    @rule(number=which, who=scripts)
    def completion_of_another(self, number: int, who: str) -> None:
        refs = list(self.model.results)
        client = self.desks[who].client
        assert answer(lambda: client.completion(refs[number % len(refs)], timeout=PATIENCE_S)) == "not_found"

    @precondition(lambda self: self.model.active is None and not self.model.halted)
    @rule(who=scripts, submits=hows, fails=hows)
    def pick_out(self, who: str, submits: bool, fails: bool) -> None:
        """A completion is taken out of the midst of what has come."""
        client, target = self.act(who, False)
        self.loosely = True
        first = Job(PROMPTS["bad" if fails else "good"], to=who)
        if submits:
            self.submitted(client.submit_with_completion(target, first.prompt), first)
        else:
            first.ref = client.tell_with_completion(target, first.prompt)
            self.accepted(first)
        second = client.submit_with_completion(target, FOLLOW_UP, stream_to=self.address(who))
        self.submitted(second, Job(FOLLOW_UP, to=who, stream_to=who))
        self.let_through()
        (picked,) = (word for word in self.model.due[who] if word[:2] == ("completion", first.ref))
        self.model.due[who].remove(picked)
        assert first.ref is not None
        assert code(client.completion(first.ref, timeout=PATIENCE_S).outcome) == picked[2]
        self.ledger.ended(first.ref, who)
