"""Every way a script can end while its agents are busy: the system goes down with it and leaves nothing."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest

from gen_agent.actors.processes import ProcessId, Watched
from tests.bases import OWN, STOCK
from tests.faults.cast import lines
from tests.faults.owner import AGENTS
from tests.faults.scene import PATIENCE_S

ROOT = Path(__file__).resolve().parent.parent.parent
GONE_S = 5.0


@attrs.frozen
class Way:
    """How a script ends: by itself, or by a signal while it waits; whether its agents get to run their last
    callback.
    """

    name: str
    way: str
    signal: int | None = None
    orderly: bool = False
    default: bool = False


WAYS = (
    Way("ctrl-c while it waits", "waits", signal.SIGINT, orderly=True),
    Way("ctrl-c in a call", "asks", signal.SIGINT, orderly=True, default=True),
    Way("sigterm", "waits", signal.SIGTERM),
    Way("sigterm in a call", "asks", signal.SIGTERM, default=True),
    Way("sigkill", "waits", signal.SIGKILL, default=True),
    Way("sigkill in a call", "asks", signal.SIGKILL),
    Way("sighup", "waits", signal.SIGHUP),
    Way("exception in the block", "raises", orderly=True, default=True),
    Way("sys.exit in the block", "exits", orderly=True),
    Way("os._exit", "exits hard"),
    Way("abort", "aborts"),
)
ON_STOCK = ("exception in the block", "ctrl-c in a call", "sys.exit in the block")


@contextlib.contextmanager
def owner(base: str, directory: Path, way: str) -> Iterator[subprocess.Popen[str]]:
    """The script, once its agents are busy."""
    script = subprocess.Popen(
        [sys.executable, "-m", "tests.faults.owner", base, str(directory), way],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    with script:
        try:
            assert script.stdout is not None
            assert script.stdout.readline() == "ready\n"
            yield script
        finally:
            script.kill()


def everyone(directory: Path) -> list[ProcessId]:
    """Everything that the script said has to go with it."""
    found = [ProcessId(*map(int, line.split())) for line in lines(str(directory / "everyone"))]
    for line in lines(str(directory / "tools")):
        for pid in line.split():
            with contextlib.suppress(ProcessLookupError):
                found.append(ProcessId.of(int(pid)))
    return found


CASES = [
    pytest.param(base, way, marks=() if base == OWN and way.default else pytest.mark.faults)
    for base in (OWN, STOCK)
    for way in WAYS
    if base == OWN or way.name in ON_STOCK
]


@pytest.mark.parametrize(("base", "way"), CASES, ids=lambda it: it.name if isinstance(it, Way) else it)
def test_a_script_that_ends_takes_everything_along(base: str, way: Way, tmp_path: Path) -> None:
    """C101, C104: guardian, admin, agents, held workers and their tools are gone; last callbacks ran if
    there was time.
    """
    with contextlib.ExitStack() as stack:
        script = stack.enter_context(owner(base, tmp_path, way.way))
        watched = []
        for process in everyone(tmp_path):
            with contextlib.suppress(ProcessLookupError):
                watched.append(stack.enter_context(Watched(process)))
        assert len(watched) >= AGENTS * 5
        if way.signal is not None:
            script.send_signal(way.signal)
        script.wait(PATIENCE_S)
        alive = [one.identity for one in watched if not one.wait(GONE_S)]
    assert alive == []
    if way.orderly:
        assert lines(str(tmp_path / "mark")) == ["shutdown"] * AGENTS


EARLY = """
import sys
print("up", flush=True)
from gen_agent.actors.system import AgentSystem
with AgentSystem() as agents:
    print("open", flush=True)
    sys.stdin.read()
"""


@pytest.mark.faults
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_script_that_ends_while_its_system_starts(number: int) -> None:
    """C104: killed at any moment of the start, ten of them spread over it, nothing is left."""
    for step in range(10):
        with subprocess.Popen(
            [sys.executable, "-c", EARLY], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True,
        ) as script:  # fmt: skip
            assert script.stdout is not None
            assert script.stdout.readline() == "up\n"
            with Watched(ProcessId.of(script.pid)) as process:
                process.wait(step * 0.1)
            script.send_signal(number)
            script.communicate()
