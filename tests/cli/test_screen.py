"""What a chat looks like, in a pipe, on a terminal, and as JSON."""

from __future__ import annotations

import io
import json

import pytest

from gen_agent.cli.screen import JsonScreen, TextScreen, status_line
from gen_agent.errors import BackendError
from gen_agent.events import Event, Response

USAGE = {"input_tokens": 4, "output_tokens": 2}
ANSWER = Response(text="hello", usage=USAGE, duration_s=1.25, session_id="s")
HIDE_CURSOR, SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"


class Terminal(io.StringIO):
    """A file that says it is a terminal."""

    def isatty(self) -> bool:
        """Yes."""
        return True


@pytest.fixture(autouse=True)
def _plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")


def test_a_pipe_gets_the_answer_and_nothing_else() -> None:
    """In a pipe standard output is the text with one line end; the status is plain, on standard error."""
    out, err = io.StringIO(), io.StringIO()
    screen = TextScreen(out, err)
    screen.begin()
    screen.event(Event.session())
    for event in (Event.text("hel"), Event.text("lo"), Event.usage(4, 2), Event.result("hello")):
        screen.event(event)
    screen.end(ANSWER)
    assert out.getvalue() == "hello\n"
    assert err.getvalue() == "2 tokens (4 in the prompt), 1.2 s\n"


def test_text_is_written_before_the_turn_ends() -> None:
    """Each piece is written at once."""
    out = io.StringIO()
    screen = TextScreen(out, io.StringIO())
    screen.begin()
    screen.event(Event.text("hel"))
    assert out.getvalue() == "hel"


def test_an_answer_that_was_not_streamed_is_shown_whole() -> None:
    """Where no text event came the response's text is the answer."""
    out = io.StringIO()
    screen = TextScreen(out, io.StringIO())
    screen.begin()
    screen.end(ANSWER)
    assert out.getvalue() == "hello\n"


def test_messages_are_paragraphs() -> None:
    """C171: a new message begins after a blank line, but not at the beginning of the answer."""
    out = io.StringIO()
    screen = TextScreen(out, io.StringIO())
    screen.begin()
    screen.event(Event.text("one", message_boundary=True))
    screen.event(Event.text("two", message_boundary=True))
    screen.end(Response(text="one\n\ntwo"))
    assert out.getvalue() == "one\n\ntwo\n"


def test_a_terminal_spins_until_the_first_text() -> None:
    """On a terminal there is a spinner, gone with the first text; an answer can't command the terminal."""
    out, err = Terminal(), Terminal()
    screen = TextScreen(out, err)
    screen.begin()
    assert err.getvalue().count(HIDE_CURSOR) == 1
    assert SHOW_CURSOR not in err.getvalue()
    screen.event(Event.text("\x1b]0;evil\x07hi"))
    assert err.getvalue().count(SHOW_CURSOR) == 1
    screen.end(ANSWER)
    assert out.getvalue() == "]0;evilhi\n"
    assert "2 tokens" in err.getvalue()


def test_an_error_begins_a_line_of_its_own() -> None:
    """An error in the middle of an answer ends the answer's line and is one line on standard error."""
    out, err = io.StringIO(), io.StringIO()
    screen = TextScreen(out, err)
    screen.begin()
    screen.event(Event.text("half"))
    screen.fail(BackendError("local", kind="truncated", message="[bold]the stream ended[/bold] " + "x" * 200))
    assert out.getvalue() == "half\n"
    assert err.getvalue() == "gen-agent: local: truncated: [bold]the stream ended[/bold] " + "x" * 200 + "\n"


def test_json_lines() -> None:
    """Every line is one JSON object: events, then the response."""
    out, err = io.StringIO(), io.StringIO()
    screen = JsonScreen(out, err)
    screen.begin()
    screen.event(Event.text("hëllo\n"))
    screen.event(Event.tool_use(thing=object()))
    screen.end(ANSWER)
    assert [json.loads(line) for line in out.getvalue().splitlines()] == [
        {"type": "event", "kind": "text", "data": {"text": "hëllo\n"}},
        {"type": "event", "kind": "tool_use", "data": {"thing": "<object>"}},
        {"type": "response", "text": "hello", "usage": USAGE,
         "duration_s": 1.25, "session_id": "s"},
    ]  # fmt: skip
    assert err.getvalue() == ""


def test_json_errors() -> None:
    """An error is an object with its code, and one line on standard error."""
    out, err = io.StringIO(), io.StringIO()
    JsonScreen(out, err).fail(BackendError("openai", kind="timeout"))
    said = json.loads(out.getvalue())
    assert said == {"type": "error", "code": "backend_error", "message": "openai: timeout"}
    assert err.getvalue() == "gen-agent: openai: timeout\n"


def test_status_without_usage() -> None:
    """A backend that tells no usage has seconds only."""
    assert status_line(None, 0.04) == "0.0 s"
