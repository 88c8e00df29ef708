"""The floor as a measure sees it: a process of its own that is told what to measure, and is always ended."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from gen_agent.actors.processes import ProcessId, become_subreaper, children, kill_children

CLOSING_S = 15.0
"""How long a floor may take to end its system in an orderly way, in seconds."""


class FloorProcess:
    """One running floor; `floor.asks(0.5)` is `floor_process.Floor.asks(0.5)`, over there."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def __getattr__(self, name: str) -> Any:
        def order(*arguments: Any) -> Any:
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            print(json.dumps([name, arguments]), file=self._process.stdin, flush=True)
            answer = self._process.stdout.readline()
            if not answer:
                raise RuntimeError("the floor has failed: what it said is above")
            return json.loads(answer)

        return order


def _clean_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("THESPIAN")}


@contextlib.contextmanager
def swept() -> Iterator[None]:
    """Whatever processes are made in the block are gone after it."""
    become_subreaper()
    before: tuple[ProcessId, ...] = children(os.getpid())
    try:
        yield
    finally:
        kill_children(keep=before)


@contextlib.contextmanager
def floor(agents: int = 1) -> Iterator[FloorProcess]:
    """A floor with that many agents."""
    command = [sys.executable, "-m", "tests.benchmarks.floor_process"]
    pipe = subprocess.PIPE
    with swept():
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=_clean_environment())
        try:
            made = FloorProcess(process)
            if agents:
                made.start(agents)
            yield made
        finally:
            with contextlib.suppress(subprocess.TimeoutExpired, BrokenPipeError):
                process.communicate(timeout=CLOSING_S)
            process.kill()
            process.wait()
