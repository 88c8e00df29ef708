"""The steps of a real history that steer: turns, events, halts, deaths, monitors, the dead and the absent."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from gen_agent import AgentDown
from gen_agent.messages import Down
from tests.contract.cast import Puppet
from tests.contract.history_calls import Calls
from tests.contract.history_desk import answer
from tests.contract.history_players import LONG_S, SCRIPTS, hows, which, whos
from tests.contract.history_waiting import PROMPTS, Job
from tests.contract.stagehand import Resettable
from tests.contract.troupe import PATIENCE_S

events = st.sampled_from(["", "", "", "go", "stop"])
casts = st.lists(st.sampled_from(["submit", "submit", "notify", "halt", "resume"]), min_size=2, max_size=6)
LONG_AGO = 8
"""After how many steps an agent may be ended."""


class Turns(Calls):
    """What is done to the turn that runs."""

    @precondition(lambda self: self.model.active is not None)
    @rule(who=whos)
    def release(self, who: str) -> None:
        self.act(who, False)
        self.let_through()

    @precondition(lambda self: self.refs)
    @rule(number=which, who=whos, named=hows)
    def interrupt_request(self, number: int, who: str, named: bool) -> None:
        client, target = self.act(who, named)
        ref, active = self.ref(number), self.model.active
        expected = "idle" if active is None else "accepted" if active.ref == ref else "not_current"
        assert client.interrupt_request(target, ref, timeout=PATIENCE_S) == expected
        if expected == "accepted":
            self.killed()

    @rule(who=whos, named=hows)
    def interrupt(self, who: str, named: bool) -> None:
        client, target = self.act(who, named)
        client.interrupt(target)
        self.killed()

    def killed(self) -> None:
        """Whoever waited at the gate is gone."""
        if self.model.active is not None:
            self.troupe.stage.wait_gone("here", PATIENCE_S)
            self.model.interrupt()

    @precondition(lambda self: self.model.active is not None)
    @rule(who=whos)
    def worker_dies(self, who: str) -> None:
        self.act(who, False)
        before = self.attempt()
        self.kill_worker()
        self.troupe.until(lambda: self.attempt() != before)
        self.model.cut_short("task_crashed")


class Controls(Turns):
    """Events, halts, resets; several casts in a row."""

    def event(self, event: str) -> str:
        """One that is told from all others, or one that the agent does something about."""
        return event or f"e{next(self.numbers)}"

    @rule(who=whos, named=hows, event=events, acknowledged=hows)
    def notify(self, who: str, named: bool, event: str, acknowledged: bool) -> None:
        client, target = self.act(who, named)
        event = self.event(event)
        expected = self.model.notify(event)
        if acknowledged:
            assert answer(lambda: client.notify_ack(target, event)) == expected
        else:
            assert client.notify(target, event) == (None if named else "ok")

    @rule(who=whos, named=hows)
    def halt(self, who: str, named: bool) -> None:
        client, target = self.act(who, named)
        client.halt(target)
        self.model.halt()

    @rule(who=whos, named=hows)
    def resume(self, who: str, named: bool) -> None:
        client, target = self.act(who, named)
        client.resume(target)
        self.model.resume()

    @rule(who=whos, named=hows)
    def reset(self, who: str, named: bool) -> None:
        client, target = self.act(who, named)
        assert answer(lambda: client.reset_session(target)) == self.model.reset()

    @rule(who=whos, what=casts)
    def many_casts(self, who: str, what: list[str]) -> None:
        """Nothing is waited for in between, and the order is kept (C239); an idle agent's admission comes
        from its worker, and what that says may come among the admissions of other requests."""
        client, address = self.act(who, False)
        self.loosely = True
        for one in what:
            if one == "submit":
                ref = client.submit_with_completion(address, PROMPTS["good"])
                self.submitted(ref, Job(PROMPTS["good"], to=who))
            elif one == "notify":
                event = self.event("")
                client.notify(address, event)
                self.model.notify(event)
            else:
                getattr(client, one)(address)
                getattr(self.model, one)()

    @rule(who=whos, named=hows)
    def find(self, who: str, named: bool) -> None:
        """The name is this agent's, and nobody else can have it."""
        client, _ = self.act(who, named)
        assert client.whereis("a") == self.agent
        assert client.list() == ["a"]
        options: dict[str, Any] = {"book": {}, "stage": None, "diary": None}
        started = answer(lambda: client.start_agent(Puppet, name="a", backend=Resettable, **options))
        assert started == "already_started"


