"""The `gen-agent` command.

This file must load nothing beyond the standard library, so that a missing extra can be told in one line.
"""

from __future__ import annotations

import sys
from importlib import import_module

__all__ = ["main"]

NEEDED = ("click", "rich")
"""What the extra `cli` installs."""


def main() -> None:
    """Run the command with the arguments of the process; ends it with the command's exit status.

    Without the extra `cli` it says in one line how to install it, with status 1.
    """
    try:
        command = import_module("gen_agent.cli.command")
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in NEEDED:
            raise
        sys.exit(f"gen-agent: {missing} is not installed; run: pip install 'gen_agent[cli]'")
    command.gen_agent()
