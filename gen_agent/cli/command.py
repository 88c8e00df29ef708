"""What `gen-agent` takes from the command line, and the exit status it gives back.

Law: whatever goes wrong is one line on standard error and a status that is not 0 (1: failed, 2: wrong usage,
130: interrupted), and whatever way it ends, nothing it started is left running.
"""

from __future__ import annotations

import contextlib
import readline  # noqa: F401  # gives input() a line that can be edited
import signal
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import click

from gen_agent.actors.system import AgentSystem
from gen_agent.cli.chat import NAME, Chat, Outcome
from gen_agent.cli.chat_agent import ChatAgent
from gen_agent.cli.doctor_command import doctor
from gen_agent.cli.screen import JsonScreen, Screen, TextScreen
from gen_agent.cli.system_command import system
from gen_agent.cli.values import parse_option
from gen_agent.errors import GenAgentError

_STARTING = (GenAgentError, ValueError, TypeError, ImportError, OSError, RuntimeError)


def _parsed(
    context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]
) -> tuple[tuple[str, Any], ...]:
    try:
        return tuple(parse_option(text) for text in texts)
    except ValueError as error:
        raise click.BadParameter(str(error), context, parameter) from None


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="gen_agent", prog_name="gen-agent")
def gen_agent() -> None:
    """LLM agents as actors."""


gen_agent.add_command(system)
gen_agent.add_command(doctor)


@gen_agent.command()
@click.argument("prompt", required=False)
@click.option("-b", "--backend", default="local", show_default=True, help="Name, or package.module:Class.")
@click.option(
    "-o", "--option", "options", metavar="KEY=VALUE", multiple=True, callback=_parsed, help="Backend option."
)
@click.option("-s", "--system", metavar="TEXT", help="System prompt.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
def chat(
    prompt: str | None, backend: str, options: tuple[tuple[str, Any], ...], system: str | None, as_json: bool
) -> None:
    """Talk to an agent, or ask it one PROMPT.

    Without PROMPT the prompt is read from standard input, or asked for again and again on a terminal. Ctrl-C
    interrupts the answer; a second Ctrl-C leaves.
    """
    screen = (JsonScreen if as_json else TextScreen)(sys.stdout, sys.stderr)
    given = dict(options) if system is None else {**dict(options), "system": system}
    if prompt is None and not sys.stdin.isatty():
        prompt = sys.stdin.read().rstrip("\n")
    if prompt is not None and not prompt.strip():
        raise click.UsageError("there is no prompt")
    try:
        status = _run(screen, prompt, backend, given)
    except KeyboardInterrupt:
        status = Outcome.INTERRUPTED.value
    sys.exit(status)


def _run(screen: Screen, prompt: str | None, backend: str, options: Mapping[str, Any]) -> int:
    with contextlib.ExitStack() as stack:
        try:
            agents = stack.enter_context(AgentSystem())
            stack.enter_context(_undisturbed_end())
            agents.start_agent(
                ChatAgent, name=NAME, backend=backend, options={"backend_options": dict(options)}
            )
        except _STARTING as error:
            screen.fail(error)
            return Outcome.FAILED.value
        talk = Chat(agents, screen)
        if prompt is not None:
            return talk.turn(prompt).value
        talk.talk(_ask)
        return Outcome.ANSWERED.value


_LOOK_AGAIN_S = 0.2


def _ask() -> str:
    """One line from the terminal. A Ctrl-C that comes just before the line editor begins to wait would be
    noticed at the next key only: a timer makes the editor look again.
    """
    signal.signal(signal.SIGALRM, lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, _LOOK_AGAIN_S, _LOOK_AGAIN_S)
    try:
        return input("> ")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)


@contextlib.contextmanager
def _undisturbed_end() -> Iterator[None]:
    """From the end of this block on Ctrl-C is ignored: what is being closed then must be closed whole."""
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
