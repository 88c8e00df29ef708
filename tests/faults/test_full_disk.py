"""A disk that is full for the log: what can't be logged is not, and nothing else changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gen_agent import WorkerCrashed
from gen_agent.actors.system import AgentSystem
from tests.bases import OWN
from tests.faults.scene import QUEUED, scene


def full_log() -> dict[str, Any]:
    """A configuration that logs everything to a device that is always full."""
    handler = {"class": "logging.FileHandler", "filename": "/dev/full"}
    return {"version": 1, "handlers": {"full": handler}, "root": {"handlers": ["full"], "level": "DEBUG"}}


def test_a_full_disk_costs_the_log_and_nothing_else(tmp_path: Path) -> None:
    """C218: agents start, fail, go on and stop while every line of the log is refused."""
    with AgentSystem(OWN, log_defs=full_log()) as agents:
        for words, outcome in (
            ("raise:plain", WorkerCrashed("ValueError")),
            ("kill:SIGKILL", WorkerCrashed("SIGKILL")),
        ):
            place = tmp_path / words[:4]
            place.mkdir()
            with scene(agents, place, words) as there:
                agents.notify(there.address, "raise")
                there.release()
                assert there.outcomes() == {"first": outcome, **{name: name for name in QUEUED}}
                there.end_alive()
