"""Guarded callbacks: shapes, failures, and that nothing of their content gets out (C020, C021, C216-C218)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from gen_agent.agent import Agent, Halt, NoReply, Proceed, Prompt, Skip
from gen_agent.core.hooks import HOOKS, Failure, Hooks, Meaning, Shape, failure, streams
from gen_agent.errors import StartError
from tests.core.rig_agents import InfoAgent, RigAgent, StreamAgent

GOOD: dict[Shape, list[Any]] = {
    Shape.DECISION: [NoReply(1), Prompt("x", 1), Halt(1)],
    Shape.GATE: [Proceed("x", 1), Skip(1), Halt(1)],
    Shape.STATE: [1, "anything"],
    Shape.IGNORED: [None, 1],
    Shape.OPTIONS_AND_STATE: [({}, 1)],
}
BAD: dict[Shape, list[Any]] = {
    Shape.DECISION: [None, 1, Skip(1), Proceed("x", 1), Prompt(5, 1), NoReply],  # type: ignore[arg-type]
    Shape.GATE: [None, 1, NoReply(1), Prompt("x", 1), Proceed(5, 1)],  # type: ignore[arg-type]
    Shape.STATE: [None],
    Shape.IGNORED: [],
    Shape.OPTIONS_AND_STATE: [None, {}, ({},), [{}, 1], ("x", 1)],
}

every = pytest.mark.parametrize("hook", [name for name in HOOKS if name != "handle_stream_event"])


class Single:
    """An object whose every callback does one thing."""

    def __init__(self, does: Any) -> None:
        self.does = does

    def __getattr__(self, name: str) -> Any:
        def callback(*args: Any) -> Any:
            if isinstance(self.does, BaseException):
                raise self.does
            return self.does

        return callback


def hooks(does: Any) -> Hooks:
    return Hooks(Single(does))  # type: ignore[arg-type]


def test_the_table_names_every_callback() -> None:
    """C021: the table has a row for each callback there is, `handle_info` included, and no other."""
    callbacks = {name for name in vars(Agent) if not name.startswith("_")} - {"child_spec", "context"}
    assert set(HOOKS) == callbacks | {"handle_info"}


@every
def test_good_shapes(hook: str) -> None:
    """C021: a callback's value of the right shape comes back as it is."""
    for value in GOOD[HOOKS[hook].shape]:
        assert hooks(value).call(hook, "arg", "state") == value


@every
def test_bad_shapes(hook: str) -> None:
    """C025, C028, C036, C038: a wrong shape is a failure that names the class of what came back."""
    for value in BAD[HOOKS[hook].shape]:
        result = hooks(value).call(hook, "arg", "state")
        assert result == Failure(hook, "bad_return", type(value).__name__)


@every
@pytest.mark.parametrize(
    ("error", "kind"),
    [(ValueError("secret"), "error"), (SystemExit("secret"), "exit"), (KeyboardInterrupt("secret"), "exit")],
)
def test_raises(hook: str, error: BaseException, kind: str) -> None:
    """C218: whatever a callback raises is a failure with class name and places, without its text."""
    result = hooks(error).call(hook, "arg", "state")
    assert (result.hook, result.kind, result.name) == (hook, kind, type(error).__name__)
    assert "test_hooks.py" in str(result)
    assert "secret" not in str(result) + repr(result)


def test_a_refusal_keeps_its_reason_hidden() -> None:
    """C025, C218: a `StartError` is kept as the reason, and not shown in logs."""
    result = hooks(StartError("secret")).call("pre_run", "state")
    assert result.refused == StartError("secret")
    assert "secret" not in str(result) + repr(result)


def test_meanings() -> None:
    """C017, C025, C034, C036, C038, C042, C048, C096: what a failure means is what the contract says."""
    meanings = {name: hook.on_failure for name, hook in HOOKS.items()}
    assert meanings.pop("init_agent") is Meaning.REFUSES_START
    assert {meanings.pop("handle_response"), meanings.pop("pre_run")} == {Meaning.STOPS}
    assert meanings.pop("pre_turn") is Meaning.REJECTS
    assert meanings.pop("handle_stream_event") is Meaning.FAILS_TURN
    assert set(meanings.values()) == {Meaning.KEEPS}


def test_a_state_of_none_may_stay_none() -> None:
    """C025, C042: returning None is only wrong where there was a state to return."""
    assert hooks(None).call("post_turn", "outcome", "ref", None) is None


def test_async_callbacks_are_a_wrong_shape() -> None:
    """C028, C036: a coroutine is no state and no decision, and nobody is warned that it was not awaited."""

    class Async(RigAgent):
        async def post_turn(self, outcome: Any, ref: Any, state: Any) -> Any:  # type: ignore[override]
            return state

    assert Hooks(Async(None)).call("post_turn", None, None, 1) == Failure(
        "post_turn", "bad_return", "coroutine"
    )


def test_around() -> None:
    """C020: what the shell puts around a callback is there while it runs, raise or not, and gone
    afterwards.
    """
    seen: list[str] = []

    @contextlib.contextmanager
    def around(hook: str) -> Iterator[None]:
        seen.append(f"before {hook}")
        try:
            yield
        finally:
            seen.append(f"after {hook}")

    Hooks(Single(1), around).call("post_run", 1)  # type: ignore[arg-type]
    Hooks(Single(ValueError()), around).call("pre_run", 1)  # type: ignore[arg-type]
    assert seen == ["before post_run", "after post_run", "before pre_run", "after pre_run"]


class Bare(Agent):
    """Has what it must have, and nothing else."""

    def init_agent(self, options: Any) -> Any:
        return {}, None

    def handle_response(self, ref: Any, response: Any, state: Any) -> Any:
        return NoReply(state)


class Future:
    """A state that could be awaited."""

    def __await__(self) -> Iterator[None]:
        yield


def test_a_default_is_nobodys_code() -> None:
    """C026, C042: what a class does not have is neither surrounded nor judged: any state of it stays."""
    entered: list[str] = []

    def around(hook: str) -> contextlib.AbstractContextManager[None]:
        entered.append(hook)
        return contextlib.nullcontext()

    state, bare = Future(), Hooks(Bare(), around)
    assert bare.call("post_turn", "outcome", "ref", state) is state
    assert bare.call("pre_turn", "hi", state) == Proceed("hi", state)
    assert bare.call("handle_response", "ref", "response", state) == NoReply(state)
    assert entered == ["handle_response"]


def test_which_classes_look_at_streams_and_messages() -> None:
    """C022, C096: only a class with its own callback ships its state, or takes ordinary messages."""
    assert (streams(StreamAgent), streams(RigAgent)) == (True, False)
    assert (Hooks(InfoAgent(None)).has_info, Hooks(RigAgent(None)).has_info) == (True, False)


def test_places_are_few() -> None:
    """C218: a deep recursion leaves a short log line."""

    def deep(level: int) -> None:
        if level == 0:
            raise ValueError("secret")
        deep(level - 1)

    with pytest.raises(ValueError, match="secret") as caught:
        deep(50)
    assert len(failure("pre_run", caught.value).places) == 8
