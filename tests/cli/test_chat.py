"""A conversation and its Ctrl-C, without processes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gen_agent.cli.chat import Chat, Outcome
from gen_agent.cli.chat_agent import ChatAgent
from gen_agent.errors import BackendError, Interrupted
from gen_agent.events import Event, Response
from tests.cli.fakes import FakeAgents, turn


class Recorder:
    """A screen that remembers."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def begin(self) -> None:
        """Remember."""
        self.seen.append("begin")

    def event(self, event: Event) -> None:
        """Remember the text."""
        self.seen.append(event.data["text"])

    def end(self, response: Response) -> None:
        """Remember."""
        self.seen.append(response)

    def fail(self, error: BaseException) -> None:
        """Remember."""
        self.seen.append(error)

    def note(self, text: str) -> None:
        """Remember."""
        self.seen.append(f"note: {text}")


def asking(*answers: Any) -> Callable[[], str]:
    """What a person types: prompts, and Ctrl-C or Ctrl-D as exceptions."""
    left = list(answers)

    def ask() -> str:
        answer = left.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return str(answer)

    return ask


def test_a_turn_is_shown_as_it_comes() -> None:
    """Events are shown one by one, then the response."""
    screen = Recorder()
    agents = FakeAgents(turn(Event.text("a"), Event.text("b"), text="ab"))
    assert Chat(agents, screen).turn("hi") is Outcome.ANSWERED
    assert screen.seen == ["begin", "a", "b", Response(text="ab")]
    assert agents.prompts == ["hi"]


@pytest.mark.parametrize("error", [BackendError("p", kind="k"), Interrupted()])
def test_a_failed_turn_is_shown_and_is_not_the_end(error: Any) -> None:
    """An error while streaming or at once is shown, and the next prompt is taken."""
    screen = Recorder()
    agents = FakeAgents(turn(error), error, turn(text="fine"))
    Chat(agents, screen).talk(asking("1", "2", "3", EOFError()))
    assert screen.seen == ["begin", error, "begin", error, "begin", Response(text="fine")]


def test_ctrl_c_interrupts_the_turn_and_not_the_chat() -> None:
    """C119: Ctrl-C in a turn takes back exactly that request, says so, and the next prompt is answered."""
    screen = Recorder()
    stopped = turn(Event.text("a"), KeyboardInterrupt())
    agents = FakeAgents(stopped, turn(text="next"))
    Chat(agents, screen).talk(asking("1", "2", EOFError()))
    assert screen.seen == ["begin", "a", "note: interrupted", "begin", Response(text="next")]
    assert stopped.closed >= 1
    assert not stopped.ended


def test_a_second_ctrl_c_while_the_turn_is_ended_leaves() -> None:
    """Ctrl-C again before the interrupted turn is over goes through to whoever closes the system."""
    agents = FakeAgents(turn(KeyboardInterrupt(), on_close=KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        Chat(agents, Recorder()).talk(asking("1", "2"))
    assert agents.prompts == ["1"]


def test_ctrl_c_twice_at_the_prompt_leaves() -> None:
    """At the prompt the first Ctrl-C is answered with a word and the second one leaves."""
    screen = Recorder()
    Chat(FakeAgents(), screen).talk(asking(KeyboardInterrupt(), KeyboardInterrupt(), "never read"))
    assert screen.seen == ["note: Ctrl-C again, or Ctrl-D, to leave"]


def test_ctrl_c_after_an_interrupted_turn_leaves() -> None:
    """Ctrl-C in the turn and again at the prompt are two in a row."""
    agents = FakeAgents(turn(KeyboardInterrupt()))
    Chat(agents, Recorder()).talk(asking("1", KeyboardInterrupt(), "never read"))
    assert agents.prompts == ["1"]


def test_a_prompt_in_between_starts_the_count_anew() -> None:
    """Two Ctrl-C with an answered prompt between them are not two in a row."""
    agents = FakeAgents(turn(text="a"))
    screen = Recorder()
    Chat(agents, screen).talk(asking(KeyboardInterrupt(), "1", KeyboardInterrupt(), EOFError()))
    assert len([one for one in screen.seen if "Ctrl-C again" in str(one)]) == 2


def test_empty_prompts_are_passed_over() -> None:
    """Nothing but spaces is no prompt."""
    agents = FakeAgents(turn(text="a"))
    Chat(agents, Recorder()).talk(asking("", "  ", "real", EOFError()))
    assert agents.prompts == ["real"]


def test_the_agent_hands_its_options_on() -> None:
    """The chat's agent gives the backend its options and keeps no state."""
    assert ChatAgent().init_agent({"backend_options": {"a": 1}}) == ({"a": 1}, None)
