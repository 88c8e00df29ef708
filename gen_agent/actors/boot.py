"""From a `StartAgent` to what an agent is made of: classes loaded, options checked, `init_agent` run.

Runs users' code, in the agent's process. Whatever is wrong comes out as a `StartError` for the starter.
Nothing is started here but what users' modules start.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from gen_agent import telemetry
from gen_agent.actors import scripts
from gen_agent.actors.validity import checked_agent, checked_backend
from gen_agent.agent import Agent
from gen_agent.backend import Backend
from gen_agent.backends import resolve
from gen_agent.errors import BackendStartFailed, InitAgentFailed, InitFailed, StartError, Undecodable
from gen_agent.messages import StartAgent
from gen_agent.options import AgentOptions
from gen_agent.sealed import Sealed


@attrs.frozen(slots=True)
class Parts:
    """What a start is made of: the instance, its backend's class, and the options for each."""

    agent: Agent
    backend: type[Backend]
    options: AgentOptions
    forwarded: Mapping[str, Any] = attrs.field(repr=False)

    @property
    def module(self) -> str:
        """Where the agent's class comes from, for the log."""
        return type(self.agent).__module__


def load_parts(start: StartAgent) -> Parts:
    """Load the script and the classes, check them, build the instance; raises `StartError`."""
    try:
        with _running_the_script():
            scripts.load(start.script)
        cls = checked_agent(start.agent)
        options, forwarded = _options(start)
        backend = _backend(options)
        _attach(options.telemetry)
        return Parts(cls(), backend, options, forwarded)
    except StartError:
        raise
    except BaseException as error:
        # Users' modules run here, and sys.exit at the top of one must be told to the starter as well.
        raise InitFailed("error" if isinstance(error, Exception) else "exit", type(error).__name__) from error


@contextlib.contextmanager
def _running_the_script() -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        # The starter wrote the script, and may have forgotten its guard: tell it all.
        text = f"the script can't be loaded in the agent's process: {type(error).__name__}: {error}"
        raise InitAgentFailed(text) from error


def _attach(paths: tuple[str, ...]) -> None:
    for path in paths:
        try:
            telemetry.attach_path(path)
        except (ImportError, AttributeError, TypeError) as error:
            raise InitAgentFailed(f"telemetry {path!r}: {type(error).__name__}: {error}") from error


def _options(start: StartAgent) -> tuple[AgentOptions, Mapping[str, Any]]:
    for sealed in (start._options, start._backend):
        with _running_the_script():
            value = scripts.opened(sealed) if isinstance(sealed, Sealed) else sealed
        if isinstance(value, Undecodable):
            raise InitAgentFailed(f"an option can't be opened in the agent's process: {value.fields['type']}")
    return start.split()


def _backend(options: AgentOptions) -> type[Backend]:
    try:
        return checked_backend(resolve(options.backend))
    except (ValueError, TypeError, ImportError) as error:
        # Written for people: which names there are, or which command installs what is missing.
        raise BackendStartFailed(str(error)) from error
