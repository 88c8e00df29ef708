"""The real command in processes of its own: what it prints, what it returns, and that nothing stays."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cli.running import COMMAND, environment, run

BLOCKING = "tests.cli.blocking:Blocking"

pytestmark = pytest.mark.skipif(not os.path.exists(COMMAND), reason="the package is not installed here")


def test_one_prompt() -> None:
    """A prompt is answered on standard output, status 0; tokens and seconds go to standard error."""
    done = run("chat", "--backend", "echo", "hello there")
    assert (done.returncode, done.stdout) == (0, "echo: hello there\n")
    assert done.stderr.startswith("3 tokens (2 in the prompt), ")
    assert done.stderr.endswith(" s\n")
    assert "\x1b" not in done.stdout + done.stderr


def test_a_prompt_from_a_pipe() -> None:
    """Without a prompt the whole of standard input is the prompt."""
    done = run("chat", "-b", "echo", "-o", "prefix=", given="two\nlines\n")
    assert (done.returncode, done.stdout) == (0, "two\nlines\n")


def test_json() -> None:
    """With --json every line of the output is an object, and the last one is the response."""
    done = run("chat", "-b", "echo", "--json", "hi")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.get("kind", line["type"]) for line in lines] == ["text", "usage", "result", "response"]
    assert lines[-1]["text"] == "echo: hi"
    assert lines[-1]["usage"] == {"input_tokens": 1, "output_tokens": 2}


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["-b", "ehco", "hi"], 1, "'ehco' is unknown; known are echo, "),
        (["-b", "echo", "-o", "prefx=1", "hi"], 1, "unknown option 'prefx'; known options: delay_s, prefix"),
        (["-b", "echo", "-o", "delay_s=-1", "hi"], 1, "option delay_s is a number of at least 0"),
        (["-b", "local", "-o", "model=/no/such.gguf", "hi"], 1, "there is no file '/no/such.gguf'"),
        (["-b", "scripted", "hi"], 1, "scripted: no script"),
    ],
)
def test_errors_are_one_line(arguments: list[str], status: int, said: str) -> None:
    """What goes wrong is one clear line on standard error, without a traceback, and the status is not 0."""
    done = run("chat", *arguments)
    assert (done.returncode, done.stdout) == (status, "")
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "arguments", [["-o", "novalue", "hi"], ["--no-such-option"], ["", "-b", "echo"], ["a", "b"]]
)
def test_wrong_usage(arguments: list[str]) -> None:
    """Wrong usage is status 2, before anything is started."""
    done = run("chat", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr


def test_version_and_help() -> None:
    """The command says what it is."""
    assert run("--version").stdout == "gen-agent, version 0.1.0\n"
    assert "chat" in run("--help").stdout


def test_ctrl_c_in_a_single_turn() -> None:
    """Ctrl-C ends the turn and with it the command, status 130, and nothing is left running."""
    with subprocess.Popen(
        [COMMAND, "chat", "-b", BLOCKING, "hi"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=environment(),
    ) as command:  # fmt: skip
        assert command.stdout is not None
        assert command.stdout.read(8) == b"started "
        command.send_signal(signal.SIGINT)
        rest, errors = command.communicate(timeout=30)
    assert (command.returncode, rest) == (130, b"\n")
    assert errors == b"gen-agent: interrupted\n"


def test_a_reader_that_leaves() -> None:
    """Where nobody reads the answer any more the command ends without a traceback and leaves nothing."""
    with subprocess.Popen(
        [COMMAND, "chat", "-b", "echo", "x " * 500, "-o", "delay_s=0.001"], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, env=environment(),
    ) as command:  # fmt: skip
        assert command.stdout is not None
        assert command.stdout.read(4) == b"echo"
        command.stdout.close()
        assert command.stderr is not None
        errors = command.stderr.read()
    assert command.returncode != 0
    assert b"Traceback" not in errors


class Terminal:
    """The command on a terminal of its own."""

    def __init__(self, *arguments: str) -> None:
        self._end, inside = pty.openpty()
        self.command = subprocess.Popen(
            [COMMAND, *arguments], stdin=inside, stdout=inside, stderr=inside, env=environment(),
            start_new_session=True, preexec_fn=_take_terminal,
        )  # fmt: skip
        os.close(inside)
        self._seen = b""

    def until(self, text: str) -> str:
        """Read until `text` comes; returns everything up to it. `EOFError` if the command ends before."""
        while text.encode() not in self._seen:
            try:
                more = os.read(self._end, 4096)
            except OSError:
                more = b""
            if not more:
                raise EOFError(self._seen)
            self._seen += more
        found, _, self._seen = self._seen.partition(text.encode())
        return (found + text.encode()).decode()

    def type(self, text: str) -> None:
        """Type `text`; "\\x03" is Ctrl-C, "\\x04" Ctrl-D."""
        os.write(self._end, text.encode())

    def close(self) -> None:
        """Hang up."""
        os.close(self._end)
        self.command.wait(30)


def _take_terminal() -> None:
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@pytest.fixture
def terminal(request: Any) -> Iterator[Terminal]:
    """The blocking backend on a terminal."""
    opened = Terminal("chat", "-b", BLOCKING)
    yield opened
    opened.close()


def test_a_conversation_on_a_terminal(terminal: Terminal) -> None:
    """Ctrl-C interrupts the turn and not the program; the next prompt is answered; Ctrl-D leaves."""
    terminal.until("> ")
    terminal.type("block\r")
    terminal.until("started ")
    terminal.type("\x03")
    terminal.until("interrupted")
    terminal.until("> ")
    terminal.type("quick\r")
    terminal.until("started ")
    terminal.until(" s")
    terminal.until("> ")
    terminal.type("\x04")
    assert terminal.command.wait(30) == 0


def test_leaving_with_ctrl_c(terminal: Terminal) -> None:
    """In a turn and again at the prompt: the second Ctrl-C in a row leaves, and nothing is left running."""
    terminal.until("> ")
    terminal.type("block\r")
    terminal.until("started ")
    terminal.type("\x03")
    terminal.until("interrupted")
    terminal.until("> ")
    # What is echoed has been read: from here on the line editor waits, and Ctrl-C reaches it.
    terminal.type("x")
    terminal.until("x")
    terminal.type("\x03")
    assert terminal.command.wait(30) == 0


def test_missing_extra() -> None:
    """Without the extra the command says in one line how to install it."""
    program = "import sys; sys.modules['rich'] = None; from gen_agent.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr == "gen-agent: rich is not installed; run: pip install 'gen_agent[cli]'\n"
