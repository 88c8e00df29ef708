"""Agents that have nothing to do take nothing of the machine: nobody looks again and again."""

from __future__ import annotations

import contextlib
import os
import time

import pytest

from gen_agent.actors.processes import ProcessId, descendants
from gen_agent.actors.system import AgentSystem
from tests.bases import OWN
from tests.faults.test_load import everybody_answers, start_many

MOST_SHARE = 0.002
"""How much of one core a system of idle agents may take."""


def used_s(process: ProcessId) -> float:
    """How long all threads of a process have run so far, by the scheduler's own clock."""
    found = 0
    for thread in os.listdir(f"/proc/{process.pid}/task"):
        path = f"/proc/{process.pid}/task/{thread}/schedstat"
        with contextlib.suppress(FileNotFoundError), open(path) as file:
            found += int(file.read().split()[0])
    return found / 1e9


LONG = [pytest.mark.faults, pytest.mark.timeout(600)]


@pytest.mark.parametrize(("count", "seconds"), [(3, 2.0), pytest.param(50, 30.0, marks=LONG)])
def test_idle_agents_use_nothing(count: int, seconds: float) -> None:
    """C119: agents that wait, their workers, supervisor, admin and guardian together use under 0.2 % of a
    core.
    """
    with AgentSystem(OWN) as agents:
        addresses = start_many(agents, [f"agent{n}" for n in range(count)], backend="echo", forward={})
        everybody_answers(agents, addresses)
        # What has just been done has consequences for a moment.
        assert agents.receive(lambda _: False, timeout=1.0) is None
        everyone = descendants(os.getpid())
        before = {process: used_s(process) for process in everyone}
        began = time.monotonic()
        assert agents.receive(lambda _: False, timeout=seconds) is None
        lasted = time.monotonic() - began
        used = {process: used_s(process) - before[process] for process in everyone}
        share = sum(used.values()) / lasted
        most = max(used.values()) / lasted
        print(f"{count} idle agents: {share:.4%} of a core, at most {most:.4%} in one of {len(everyone)}")
        assert share < MOST_SHARE
