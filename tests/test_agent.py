"""The agent's contract: defaults, decisions, and whose callback is running."""

from __future__ import annotations

import os
import threading
from typing import Any

import pytest

from gen_agent.agent import Agent, Halt, NoReply, Proceed, Prompt, Skip, current_name, scoped_name
from gen_agent.errors import Interrupted
from gen_agent.events import Event
from gen_agent.values import RequestRef
from tests.strategies import Quiet

REF = RequestRef("a", 1)


def test_two_callbacks_are_required() -> None:
    """C021: a class without `init_agent` or `handle_response` can't be built, one with both can."""

    class Half(Agent):
        def init_agent(self, options: Any) -> Any:
            return {}, None

    with pytest.raises(TypeError, match="handle_response"):
        Half()  # type: ignore[abstract]
    assert isinstance(Quiet(), Agent)


def test_every_other_callback_does_nothing_by_default() -> None:
    """C021: absent callbacks keep the state, let prompts pass and return what they must."""
    agent, state = Quiet(), object()
    assert agent.handle_error(REF, Interrupted(), state) == NoReply(state)
    assert agent.handle_event("event", state) == NoReply(state)
    assert agent.handle_stream_event(Event("text"), state) is state
    assert agent.pre_run(state) is state
    assert agent.pre_turn("p", state) == Proceed("p", state)
    assert agent.post_turn(Interrupted(), REF, state) is state
    agent.post_run(state)
    agent.terminate_agent("shutdown", state)


def test_there_is_no_default_handle_info() -> None:
    """C022: ordinary messages have no default, so that stray ones are noticed."""
    assert not hasattr(Agent, "handle_info")
    assert hasattr(Agent, "handle_event")
    assert hasattr(Agent, "handle_error")


@pytest.mark.parametrize(
    "decision",
    [
        NoReply("secret"),
        Prompt("secret", "secret"),
        Halt("secret"),
        Proceed("secret", "secret"),
        Skip("secret"),
    ],
)
def test_decisions_hide_state_and_prompts(decision: object) -> None:
    """C218: a decision's `repr` shows neither prompt nor state."""
    assert "secret" not in repr(decision)


def test_a_prompt_of_a_callback_is_plain_text() -> None:
    """C026: of an instance of a subclass of `str` the plain text goes on, for who may not have the class."""
    for decision in (Prompt(_Text("p"), None).text, Proceed(_Text("p"), None).prompt):
        assert (type(decision), decision) == (str, "p")


class _Text(str):
    """What nobody else has."""


def test_the_current_name_is_that_of_the_innermost_scope() -> None:
    """C020: the name is there in a callback and gone after it, also after one that raised."""
    assert current_name() is None
    seen: list[Any] = []

    def failing() -> None:
        with scoped_name(("inner", 1)):
            seen.append(current_name())
            raise KeyError

    with scoped_name("outer"):
        with pytest.raises(KeyError):
            failing()
        seen.append(current_name())
    assert seen == [("inner", 1), "outer"]
    assert current_name() is None


def test_threads_of_a_callback_have_no_name() -> None:
    """C020: a thread started by a callback is not that callback."""
    seen: list[Any] = []
    with scoped_name("coder"):
        thread = threading.Thread(target=lambda: seen.append(current_name()))
        thread.start()
        thread.join()
    assert seen == [None]


def test_processes_of_a_callback_have_no_name() -> None:
    """C020: a process forked by a callback is not that callback."""
    with scoped_name("coder"):
        child = os.fork()
        if child == 0:
            os._exit(0 if current_name() is None else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert current_name() == "coder"
