"""Agents in virtual time under load and faults: the contract's promises hold, and a machine that breaks one
is noticed."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

from gen_agent.core import delivery, halting
from gen_agent.core import signals as on
from gen_agent.core.machine import Machine
from gen_agent.core.queues import NoticeQueue, PromptQueue
from gen_agent.core.results import ResultCache
from gen_agent.testing.simulation import Load, SimReport, simulate
from tests.core.simulated_agents import SCRIPT, Restless

LOAD = Load(requests=150, events=(0, 1, 2), messages=(0, 1))
TIGHT = {"watchdog_s": 5.0, "max_pending_prompts": 3, "max_pending_notifications": 2, "max_tell_results": 4}


def run(seed: int, **reserved: Any) -> SimReport:
    """One run of the restless agent."""
    return simulate(Restless, SCRIPT, seed, load=LOAD, **reserved)


@pytest.mark.parametrize("seed", range(12))
def test_promises_hold_under_faults(seed: int) -> None:
    """C112, C157, C159, C240, C243: crashes of workers, callers and agents break no promise of a tight
    agent."""
    report = run(seed, **TIGHT)
    assert report.turns > 0
    assert report.ends


@pytest.mark.parametrize("seed", range(100, 106))
def test_promises_hold_with_room(seed: int) -> None:
    """C108, C182, C198: nor those of an agent with room for all, without a watchdog, in bytes as in
    counts."""
    report = run(seed, watchdog_s=None, max_pending_prompt_bytes=40, max_tell_result_bytes=900)
    assert report.outcomes


def test_every_kind_of_end_is_met() -> None:
    """The seeds of these tests do meet kills, stops and drains, interrupts, watchdogs and crashes."""
    reports = [run(seed, **TIGHT) for seed in range(6)]
    ends = {end for report in reports for end in report.ends}
    codes = {getattr(outcome, "code", "ok") for report in reports for outcome in report.outcomes.values()}
    assert ends >= {"normal", "killed", "shutdown"}
    assert codes >= {
        "ok",
        "interrupted",
        "timeout",
        "task_crashed",
        "cancelled",
        "halted",
        "agent_terminated",
    }


def test_same_seed_gives_the_same_trace() -> None:
    """A run can be repeated to the letter, and another seed is another run."""
    assert run(7).trace == run(7).trace
    assert run(7).digest != run(8).digest


def test_trace_does_not_depend_on_the_process() -> None:
    """Neither hash seeds nor addresses get into a trace."""
    program = "from tests.core.test_simulation import run; print(run(7).digest)"
    seen = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert seen == {run(7).digest}


# -------------------------------------------------------------------- machines that break a promise


def _last_come_first_served(patch: pytest.MonkeyPatch) -> None:
    original = PromptQueue.pop

    def pop(self: PromptQueue) -> Any:
        self.entries.move_to_end(next(iter(self.entries)))
        return original(self)

    patch.setattr(PromptQueue, "pop", pop)


def _bytes_are_lost(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(PromptQueue, "_forget", lambda self, ref, request: None)


def _cache_grows(patch: pytest.MonkeyPatch) -> None:
    def put(self: ResultCache, ref: Any, result: Any) -> None:
        self.entries[ref] = result
        self.size += result.size

    patch.setattr(ResultCache, "put", put)


def _notices_stay(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(NoticeQueue, "take", lambda self: tuple(self._entries))


def _watched_for_ever(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(PromptQueue, "waits", lambda self, caller: True)


def _everything_twice(patch: pytest.MonkeyPatch) -> None:
    step = Machine.step
    patch.setattr(Machine, "step", lambda self, event, now: step(self, event, now) * 2)


def _completions_get_lost(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(delivery, "Complete", lambda *args: on.ClearDeadline(on.Deadline("idle", 0)))


def _halts_are_silent(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(halting, "settle", lambda model, request, error: None)


@pytest.mark.parametrize(
    "breakage",
    [
        _last_come_first_served,
        _bytes_are_lost,
        _cache_grows,
        _notices_stay,
        _watched_for_ever,
        _everything_twice,
        _completions_get_lost,
        _halts_are_silent,
    ],
)
def test_broken_machine_is_noticed(breakage: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """C157, C240: whatever is broken in the machine, some seed stumbles over it."""
    breakage(monkeypatch)
    with pytest.raises(AssertionError, match=r"at \d+\.\d+: "):
        run_until_broken()


def run_until_broken() -> None:
    """Seed after seed."""
    for seed in range(12):
        run(seed, **TIGHT)
