"""The real command in processes of its own, and systems that it started."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gen_agent.actors.guardian_census import take_census
from gen_agent.actors.guardian_cleanup import stop_system

ROOT = Path(__file__).resolve().parents[2]
COMMAND = str(Path(sys.executable).parent / "gen-agent")


def environment(**more: str) -> dict[str, str]:
    """The test's own, with this repository's modules, and buffers as a user has them."""
    own = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return {**own, "PYTHONPATH": str(ROOT), "TERM": "xterm", **more}


def run(*arguments: str, given: str = "", **more: str) -> subprocess.CompletedProcess[str]:
    """Run the command to its end with `given` on standard input, and `more` in its environment."""
    return subprocess.run(
        [COMMAND, *arguments], input=given, env=environment(**more), capture_output=True, text=True,
        timeout=60, check=False,
    )  # fmt: skip


def script(program: str, *arguments: object) -> str:
    """What a Python program of its own prints; it has to end well."""
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)], env=environment(), capture_output=True,
        text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


@contextlib.contextmanager
def standing(*arguments: str) -> Iterator[dict[str, Any]]:
    """A system that the command started, as it described it; stopped at the end, if it still runs."""
    done = run("system", "start", "--json", *arguments)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    value: dict[str, Any] = json.loads(done.stdout)
    try:
        yield value
    finally:
        for system in take_census(value["port"]).systems:
            stop_system(system, 0.0)
