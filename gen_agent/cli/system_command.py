"""`gen-agent system`: start a system that outlives the command, see which ones run, stop one.

Law: whatever way a start fails, nothing of it is left running; of a started one nothing of the caller's stays
open. The status is 3 where no such system runs.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from gen_agent.actors.guardian_census import RunningSystem, take_census
from gen_agent.actors.guardian_cleanup import stop_system
from gen_agent.actors.guardian_inquiry import inquire
from gen_agent.cli import systems
from gen_agent.cli.endings import say, told
from gen_agent.cli.systems import Shown
from gen_agent.cli.values import parse_capability, printable

NONE_RUNS = 3
"""The exit status where no such system runs."""

_PORTS = click.IntRange(1, 65_535)


def _capabilities(
    context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]
) -> dict[str, Any]:
    try:
        return dict(parse_capability(text) for text in texts)
    except ValueError as error:
        raise click.BadParameter(str(error), context, parameter) from None


@click.group()
def system() -> None:
    """Actor systems that outlive the script that uses them."""


@system.command()
@click.option("--port", type=_PORTS, help="Admin port.  [default: a free one]")
@click.option("--bind", metavar="ADDRESS", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option("--key-file", type=click.Path(), help="Holds the key to use.  [default: a fresh key]")
@click.option(
    "-o", "--capability", "capabilities", metavar="KEY=VALUE", multiple=True, callback=_capabilities,
    help="What agents can require of it.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def start(
    port: int | None, bind: str, key_file: str | None, capabilities: dict[str, Any], as_json: bool
) -> None:
    """Start a system that runs until it is stopped.

    Scripts join it by AgentSystem.attach(port).
    """
    with told():
        handle = systems.start(port, bind, key_file, capabilities)
        try:
            value = systems.started_value(handle)
            click.echo(json.dumps(value) if as_json else systems.started_text(value))
        except BaseException:
            # A system nobody was told of would run for ever.
            handle.close()
            raise
        handle.detach()


@system.command()
@click.option("--port", type=_PORTS, help="Only the system on this port.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per system and line.")
def status(port: int | None, as_json: bool) -> None:
    """Say which systems of yours run on this machine, and their agents.

    The exit status is 3 if there is none, or not the one asked for.
    """
    with told():
        running = take_census(port).systems
        for one in running:
            shown = Shown(one, inquire(one.place))
            click.echo(json.dumps(shown.value()) if as_json else printable(shown.line()))
        if not running:
            say(_none(port))
            sys.exit(NONE_RUNS)


@system.command()
@click.option("--port", type=_PORTS, help="Its admin port; not needed if only one runs that has no owner.")
@click.option(
    "--timeout", type=click.FloatRange(min=0), default=30.0, show_default=True, metavar="SECONDS",
    help="How long its agents may take to end.",
)  # fmt: skip
def stop(port: int | None, timeout: float) -> None:
    """End a system, its agents first, and wait until all of it is gone.

    Agents run their last callbacks, each within its own shutdown_s; what still runs after the timeout is
    killed. The exit status is 3 if no such system runs.
    """
    with told():
        for one in _chosen(port, take_census(port).systems):
            if not stop_system(one, timeout):
                say(f"the system on port {one.place.port} was killed: not all of it had ended in time")


def _chosen(port: int | None, running: tuple[RunningSystem, ...]) -> tuple[RunningSystem, ...]:
    # A script's own system ends with its script, unless one insists.
    found = running if port is not None else tuple(one for one in running if one.owner is None)
    if not found:
        owned = f"only systems of running scripts; to end one name it by --port: {_ports(running)}"
        say(owned if running else _none(port))
        sys.exit(NONE_RUNS)
    if port is None and len(found) > 1:
        raise click.UsageError(f"several systems run, name one by --port: {_ports(found)}")
    return found


def _ports(running: tuple[RunningSystem, ...]) -> str:
    return ", ".join(str(one.place.port) for one in running)


def _none(port: int | None) -> str:
    return "no system of yours runs here" if port is None else f"no system of yours runs on port {port}"
