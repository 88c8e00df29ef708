"""Each example runs as a user would run it, prints what it promises, and leaves nothing running."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent / "examples"

PRINTS = {
    "hello.py": ["echo: hello", "echo: and now without waiting", "text usage result", "4 replies kept"],
    "from_an_actor.py": ["echo: one", "echo: two", "echo: three"],
    "plain_thespian.py": ["coder", "echo: hello"],
    "submission.py": [
        "would not wait: rejected, halted",
        "is taken back: cancelled",
        "waits for the resume: echo: waits for the resume",
        "is never run: its agent is down, shutdown",
        "3 permits are free",
    ],
    "streaming.py": [
        "text roses are red",
        "text violets are blue",
        "usage",
        "result",
        "6 tokens, 4 events",
        "afterwards: idle",
        "4 events in batches, 0 dropped",
    ],
    "retry.py": ["attempt 3: hello", "attempt 3: once more", "given up: rate_limited"],
    "drain.py": [
        "the agent has ended: normal",
        "done: the active turn",
        "what was queued was refused",
        "the name is free",
    ],
    "monitor.py": [
        "stopped is down: shutdown",
        "drained said: echo: one last word",
        "drained is down: normal",
        "frightened is down: callback_failed error ValueError",
        "killed is down: killed",
        "killed is down: noproc",
    ],
    "two_machines.py": [
        "answers: echo: one and echo: two",
        "names of the first system: ['here', 'there']",
        "names of the second: []",
        "the second system was closed, and its agent is down: True",
        "asking it ends at once",
        "the first one works on: echo: four",
    ],
    "blocked_turn.py": [
        "first event: stuck",
        "interrupt: accepted",
        "the turn: interrupted",
        "next turn: answered: still there?",
    ],
}


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.glob("*.py")))
def test_the_example_prints_what_it_promises(name: str, tmp_path: pathlib.Path) -> None:
    """An example, run from another folder, exits with 0, and prints its lines in order."""
    command = [sys.executable, str(EXAMPLES / name)]
    # The key of a system that nobody owns stays, for whoever joins it.
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60, cwd=tmp_path, env=environment, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.strip() for line in done.stdout.splitlines()] == PRINTS[name]