class Ends(Controls):
    """Ends of agents, and who hears of them."""

    @precondition(lambda self: self.age > LONG_AGO)
    @rule(who=whos, named=hows)
    def drain(self, who: str, named: bool) -> None:
        """By a call beside it, if a turn runs."""
        client, target = self.act(who, named)
        if self.model.active is None:
            key = self.new_key("drain")
            client.drain(target, timeout=PATIENCE_S)
            self.model.drain(key)
            assert self.model.due.pop(key) == [("answer", None)]
        else:
            self.model.drain(self.beside("drain", lambda client: client.drain(target, timeout=LONG_S)))
            self.troupe.until(lambda: bool(self.snapshot().draining))

    @precondition(lambda self: self.age > LONG_AGO)
    @rule(who=whos, named=hows)
    def stop(self, who: str, named: bool) -> None:
        client, target = self.act(who, named)
        client.stop(target, timeout=PATIENCE_S)
        self.stopped("shutdown")

    @precondition(lambda self: self.age > LONG_AGO)
    @rule(who=whos, again=which)
    def agent_dies(self, who: str, again: int) -> None:
        self.act(who, bool(again % 2))
        self.kill()

    @rule(who=whos, named=hows)
    def monitor(self, who: str, named: bool) -> None:
        client, target = self.act(who, named)
        if len(self.acting.monitors) < 4:
            self.acting.monitors.add(client.monitor(target))

    @rule(who=whos, named=hows)
    def demonitor(self, who: str, named: bool) -> None:
        client, _ = self.act(who, named)
        if len(self.acting.monitors) > 1:
            client.demonitor(self.acting.monitors.pop())

    @precondition(lambda self: self.dead)
    @rule(who=whos, number=which)
    def speak_to_the_dead(self, who: str, number: int) -> None:
        """A captured address is never looked up: nothing reaches who has its name now (C196, C211)."""
        client, _ = self.act(who, False)
        dead = self.dead[number % len(self.dead)]
        ref = client.submit_with_completion(dead, "late")
        for cast in (client.halt, client.resume, client.interrupt):
            cast(dead)
        assert client.notify(dead, "late") == "not_alive"
        assert answer(lambda: client.poll(dead, ref, timeout=PATIENCE_S)) == AgentDown.code
        if who in SCRIPTS:
            assert answer(lambda: client.completion(ref, timeout=PATIENCE_S)) == AgentDown.code
        assert answer(lambda: client.ask(dead, "late", timeout=PATIENCE_S)) == AgentDown.code
        monitor = client.monitor(dead)
        down = client.receive(lambda one: isinstance(one, Down), timeout=PATIENCE_S)
        assert (down.monitor, down.agent, down.reason) == (monitor, dead, "noproc")

    @rule(who=whos)
    def speak_to_nobody(self, who: str) -> None:
        """A name that nobody has is not found; casts to it are silent (C102, C103)."""
        client, _ = self.act(who, True)
        for cast in (client.halt, client.resume, client.interrupt):
            cast("nobody")
        assert client.notify("nobody", "late") is None
        for call in (client.status, client.drain, client.stop, client.reset_session):
            assert answer(lambda call=call: call("nobody")) == "not_found"  # type: ignore[misc]
        assert client.whereis("nobody") is None
