"""The backend for tests: each turn plays the next of the scripts it was given (C259).

Law: a script is used up by the turn that begins it, also when that turn is killed, so where a session
stands is kept in files (`stage.Record`) and not in the session, which an interrupted turn gives back
unchanged. Everything a script is made of pickles. This module must not know agents or actors.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

import attrs

from gen_agent.backend import Backend, Turn
from gen_agent.backends.options import refuse_unknown
from gen_agent.backends.stage import GATE_TIMEOUT_S, GateError, Record, Stage, StageAddress
from gen_agent.errors import BackendError, StartError
from gen_agent.events import Event

__all__ = [
    "Checkpoint", "Crash", "Fail", "Gate", "GateError", "Script", "ScriptedBackend", "ScriptedSession",
    "Stage", "checkpoint", "crash", "fail", "gate", "history", "remaining", "reply",
]  # fmt: skip


@attrs.frozen
class Gate:
    """A step at which the worker waits until the stage releases `tag`; then its events follow."""

    tag: str
    events: tuple[Any, ...] = attrs.field(default=(), repr=False)
    timeout_s: float | None = GATE_TIMEOUT_S


@attrs.frozen
class Fail:
    """A whole script: the turn can't be dispatched; `error` is raised before any event (C257)."""

    error: BackendError = attrs.field(validator=attrs.validators.instance_of(BackendError))


@attrs.frozen
class Crash:
    """A step that raises `exception` while the stream is read."""

    exception: BaseException = attrs.field(repr=False)


@attrs.frozen
class Checkpoint:
    """A step that offers `session_id` to the agent in the middle of the turn (C188)."""

    session_id: str


Step: TypeAlias = Event | Gate | Crash | Checkpoint
Script: TypeAlias = Step | Fail | Iterable[Step] | Callable[[str], Iterable[Step]]
"""One turn: a step, steps in a list or tuple, a `Fail`, or a function of the prompt that makes the steps."""


def gate(tag: str, events: Iterable[Step] = (), timeout_s: float | None = GATE_TIMEOUT_S) -> Gate:
    """A step that waits for `Stage.release(tag)`, at most `timeout_s` seconds (None: no limit), then plays
    `events`.

    Needs the option `stage`. In the stage's own process (simpleSystemBase) the turn ends with `GateError`
    instead.
    """
    return Gate(tag, tuple(events), timeout_s)


def fail(error: BackendError) -> Fail:
    """A script whose turn ends with `error`, unchanged, before its first event; raises `TypeError` for
    another error, which would count as a crash (C257).
    """
    return Fail(error)


def crash(exception: BaseException) -> Crash:
    """A step that raises `exception` in the worker."""
    return Crash(exception)


def checkpoint(session_id: str) -> Checkpoint:
    """A step that calls `turn.checkpoint(session_id)`."""
    return Checkpoint(session_id)


def reply(*texts: str, **data: Any) -> tuple[Event, ...]:
    """A script that says `texts`, one text event each, and ends with a result carrying `data`."""
    return (*(Event.text(text) for text in texts), Event.result(**data))


@attrs.frozen
class ScriptedSession:
    """What a scripted agent's session is: where its record is, its label, and how many turns ended with a
    result.
    """

    path: str
    label: str
    turns: int = 0
    session_id: str | None = None


def history(session: ScriptedSession) -> tuple[str, ...]:
    """The prompts of `session` so far, failed ones included.

    Raises `TypeError` for the session of another backend, `LookupError` once the session has ended.
    """
    return _record(session).prompts()


def remaining(session: ScriptedSession, scripts: int | None = None) -> int:
    """How many scripts of `session` have not begun. Raises as `history` does."""
    record = _record(session)
    return record.remaining() if scripts is None else max(0, scripts - len(record.prompts()))


def _record(session: ScriptedSession) -> Record:
    if not isinstance(session, ScriptedSession):
        raise TypeError(f"the session of a scripted backend is needed, not {type(session).__name__}")
    return Record(session.path)


class ScriptedBackend(Backend):
    """Plays one script per turn; without any left a turn ends with `BackendError(kind="no_script")`.

    Options: `scripts`, in order; `stage`, a `Stage.address`, for gates and for reading the history in
    another process; `label`, the name this session has there; `start_error`, what `start_session` raises
    (an exception) or refuses with (a reason). `TypeError` for anything else.
    """

    def __init__(
        self,
        *,
        scripts: Iterable[Script] = (),
        stage: StageAddress | None = None,
        label: str = "agent",
        start_error: Any = None,
        **unknown: Any,
    ) -> None:
        refuse_unknown("scripted", unknown, ("scripts", "stage", "label", "start_error"))
        self._scripts = tuple(scripts)
        self._stage = stage
        self._label = label
        self._start_error = start_error

    def start_session(self) -> ScriptedSession:
        """A session that has used no script; raises what `start_error` says."""
        if isinstance(self._start_error, BaseException):
            raise self._start_error
        if self._start_error is not None:
            raise StartError(self._start_error)
        root = self._stage.path if self._stage else os.environ.get("GEN_AGENT_SYSTEM_DIR")
        return ScriptedSession(Record.begin(root, self._label, len(self._scripts)).path, self._label)

    def prompt(self, session: ScriptedSession, prompt: str, turn: Turn) -> Iterable[Event]:
        """Use up the next script; its steps are played as the events are read. Raises the error of a
        `Fail`.
        """
        number = Record(session.path).take(prompt)
        if number >= len(self._scripts):
            raise BackendError("scripted", kind="no_script", message=f"no script for turn {number + 1}")
        script = self._scripts[number]
        if isinstance(script, Fail):
            raise script.error
        return self._play(script(prompt) if callable(script) else script, turn)

    def _play(self, steps: Any, turn: Turn) -> Iterator[Event]:
        if isinstance(steps, (Event, Gate, Crash, Checkpoint)):
            steps = (steps,)
        for step in steps:
            if isinstance(step, Gate):
                self._wait(step)
                yield from self._play(step.events, turn)
            elif isinstance(step, Crash):
                raise step.exception
            elif isinstance(step, Checkpoint):
                turn.checkpoint(step.session_id)
            else:
                yield step  # also what is no event: that a turn refuses it is for a test to see

    def _wait(self, step: Gate) -> None:
        if self._stage is None:
            raise GateError(f"gate {step.tag!r}: the backend was given no stage")
        self._stage.wait_at(step.tag, step.timeout_s)

    def update_session(self, session: ScriptedSession, result: Event) -> ScriptedSession:
        """Count the turn."""
        return attrs.evolve(session, turns=session.turns + 1)

    def checkpoint_session(self, session: ScriptedSession, session_id: str) -> ScriptedSession:
        """Keep the id."""
        return attrs.evolve(session, session_id=session_id)

    def reset_session(self, session: ScriptedSession) -> ScriptedSession:
        """Forget turns and id; the scripts go on where they were."""
        return attrs.evolve(session, turns=0, session_id=None)

    def terminate_session(self, session: ScriptedSession) -> None:
        """Remove the record of a session that has no stage; a stage keeps it for the test to read."""
        if self._stage is None:
            Record(session.path).end()
