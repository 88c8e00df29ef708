"""How a command ends: what goes wrong is one line on standard error, and a status that is not 0.

This module must not know what commands there are.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator

import click

from gen_agent.cli.failure import failure_line
from gen_agent.cli.values import printable
from gen_agent.errors import GenAgentError

FAILED = 1
INTERRUPTED = 130
"""Exit statuses, beside 0 and the 2 of wrong usage."""

_FAILURES = (GenAgentError, ValueError, TypeError, OSError, RuntimeError)


@contextlib.contextmanager
def told() -> Iterator[None]:
    """Within this block what goes wrong ends the process with one line; Ctrl-C ends it without a word."""
    try:
        yield
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except _FAILURES as error:
        say(failure_line(error))
        _drop_unwritten()
        sys.exit(FAILED)


def _drop_unwritten() -> None:
    # What can't be written now can't be at the interpreter's end either, which would end with its own status.
    try:
        sys.stdout.flush()
    except OSError:
        with open(os.devnull, "wb") as nothing:
            os.dup2(nothing.fileno(), sys.stdout.fileno())


def say(text: str) -> None:
    """One line on standard error."""
    click.echo(f"gen-agent: {printable(text)}", err=True)
