"""Tests that are killed leave nothing either: whoever runs them may end at any moment."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gen_agent.actors.processes import ProcessId, Watched, children, descendants

ROOT = Path(__file__).resolve().parent.parent.parent
ROUNDS = 10
START_S, GONE_S = 60.0, 5.0
SUITE = (
    "tests/faults/test_worker_faults.py",
    "tests/faults/test_system_faults.py",
    "tests/actors/test_system.py",
)
COMMAND = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "not multiproc", *SUITE)


def ours() -> list[ProcessId]:
    """Everything below this process that lives; what a killed run leaves comes home to it, a subreaper."""
    for child in children(os.getpid()):
        if not child.alive():
            os.waitpid(child.pid, os.WNOHANG)
    return [process for process in descendants(os.getpid()) if process.alive()]


def await_busy(run: Watched, pid: int) -> int:
    """Let a run get as far as to have a system, and then a random while further; what is below it then."""
    end = time.monotonic() + START_S
    while not descendants(pid) and time.monotonic() < end:
        run.wait(0.05)
    run.wait(random.uniform(0.0, 5.0))
    return len(descendants(pid))


@pytest.mark.faults
@pytest.mark.timeout(600)
def test_a_killed_run_of_tests_leaves_nothing() -> None:
    """C104: SIGKILL of pytest at ten random moments; 5 s later no process of ours is left."""
    most = 0
    for number in range(ROUNDS):
        run = subprocess.Popen(COMMAND, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            with Watched(ProcessId.of(run.pid)) as process:
                seen = await_busy(process, run.pid)
        finally:
            run.send_signal(signal.SIGKILL)
            run.wait()
        killed = time.monotonic()
        while (left := ours()) and time.monotonic() - killed < GONE_S:
            with Watched(left[0]) as one:
                one.wait(0.05)
        most = max(most, seen)
        print(f"round {number}: {seen} processes gone after {time.monotonic() - killed:.2f} s")
        assert left == []
    assert most > 5, "nothing was running when the tests were killed"
