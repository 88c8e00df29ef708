"""One secret in every value a user can hand over, looked for everywhere it could come out again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bases import OWN, STOCK
from tests.contract import secrets

ROOT = Path(secrets.__file__).parents[2]


@pytest.mark.parametrize("kind", [OWN, STOCK])
def test_a_secret_stays_where_it_was_put(kind: str, tmp_path: Path) -> None:
    """C216, C218, C220, C235: prompts, states, options, keys, events and exception texts, with each callback
    raising in turn and the backend failing in every way: none of it is in a log, on stderr, in telemetry of
    turns, a Down, a process title, a file of the system, or the `repr` of a message."""
    environment = {
        **os.environ,
        "TMPDIR": str(tmp_path),
        "XDG_RUNTIME_DIR": str(tmp_path),
        "THESPLOG_FILE": str(tmp_path / "thespian.log"),
        "THESPLOG_THRESHOLD": "DEBUG",
        "THESPLOG_FILE_MAXSIZE": "50000000",
    }
    done = subprocess.run(
        [sys.executable, "-m", secrets.__name__, str(tmp_path), kind],
        cwd=ROOT, env=environment, capture_output=True, timeout=110, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    canary = secrets.CANARY.encode()
    leaks = [path.name for path in tmp_path.rglob("*") if path.is_file() and canary in path.read_bytes()]
    assert leaks == []
    told = json.loads((tmp_path / "told.json").read_text())
    reasons = {line.split()[0] for line in told}
    assert {"callback_failed", "shutdown"} <= reasons, "not everything was tried"
    assert any("ValueError" in line for line in told)
    assert (tmp_path / "log").read_text().count("raised ValueError") > 10
