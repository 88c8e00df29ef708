"""The echo backend."""

from __future__ import annotations

from typing import Any

import pytest

from gen_agent.backends.echo import EchoBackend
from tests.backends.turns import play


def test_echo() -> None:
    """An echo is one text event, the usage in words, and the result with the session's id."""
    backend = EchoBackend()
    session = backend.start_session()
    events = play(backend, session, "hello there").events
    assert [event.kind for event in events] == ["text", "usage", "result"]
    assert events[0].data["text"] == events[2].data["text"] == "echo: hello there"
    assert dict(events[1].data) == {"input_tokens": 2, "output_tokens": 3}
    assert events[2].data["session_id"] == session.session_id


def test_prefix_and_transform() -> None:
    """A prefix is said before the prompt; a transform makes the whole answer."""
    plain, loud = EchoBackend(prefix=""), EchoBackend(transform=str.upper)
    assert play(plain, plain.start_session(), "hi").text == "hi"
    assert play(loud, loud.start_session(), "hi").text == "HI"


def test_delay_streams_words() -> None:
    """With a delay every word is a text event, and together they are the answer, spaces and all."""
    backend = EchoBackend(delay_s=0.001)
    played = play(backend, backend.start_session(), " two  words\n")
    assert [event.data["text"] for event in played.events[:-2]] == ["echo:  ", "two  ", "words\n"]
    assert played.text == "echo:  two  words\n"


def test_an_empty_prompt_is_answered() -> None:
    """An empty prompt with a delay still ends in a result."""
    backend = EchoBackend(prefix="", delay_s=0.001)
    assert [event.kind for event in play(backend, backend.start_session(), "").events] == ["usage", "result"]


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"delay": 1}, TypeError, "unknown option 'delay'"),
        ({"delay_s": float("inf")}, ValueError, "option delay_s"),
        ({"delay_s": -0.1}, ValueError, "option delay_s"),
        ({"prefix": 3}, TypeError, "option prefix"),
        ({"transform": "upper"}, TypeError, "option transform"),
    ],
)
def test_wrong_options(options: dict[str, Any], error: type[Exception], match: str) -> None:
    """A wrong option is refused by name when the backend is made."""
    with pytest.raises(error, match=match):
        EchoBackend(**options)
