"""The agent and the backend that the contract is tried with: importable by the processes they run in.

What a callback does is looked up in a book, by what it was called with; what a turn does is said by the words
of its prompt. Every callback leaves a line in the agent's state and, where there is one, in its diary, a file
that also the backend, the telemetry and the end of an agent can write to.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import attrs
from thespian.actors import Actor

from gen_agent import (
    Agent,
    BackendError,
    Halt,
    NoReply,
    Proceed,
    Prompt,
    SelfStop,
    Skip,
    StartError,
    current_name,
)
from gen_agent.backend import Backend, Turn
from gen_agent.backends.stage import StageAddress
from gen_agent.events import Event
from gen_agent.values import RequestRef

GATE_S = 60.0
"""How long anything is held at most; a test that needs it is over or has failed long before."""

SECRET = "what nobody may see"


def note(path: str | None, line: object) -> None:
    """Add a line to a diary in one write, whole whoever else writes."""
    if path is None:
        return
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(file, f"{line}\n".encode())
    finally:
        os.close(file)


@attrs.frozen
class Act:
    """What a callback does: keep, prompt (with `text`), halt, skip, bad (a wrong shape), raise; or make an
    actor, or stop the agent called `text`, and keep.

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


_diaries: dict[Any, str] = {}


class Puppet(Agent):
    """Does what its book says under (callback, what it was called with), or (callback, "*")."""

    def init_agent(self, options: Mapping[str, Any]) -> tuple[Mapping[str, Any], Any]:
        self.book: Mapping[tuple[str, str], Act] = options["book"]
        self.diary: str | None = options["diary"]
        self.stage: StageAddress = options["stage"]
        self.teller = options.get("teller")
        if self.diary is not None:
            _diaries[current_name()] = self.diary
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
            _DEEDS[act.what](self, act.text)
        return act

    def make(self, _: str) -> None:
        """Make an actor that says who it is."""
        self.context.send(self.context.create_actor(Child), "who are you?")

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


_DEEDS: dict[str, Callable[[Puppet, str], None]] = {"make": Puppet.make, "stop": Puppet.stop}


class Child(Actor):
    """An actor of an agent: says its pid."""

    def receiveMessage(self, message: Any, sender: Any) -> None:
        """Answer a question."""
        if isinstance(message, str):
            self.send(sender, f"pid {os.getpid()}")


def diarist(name: tuple[str, ...], measurements: Mapping[str, Any], metadata: Mapping[str, Any]) -> None:
    """A telemetry handler that writes the names of events into the diary of their agent."""
    note(_diaries.get(metadata["agent"]), "telemetry " + ".".join(name[1:]))


def accountant(name: tuple[str, ...], measurements: Mapping[str, Any], metadata: Mapping[str, Any]) -> None:
    """A telemetry handler that writes down which keys an event has, and its kind of reason."""
    keys = [*sorted(measurements), "|", *sorted(metadata.keys() - {"agent"})]
    kind = metadata.get("reason_kind", "")
    note(_diaries.get(metadata["agent"]), f"told {'.'.join(name[1:])}: {' '.join(keys)} {kind}".strip())


def stumbler(*_: Any) -> None:
    """A telemetry handler that always raises."""
    raise ValueError(SECRET)


@attrs.frozen
class Talk:
    """A session: how many turns have left their trace in it, and its id."""

    turns: int = 0
    session_id: str | None = None


class Stagehand(Backend):
    """Does what the words of a prompt say, then answers with the prompt's first word."""

    def __init__(self, stage: StageAddress, diary: str | None = None) -> None:
        self._stage, self._diary = stage, diary

    def start_session(self) -> Any:
        note(self._diary, "start_session")
        return Talk()

    def prompt(self, session: Any, prompt: str, turn: Turn) -> Iterable[Event]:
        note(self._diary, f"prompt {prompt}")
        name, *words = prompt.split()
        if words[:1] == ["fail"]:
            raise BackendError("stage", "fail", message=SECRET)
        return self._play(name, words, turn)

    def _play(self, name: str, words: list[str], turn: Turn) -> Iterator[Event]:
        turn.session = attrs.evolve(turn.session, turns=turn.session.turns + 1)
        before = turn.session.turns - 1
        try:
            for word in words:
                verb, _, argument = word.partition(":")
                if verb == "silent":
                    return
                yield from _STEPS[verb](self, argument, turn)
            yield Event.result(name, turns=before, session_id=turn.session.session_id)
        finally:
            note(self._diary, "stream closed")

    def hold(self, tag: str, turn: Turn) -> Iterator[Event]:
        """Wait at a gate."""
        self._stage.wait_at(tag, GATE_S)
        yield from ()

    def who(self, _: str, turn: Turn) -> Iterator[Event]:
        """An event whose callback says in the diary what its agent is called."""
        yield Event("who", {"diary": self._diary})

    def update_session(self, session: Any, result: Event) -> Any:
        note(self._diary, "update_session")
        return session

    def checkpoint_session(self, session: Any, session_id: str) -> Any:
        return attrs.evolve(session, session_id=session_id)

    def terminate_session(self, session: Any) -> None:
        note(self._diary, f"terminate_session {session.turns}")


class Bare(Backend):
    """A backend with nothing but what every backend must have."""

    def __init__(self, **_: Any) -> None:
        super().__init__()

    def start_session(self) -> Any:
        return Talk()

    def prompt(self, session: Any, prompt: str, turn: Turn) -> Iterable[Event]:
        return (Event.result(prompt),)


def _checkpoint(backend: Stagehand, session_id: str, turn: Turn) -> Iterator[Event]:
    turn.session = attrs.evolve(turn.session, session_id=session_id)
    turn.checkpoint(session_id)
    yield from ()


def _crash(backend: Stagehand, _: str, turn: Turn) -> Iterator[Event]:
    raise ValueError(SECRET)
    yield


def _exit(backend: Stagehand, status: str, turn: Turn) -> Iterator[Event]:
    os._exit(int(status))
    yield


_Step = Callable[[Stagehand, str, Turn], Iterable[Event]]

_STEPS: dict[str, _Step] = {
    "hold": Stagehand.hold,
    "who": Stagehand.who,
    "text": lambda backend, text, turn: (Event.text(text),),
    "pad": lambda backend, size, turn: (Event.text("x" * int(size)),),
    "many": lambda backend, count, turn: (Event.text(str(n)) for n in range(int(count))),
    "boundary": lambda backend, text, turn: (Event.text(text, message_boundary=True),),
    "usage": lambda backend, tokens, turn: (Event.usage(int(tokens), int(tokens)),),
    "error": lambda backend, reason, turn: (Event.error(reason=reason),),
    "result": lambda backend, text, turn: (Event.result(text or None),),
    "checkpoint": _checkpoint,
    "crash": _crash,
    "exit": _exit,
}


class LogLine(logging.Formatter):
    """Lines with the agent's name and module in front, where a record has them."""

    def format(self, record: logging.LogRecord) -> str:
        """Name, module and message."""
        known = vars(record)
        return f"{known.get('gen_agent')}|{known.get('gen_agent_module')}|{super().format(record)}"
