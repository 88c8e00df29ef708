"""Nobody is left behind: whoever of a system is killed, everything below it is gone within a bound."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from gen_agent.actors.deathchain import follow_guardian, follow_parent
from gen_agent.actors.processes import ProcessId, Watched, kill_children
from tests.actors.transport_actors import Keeper
from tests.actors.transport_system import running

GONE_S = 2.0


@contextlib.contextmanager
def started() -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    """A process that owns a system, and the pids it told."""
    command = [sys.executable, "-m", "tests.actors.transport_starter", "owned"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as starter:
        assert starter.stdout is not None
        try:
            yield starter, json.loads(starter.stdout.readline())
        finally:
            starter.kill()
            starter.wait()
            kill_children(keep=())


@pytest.mark.parametrize(
    ("victim", "survivors"),
    [("starter", set()), ("admin", set()), ("keeper", {"admin"})],
)
def test_death_chain(victim: str, survivors: set[str]) -> None:
    """Kill one process of a system: all below it are gone within two seconds, all above it live."""
    with started() as (starter, pids), contextlib.ExitStack() as stack:
        alive = {pids[name] for name in survivors}
        doomed = [pids["keeper"], pids["child"]] if victim == "keeper" else pids["all"]
        watched = [stack.enter_context(Watched(pid)) for pid in doomed if pid not in alive]
        os.kill(starter.pid if victim == "starter" else pids[victim], signal.SIGKILL)
        assert [process.identity.pid for process in watched if not process.wait(GONE_S)] == []
        assert all(ProcessId.of(pid).alive() for pid in alive)


def test_ending_in_order() -> None:
    """A starter that comes to its end leaves nothing."""
    with started() as (starter, pids):
        assert starter.stdin is not None
        starter.stdin.close()
        assert starter.wait(10) == 0
        assert [pid for pid in pids["all"] if os.path.exists(f"/proc/{pid}")] == []


@pytest.mark.parametrize("follow", [follow_parent, follow_guardian])
def test_parent_dead_already(follow: Any) -> None:
    """A process whose parent is not the one that was said to be ends at once."""
    ready, go = os.pipe()
    between = os.fork()
    if between == 0:
        orphan = os.fork()
        if orphan == 0:
            os.read(ready, 1)
            os.close(ready)
            follow(between)
            os._exit(7)
        os._exit(0)
    os.waitpid(between, 0)
    os.write(go, b"x")
    pid, status = os.waitpid(-1, 0)
    os.close(ready)
    os.close(go)
    assert os.waitstatus_to_exitcode(status) == 1


def test_killed_child_is_noticed() -> None:
    """A parent actor hears of the death of a killed child, though nobody sends it anything."""
    with running() as system:
        keeper = system.create(Keeper)
        child = system.actors.ask(keeper, "child", 10)
        os.kill(child, signal.SIGKILL)
        assert system.actors.ask(keeper, "end", 10) == "ended"


def test_sigterm_ends_an_actor() -> None:
    """SIGTERM wakes a waiting actor, which exits in order, its children first."""
    with running() as system:
        keeper = system.create(Keeper)
        child, parent = system.actors.ask(keeper, "child", 10), system.pid(keeper)
        with Watched(child) as watched_child, Watched(parent) as watched_parent:
            watched_parent.signal(signal.SIGTERM)
            assert watched_parent.wait(10)
            assert watched_child.wait(5)
