"""The agent that the contract is tried with: importable by the processes it runs in.

What a callback does is looked up in a book, by what it was called with. Every callback leaves a line in the
agent's state and, where there is one, in its diary, a file that also the backend and the telemetry write to.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Mapping
from typing import Any

import attrs
from thespian.actors import Actor, ChildActorExited

from gen_agent import (
    Agent,
    Halt,
    NoReply,
    Proceed,
    Prompt,
    SelfStop,
    Skip,
    StartError,
    current_name,
)
from gen_agent.actors.processes import Watched
from gen_agent.backends.stage import StageAddress
from gen_agent.events import Event
from gen_agent.values import RequestRef
from tests.contract.diary import GATE_S, SECRET, diaries, note, stages


@attrs.frozen
class Act:
    """What a callback does: keep, prompt (with `text`), halt, skip, bad (a wrong shape), raise; or make an
    actor, lose the one with this pid, or stop the agent called `text`, and keep.

    At `hold`, the tag of a gate, it waits first.
    """

    what: str = "keep"
    text: str = ""
    hold: str = ""


KEEP, HALT, SKIP, BAD, RAISE = (Act(what) for what in ("keep", "halt", "skip", "bad", "raise"))


def say(text: str) -> Act:
    """Prompt with `text`: a chain, a retry, a rewritten prompt, or an event's prompt."""
    return Act("prompt", text)


@attrs.frozen
class Story:
    """The state: one line for every callback so far, and the refs that decisions were made on."""

    lines: tuple[str, ...] = ()
    refs: tuple[RequestRef, ...] = ()


class Puppet(Agent):
    """Does what its book says under (callback, what it was called with), or (callback, "*")."""

    def init_agent(self, options: Mapping[str, Any]) -> tuple[Mapping[str, Any], Any]:
        self.book: Mapping[tuple[str, str], Act] = options["book"]
        self.diary: str | None = options["diary"]
        self.stage: StageAddress = options["stage"]
        self.teller = options.get("teller")
        stages[current_name()] = self.stage
        if self.diary is not None:
            diaries[current_name()] = self.diary
        note(self.diary, "init_agent")
        forwarded = {"stage": self.stage, "diary": self.diary, **options.get("forward", {})}
        return forwarded, Story()

    def _act(self, hook: str, key: str) -> Act:
        note(self.diary, f"{hook} {key}".strip())
        if self.teller is not None:
            self.context.send(self.teller, f"{hook} {key}".strip())
        act = self.book.get((hook, key)) or self.book.get((hook, "*"), KEEP)
        if act.hold:
            self.stage.wait_at(act.hold, GATE_S)
        if act.what == "raise":
            raise ValueError(SECRET)
        if act.what in _DEEDS:
            _DEEDS[act.what](self, act.text or key)
        return act

    def make(self, _: str) -> None:
        """Make an actor that says who it is."""
        self.context.send(self.context.create_actor(Child), "who are you?")

    def lose(self, pid: str) -> None:
        """Kill that actor, and have Thespian's word on another's end arrive, as it may at any time and twice,
        before anybody has looked for the dead.
        """
        with Watched(int(pid)) as process:
            process.signal(signal.SIGKILL)
            assert process.wait(GATE_S)
        actor: Any = self.context.client._actor
        self.context.send(actor.myAddress, ChildActorExited(actor.myAddress))

    def stop(self, name: str) -> None:
        """Stop an agent, and write down what that raises."""
        try:
            self.context.client.stop(name)
        except SelfStop as error:
            note(self.diary, f"stop {type(error).__name__}")

    def _add(self, state: Story, hook: str, key: str = "", ref: RequestRef | None = None) -> Story:
        refs = state.refs if ref is None else (*state.refs, ref)
        return Story((*state.lines, f"{hook} {key}".strip()), refs)

    def _decide(self, hook: str, key: str, state: Story, ref: RequestRef | None = None) -> Any:
        act, state = self._act(hook, key), self._add(state, hook, key, ref)
        shapes = {"prompt": Prompt(act.text, state), "halt": Halt(state), "bad": (state,)}
        return shapes.get(act.what, NoReply(state))

    def pre_run(self, state: Any) -> Any:
        act = self._act("pre_run", "")
        if act.what == "skip":
            raise StartError("not today")
        return None if act.what == "bad" else state

    def pre_turn(self, prompt: str, state: Any) -> Any:
        act, state = self._act("pre_turn", prompt), self._add(state, "pre_turn", prompt)
        shapes: dict[str, Any] = {
            "prompt": Proceed(act.text, state),
            "skip": Skip(state),
            "halt": Halt(state),
            "bad": Proceed(42, state),  # type: ignore[arg-type]
        }
        return shapes.get(act.what, Proceed(prompt, state))

    @classmethod
    def handle_stream_event(cls, event: Event, state: Any) -> Any:
        if event.kind == "who":
            note(event.data["diary"], f"stream {current_name()}")
        return attrs.evolve(state, lines=(*state.lines, f"stream {event.data.get('text', event.kind)}"))

    def handle_response(self, ref: RequestRef, response: Any, state: Any) -> Any:
        return self._decide("handle_response", response.prompt, state, ref)

    def handle_error(self, ref: RequestRef, error: Any, state: Any) -> Any:
        return self._decide("handle_error", error.code, state, ref)

    def handle_event(self, event: Any, state: Any) -> Any:
        if event == "who":
            thread = threading.Thread(target=lambda: note(self.diary, f"thread {current_name()}"))
            thread.start()
            thread.join()
        return self._decide("handle_event", str(event), state)

    def handle_info(self, message: Any, sender: Any, state: Any) -> Any:
        key = message if isinstance(message, str) else type(message).__name__
        return self._decide("handle_info", key, state)

    def post_turn(self, outcome: Any, ref: RequestRef, state: Any) -> Any:
        key = getattr(outcome, "code", "ok")
        return None if self._act("post_turn", key).what == "bad" else self._add(state, "post_turn", key)

    def post_run(self, state: Any) -> None:
        self._act("post_run", str(len(state.lines)))

    def terminate_agent(self, reason: str, state: Any) -> None:
        self._act("terminate_agent", reason)


_DEEDS: dict[str, Callable[[Puppet, str], None]] = {
    "lose": Puppet.lose,
    "make": Puppet.make,
    "stop": Puppet.stop,
}


class Child(Actor):
    """An actor of an agent: says its pid."""

    def receiveMessage(self, message: Any, sender: Any) -> None:
        """Answer a question."""
        if isinstance(message, str):
            self.send(sender, f"pid {os.getpid()}")
