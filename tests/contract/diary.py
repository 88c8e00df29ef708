"""Diaries: files in which agents, backends and telemetry of the tests write down what happens."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from typing import Any

from gen_agent import Overloaded
from gen_agent.backends.stage import StageAddress

SECRET = "what nobody may see"
"""The text of every exception that a test has raised."""

GATE_S = 60.0
"""How long anything is held at most; a test that needs it is over or has failed long before."""

diaries: dict[Any, str] = {}
"""The diary of each agent of this process, by name."""

stages: dict[Any, StageAddress] = {}
"""Its stage."""


def note(path: str | None, line: object) -> None:
    """Add a line to a diary in one write, whole whoever else writes."""
    if path is None:
        return
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(file, f"{line}\n".encode())
    finally:
        os.close(file)


def diarist(name: tuple[str, ...], measurements: Mapping[str, Any], metadata: Mapping[str, Any]) -> None:
    """A telemetry handler that writes the names of events into the diary of their agent."""
    note(diaries.get(metadata["agent"]), "telemetry " + ".".join(name[1:]))


def accountant(name: tuple[str, ...], measurements: Mapping[str, Any], metadata: Mapping[str, Any]) -> None:
    """A telemetry handler that writes down which keys an event has, and its kind of reason."""
    keys = [*sorted(measurements), "|", *sorted(metadata.keys() - {"agent"})]
    kind = metadata.get("reason_kind", "")
    note(diaries.get(metadata["agent"]), f"told {'.'.join(name[1:])}: {' '.join(keys)} {kind}".strip())


_BOOKED = (
    "from", "to", "origin", "attempt", "prompt", "original_prompt", "rewritten", "event", "reason_kind",
)  # fmt: skip


def clerk(name: tuple[str, ...], measurements: Mapping[str, Any], metadata: Mapping[str, Any]) -> None:
    """A telemetry handler that writes down what an event says, and how long the state was then."""
    said = [f"depth={measurements['depth']}"] if "depth" in measurements else []
    said += [f"{key}={metadata[key]}" for key in _BOOKED if key in metadata]
    if "reason" in metadata:
        said.append(f"reason={getattr(metadata['reason'], 'code', metadata['reason'])}")
    if "agent_state" in metadata:
        said.append(f"state={len(metadata['agent_state'].lines)}")
    note(diaries.get(metadata["agent"]), f"booked {'.'.join(name[1:])}: {' '.join(said)}".strip())


def doorkeeper(name: tuple[str, ...], measurements: Mapping[str, Any], metadata: Mapping[str, Any]) -> None:
    """A telemetry handler that writes down which queue refused something, and by which limit."""
    reason = metadata.get("reason")
    if name[1:] == ("input", "rejected") and isinstance(reason, Overloaded):
        note(diaries.get(metadata["agent"]), f"refused {reason.queue} {reason.limit}")


def usher(name: tuple[str, ...], measurements: Mapping[str, Any], metadata: Mapping[str, Any]) -> None:
    """A telemetry handler that keeps its agent busy at the gate "busy" when an event says so."""
    if metadata.get("event") == "busy":
        stages[metadata["agent"]].wait_at("busy", GATE_S)


def stumbler(*_: Any) -> None:
    """A telemetry handler that always raises."""
    raise ValueError(SECRET)


class LogLine(logging.Formatter):
    """Lines with the agent's name and module in front, where a record has them."""

    def format(self, record: logging.LogRecord) -> str:
        """Name, module and message."""
        known = vars(record)
        return f"{known.get('gen_agent')}|{known.get('gen_agent_module')}|{super().format(record)}"
