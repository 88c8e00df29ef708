"""Callbacks, guarded: what each may return, and what a raise or a wrong shape means. All of it is one table.

A callback never raises out of here: it comes back as a checked value or as a `Failure`, which holds class
names and places in the code, never a message, an argument or a state (C218). Acting on it is up to the
caller.
"""

from __future__ import annotations

import enum
import inspect
import traceback
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

import attrs

from gen_agent.agent import Agent, Halt, NoReply, Proceed, Prompt, Skip
from gen_agent.errors import InitAgentFailed, InitFailed, StartError

Around = Callable[[str], AbstractContextManager[Any]]
"""What a shell puts around each callback, given its name: `current_name`, the context."""


class Shape(enum.Enum):
    """What a callback must return."""

    OPTIONS_AND_STATE = "(Mapping, state)"
    DECISION = "NoReply, Prompt or Halt"
    GATE = "Proceed, Skip or Halt"
    STATE = "state"
    IGNORED = "anything"


class Meaning(enum.Enum):
    """What a raise or a wrong shape means."""

    REFUSES_START = "the start fails"
    STOPS = "the agent stops"
    REJECTS = "the prompt is rejected"
    FAILS_TURN = "the turn fails"
    KEEPS = "logged; the old state stays"


@attrs.frozen(slots=True)
class Hook:
    """One callback's row: shape, meaning of a failure, where it runs and what an absent one does."""

    shape: Shape
    on_failure: Meaning
    runs_in: str
    default: str


HOOKS: Mapping[str, Hook] = {
    "init_agent": Hook(Shape.OPTIONS_AND_STATE, Meaning.REFUSES_START, "agent", "required"),
    "handle_response": Hook(Shape.DECISION, Meaning.STOPS, "agent", "required"),
    "handle_error": Hook(Shape.DECISION, Meaning.KEEPS, "agent", "NoReply(state)"),
    "handle_event": Hook(Shape.DECISION, Meaning.KEEPS, "agent", "NoReply(state)"),
    "handle_info": Hook(Shape.DECISION, Meaning.KEEPS, "agent", "absent: logged by class and dropped"),
    "handle_stream_event": Hook(Shape.STATE, Meaning.FAILS_TURN, "worker", "state"),
    "pre_run": Hook(Shape.STATE, Meaning.STOPS, "agent", "state"),
    "pre_turn": Hook(Shape.GATE, Meaning.REJECTS, "agent", "Proceed(prompt, state)"),
    "post_turn": Hook(Shape.STATE, Meaning.KEEPS, "agent", "state"),
    "post_run": Hook(Shape.IGNORED, Meaning.KEEPS, "agent", "nothing"),
    "terminate_agent": Hook(Shape.IGNORED, Meaning.KEEPS, "agent", "nothing"),
}


@attrs.frozen(slots=True)
class Failure:
    """A callback that raised, or returned a wrong shape (`kind` is bad_return): names and places, no content.

    `kind` is error, or exit for what is no `Exception`; `refused` holds the reason of a `StartError`.
    """

    hook: str
    kind: str
    name: str
    places: tuple[str, ...] = ()
    refused: StartError | None = attrs.field(default=None, repr=False)

    def __str__(self) -> str:
        if self.kind == "bad_return":
            return f"{self.hook} returned {self.name}, not {HOOKS[self.hook].shape.value}"
        return " ".join((f"{self.hook} raised {self.name}", *self.places))


class Hooks:
    """The callbacks of one agent instance."""

    __slots__ = ("_agent", "_around", "has_info")

    has_info: bool
    """Whether the class handles ordinary messages at all (C041)."""

    def __init__(self, agent: Agent, around: Around | None = None) -> None:
        self._agent = agent
        self._around = around
        self.has_info = callable(getattr(agent, "handle_info", None))

    def call(self, hook: str, *args: Any) -> Any:
        """Run `hook` with `args`, the state last; returns a value of its shape, or a `Failure`."""
        try:
            callback = getattr(self._agent, hook)
            if getattr(callback, "__func__", None) is _DEFAULTS[hook]:
                # A default is no user's code: nothing has to be put around it, and it returns what it should.
                return callback(*args)
            if self._around is None:
                value = callback(*args)
            else:
                with self._around(hook):
                    value = callback(*args)
        except BaseException as error:
            return failure(hook, error)
        return value if _FITS[hook](value, args[-1]) else _misshapen(hook, value)

    def own(self, hook: str) -> bool:
        """Whether the class has its own `hook`: a default does nothing and takes no time."""
        return getattr(getattr(self._agent, hook), "__func__", None) is not _DEFAULTS[hook]

    def start(self, options: Mapping[str, Any]) -> tuple[Mapping[str, Any], Any] | StartError:
        """Run `init_agent`: backend options and the first state, or the error of this start (C017)."""
        value = self.call("init_agent", options)
        if not isinstance(value, Failure):
            return value  # type: ignore[no-any-return]
        if value.refused is not None:
            return InitAgentFailed(value.refused.fields.get("reason"))
        if value.kind == "bad_return":
            return InitAgentFailed(value.name)
        return InitFailed(value.kind, value.name)


def failure(hook: str, error: BaseException) -> Failure:
    """Describe `error`, raised by `hook`, without any of its content."""
    kind = "error" if isinstance(error, Exception) else "exit"
    refused = error if isinstance(error, StartError) else None
    return Failure(hook, kind, type(error).__name__, _places(error), refused)


def streams(agent: type[Agent]) -> bool:
    """Whether the class looks at stream events, so that its state must travel with each turn."""
    return getattr(agent.handle_stream_event, "__func__", None) is not Agent.handle_stream_event.__func__  # type: ignore[attr-defined]


def forgot_return(value: object, before: object) -> bool:
    """Whether a callback that returns a bare state returned None for a state: a forgotten `return`."""
    return value is None and before is not None


def _is_decision(value: Any, _: object) -> bool:
    return isinstance(value, (NoReply, Halt)) or (isinstance(value, Prompt) and isinstance(value.text, str))


def _is_gate(value: Any, _: object) -> bool:
    return isinstance(value, (Skip, Halt)) or (isinstance(value, Proceed) and isinstance(value.prompt, str))


def _is_state(value: Any, before: object) -> bool:
    return not forgot_return(value, before) and not inspect.isawaitable(value)


def _is_start(value: Any, _: object) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], Mapping)


def _is_anything(_: object, __: object) -> bool:
    return True


_CHECKS: Mapping[Shape, Callable[[Any, Any], bool]] = {
    Shape.DECISION: _is_decision,
    Shape.GATE: _is_gate,
    Shape.STATE: _is_state,
    Shape.OPTIONS_AND_STATE: _is_start,
    Shape.IGNORED: _is_anything,
}
_DEFAULTS = {name: vars(Agent).get(name, hook) for name, hook in HOOKS.items()}
_FITS = {name: _CHECKS[hook.shape] for name, hook in HOOKS.items()}


def _misshapen(hook: str, value: object) -> Failure:
    if inspect.iscoroutine(value):
        value.close()  # An async callback that slipped through: never awaited, so that it warns nobody later.
    return Failure(hook, "bad_return", type(value).__name__)


def _places(error: BaseException) -> tuple[str, ...]:
    # Names and lines only: a formatted traceback shows source lines, and some formatters show locals.
    frames = list(traceback.walk_tb(error.__traceback__))[1:]
    return tuple(
        f"{frame.f_code.co_filename.rpartition('/')[2]}:{line}:{frame.f_code.co_name}"
        for frame, line in frames[-8:]
    )
