"""The backend that the contract is tried with: what a turn does is said by the words of its prompt."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import attrs

from gen_agent import BackendError, NotCurrent
from gen_agent.backend import Backend, Turn
from gen_agent.backends.stage import StageAddress
from gen_agent.events import Event
from tests.contract.diary import GATE_S, SECRET, note


@attrs.frozen
class Talk:
    """A session: how many turns have left their trace in it, and its id."""

    turns: int = 0
    session_id: str | None = None


class Stagehand(Backend):
    """Does what the words of a prompt say, then answers with the prompt's first word; can't be made, nor
    end its session, while there is the file `barred`."""

    def __init__(self, stage: StageAddress, diary: str | None = None, barred: str | None = None) -> None:
        if barred is not None and os.path.exists(barred):
            raise ValueError(SECRET)
        self._stage, self._diary, self._barred = stage, diary, barred
        self._kept: Turn | None = None

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

    def keep(self, _: str, turn: Turn) -> Iterator[Event]:
        """Keep this turn for later ones."""
        self._kept = turn
        yield from ()

    def late(self, session_id: str, _: Turn) -> Iterator[Event]:
        """A checkpoint of the kept turn, which is over; the diary says what it raises."""
        assert self._kept is not None
        try:
            self._kept.checkpoint(session_id)
        except NotCurrent as error:
            note(self._diary, f"late {type(error).__name__}")
        yield from ()

    def update_session(self, session: Any, result: Event) -> Any:
        note(self._diary, "update_session")
        return session

    def checkpoint_session(self, session: Any, session_id: str) -> Any:
        if session_id == "raise":
            raise ValueError(SECRET)
        return attrs.evolve(session, session_id=session_id)

    def terminate_session(self, session: Any) -> None:
        note(self._diary, f"terminate_session {session.turns}")
        if self._barred is not None and os.path.exists(self._barred):
            raise ValueError(SECRET)


class Resettable(Stagehand):
    """One whose session can begin anew, unless the file `barred` says how it can't."""

    def reset_session(self, session: Any) -> Any:
        if self._barred is None or not os.path.exists(self._barred):
            return Talk()
        with open(self._barred) as file:
            how = file.read()
        if how == "refuse":
            raise BackendError("stage", "refused", message=SECRET)
        if how == "raise":
            raise ValueError(SECRET)
        return None


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
    "keep": Stagehand.keep,
    "late": Stagehand.late,
    "text": lambda backend, text, turn: (Event.text(text),),
    "pad": lambda backend, size, turn: (Event.text("x" * int(size)),),
    "many": lambda backend, count, turn: (Event.text(str(n)) for n in range(int(count))),
    "boundary": lambda backend, text, turn: (Event.text(text, message_boundary=True),),
    "usage": lambda backend, tokens, turn: (Event.usage(int(tokens), int(tokens)),),
    "error": lambda backend, reason, turn: (Event.error(reason=reason) if reason else Event.error(),),
    "junk": lambda backend, _, turn: (42,),  # type: ignore[dict-item,return-value]
    "result": lambda backend, text, turn: (Event.result(text or None),),
    "checkpoint": _checkpoint,
    "crash": _crash,
    "exit": _exit,
}
