"""`gen-agent doctor --clean` for everything there is, where that is only what this test made."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from gen_agent.actors.keys import runtime_dir
from tests.cli.aftermath import LONE
from tests.cli.running import ROOT, environment

INSIDE = ("unshare", "-p", "-f", "--kill-child", "--mount-proc")
"""The command to run another one in a table of processes of its own."""


def can_have_a_table() -> bool:
    """Whether this kernel lets us make a table of processes."""
    try:
        return subprocess.run([*INSIDE, "true"], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def wrecks_of(leftovers: list[Any]) -> Counter[tuple[str, int]]:
    """Of which systems there are processes and files, by kind and port."""
    found: Counter[tuple[str, int]] = Counter()
    for one in leftovers:
        # "1900.key" or "system-1900-4711-99"
        number = re.search(r"\d+", Path(one.get("path", "0")).name)
        assert number is not None
        found[one["kind"], one.get("system_port", int(number[0]))] += 1
    return found


@pytest.mark.faults
@pytest.mark.skipif(not can_have_a_table(), reason="needs root and a kernel that makes tables of processes")
def test_all_that_was_left_is_cleared_and_all_that_lives_is_not() -> None:
    """C100: without a port the doctor finds what every wreck left, clears exactly what it found, and leaves
    living systems, owned or not, and strange key files alone.
    """
    done = subprocess.run(
        [*INSIDE, sys.executable, "-m", "tests.cli.aftermath"], cwd=ROOT, env=environment(), text=True,
        capture_output=True, timeout=100, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(done.stdout)
    before, clean, after = told["before"], told["clean"], told["after"]
    assert (before["status"], clean["status"], after["status"]) == (1, 0, 0)
    _, hung, stopped = told["wrecks"]
    found = wrecks_of(before["leftovers"])
    assert found["process", hung] > 5
    assert found["file", hung] == 2
    assert found["process", stopped] == 2
    assert {port for _, port in found} <= set(told["wrecks"])
    assert before["removed"] == []
    assert sorted(map(str, clean["removed"])) == sorted(map(str, before["leftovers"]))
    assert clean["leftovers"] == after["leftovers"] == after["removed"] == []
    assert [one["port"] for one in after["systems"]] == sorted(told["living"])
    assert [Path(path).name for path in after["unknown_key_files"]] == [f"{LONE}.key"]
    assert told["answers"] == ["echo: x", "echo: y"]
    assert list(runtime_dir().iterdir()) == []
