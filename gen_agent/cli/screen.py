"""What a chat looks like: a terminal, a pipe, or JSON lines.

Law: answers and nothing else go to standard output; spinner, status and errors to standard error. Nothing is
coloured or moves unless it is a terminal. This module must not know agents.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import IO, Any, Protocol

from rich.console import Console
from rich.status import Status

from gen_agent.cli.failure import failure_code, failure_line
from gen_agent.cli.values import printable
from gen_agent.events import Event, Response


class Screen(Protocol):
    """Where one turn after another is shown."""

    def begin(self) -> None:
        """A turn begins."""

    def event(self, event: Event) -> None:
        """The turn goes on."""

    def end(self, response: Response) -> None:
        """The turn has an answer."""

    def fail(self, error: BaseException) -> None:
        """The turn, or the chat, has failed."""

    def note(self, text: str) -> None:
        """Something for the person to know."""


def status_line(usage: Mapping[str, Any] | None, duration_s: float) -> str:
    """Tokens and seconds of one turn."""
    seconds = f"{duration_s:.1f} s"
    if not usage:
        return seconds
    tokens = usage.get("output_tokens", 0)
    asked = usage.get("input_tokens", 0)
    return f"{tokens} tokens ({asked} in the prompt), {seconds}"


class TextScreen:
    """Text as it comes; on a terminal with a spinner until the first of it."""

    def __init__(self, out: IO[str], err: IO[str]) -> None:
        self._out = out
        self._console = Console(file=err, highlight=False, soft_wrap=True)
        self._safe = out.isatty()
        self._spinner: Status | None = None
        self._last = ""

    def begin(self) -> None:
        """Spin until the first text, where somebody can see it."""
        self._last = ""
        if self._console.is_terminal:
            self._spinner = self._console.status("thinking", spinner="dots")
            self._spinner.start()

    def event(self, event: Event) -> None:
        """Write text at once; a new paragraph where the answer begins a new message."""
        if event.kind != "text" or not (text := str(event.data.get("text", ""))):
            return
        self._stop_spinning()
        if event.data.get("message_boundary") and self._last:
            self._write("\n\n")
        self._write(text)

    def end(self, response: Response) -> None:
        """End the line and say what the turn took; the whole answer where none of it was streamed."""
        self._stop_spinning()
        if not self._last:
            self._write(response.text)
        self._end_line()
        self._console.print(status_line(response.usage, response.duration_s), style="dim", markup=False)

    def fail(self, error: BaseException) -> None:
        """One line."""
        self.note(failure_line(error))

    def note(self, text: str) -> None:
        """One line on standard error, after the line of an answer that was begun."""
        self._stop_spinning()
        self._end_line()
        self._console.print(f"gen-agent: {printable(text)}", style="red", markup=False)

    def _end_line(self) -> None:
        if self._last and not self._last.endswith("\n"):
            self._write("\n")
        self._last = ""

    def _write(self, text: str) -> None:
        self._last = text or self._last
        self._out.write(printable(text) if self._safe else text)
        self._out.flush()

    def _stop_spinning(self) -> None:
        if self._spinner is not None:
            self._spinner.stop()
        self._spinner = None


class JsonScreen:
    """One JSON object per line: every event, then the response or the error."""

    def __init__(self, out: IO[str], err: IO[str]) -> None:
        self._out = out
        self._err = err

    def begin(self) -> None:
        """Nothing to say yet."""

    def event(self, event: Event) -> None:
        """`{"type": "event", "kind", "data"}`."""
        self._line({"type": "event", "kind": event.kind, "data": dict(event.data)})

    def end(self, response: Response) -> None:
        """`{"type": "response", "text", "usage", "duration_s", "session_id"}`."""
        self._line({
            "type": "response",
            "text": response.text,
            "usage": dict(response.usage) if response.usage else None,
            "duration_s": round(response.duration_s, 6),
            "session_id": response.session_id,
        })  # fmt: skip

    def fail(self, error: BaseException) -> None:
        """`{"type": "error", "code", "message"}`, and the message on standard error too."""
        line = failure_line(error)
        self._line({"type": "error", "code": failure_code(error), "message": line})
        self.note(line)

    def note(self, text: str) -> None:
        """One line on standard error."""
        self._err.write(f"gen-agent: {text}\n")
        self._err.flush()

    def _line(self, value: dict[str, Any]) -> None:
        # What JSON has no form for is named by its class: an event may carry any value.
        self._out.write(json.dumps(value, ensure_ascii=False, default=lambda one: f"<{type(one).__name__}>"))
        self._out.write("\n")
        self._out.flush()
