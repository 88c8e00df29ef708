"""How running systems are shown, and what is taken for a capability: parts of the command that need none."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from gen_agent.actors.guardian_census import RunningSystem
from gen_agent.actors.guardian_inquiry import SystemAnswer
from gen_agent.actors.processes import ProcessId
from gen_agent.actors.system_files import SystemPlace
from gen_agent.cli.failure import failure_line
from gen_agent.cli.systems import Shown, duration
from gen_agent.cli.values import parse_capability

ME = ProcessId.of(os.getpid())
SYSTEM = RunningSystem(SystemPlace(Path("/nowhere/system-7-1-1"), 7, ME), None)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.4, "0 s"), (59.9, "59 s"), (60, "1 min"), (3_725, "1 h 2 min"), (90_000, "1 d 1 h")],
)
def test_durations(seconds: float, said: str) -> None:
    """A time is told by its two largest units."""
    assert duration(seconds) == said


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (SystemAnswer(3, ("b", ("a", 1))), "messages of version 3, 2 agents: ('a', 1), b"),
        (SystemAnswer(3, ()), "messages of version 3, no agents"),
        (SystemAnswer(3, None, "its admin hangs"), "messages of version 3, its admin hangs"),
        (SystemAnswer(silence="its admin does not answer"), " s, its admin does not answer"),
    ],
)
def test_the_line_of_a_system(answer: SystemAnswer, said: str) -> None:
    """Names of every kind are shown; what a system does not answer is told, not left out."""
    line = Shown(SYSTEM, answer).line()
    assert line.startswith(f"port 7: guardian {ME.pid}, no owner, up ")
    assert line.endswith(said)


def test_the_value_of_a_system() -> None:
    """For programs every field is there, None where it is not known."""
    owned = RunningSystem(SYSTEM.place, ProcessId(4711, 1))
    value = Shown(owned, SystemAnswer(silence="gone")).value()
    assert value.pop("up_s") > 0
    assert value == {
        "port": 7, "guardian": ME.pid, "owner": 4711, "version": None, "agents": None, "problem": "gone"
    }  # fmt: skip
    assert "agents" not in Shown(owned).value()


@pytest.mark.parametrize(
    ("text", "expected"),
    [("gpu=true", ("gpu", True)), ("Convention Address.IPv4=h:1", ("Convention Address.IPv4", "h:1"))],
)
def test_capabilities(text: str, expected: tuple[str, Any]) -> None:
    """A capability's name may be any text, and its value is what it looks like."""
    assert parse_capability(text) == expected


@pytest.mark.parametrize("text", ["gpu", "=1", " =1"])
def test_no_capabilities(text: str) -> None:
    """Without a name or a value it is refused."""
    with pytest.raises(ValueError, match="write key=value"):
        parse_capability(text)


def test_errors_of_the_machine_name_the_file() -> None:
    """What the operating system refuses is told by its words and the file, without a number."""
    assert failure_line(PermissionError(13, "Permission denied", "/x")) == "/x: Permission denied"
    assert failure_line(OSError(98, "port 1: Address already in use")) == "port 1: Address already in use"
    assert failure_line(FileNotFoundError("no key file")) == "no key file"
