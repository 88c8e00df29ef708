"""Every claim of the README that can be run is run."""

from __future__ import annotations

import ast
import pathlib
import re
import subprocess
import sys
import textwrap

import attrs

from gen_agent.core.table import render
from gen_agent.options import RESERVED, AgentOptions

ROOT = pathlib.Path(__file__).resolve().parent.parent
README = (ROOT / "README.rst").read_text()


def block(name: str) -> str:
    """The code block of the README that carries this name."""
    found = re.search(rf"\.\. code-block:: \w+\n +:name: {name}\n\n((?:(?: +.*)?\n)+)", README)
    assert found is not None, f"the README has no block named {name}"
    return textwrap.dedent(found.group(1)).strip() + "\n"


def test_the_definitive_example_prints_what_the_readme_says(tmp_path: pathlib.Path) -> None:
    """The README's example, extracted to a file of its own, prints exactly the output shown below it."""
    script = tmp_path / "definitive.py"
    script.write_text(block("definitive"))
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=60, cwd=tmp_path, check=False
    )
    assert (done.stderr, done.stdout) == ("", block("definitive-output"))


def test_the_state_table_is_the_machine_s() -> None:
    """The README's state table is the one printed from the machine's own value."""
    shown = README.split(".. begin-state-table\n", 1)[1].split(".. end-state-table", 1)[0]
    assert shown.strip() == render().strip()


def test_the_options_table_has_every_option() -> None:
    """C004, C006: the README's table of options has each reserved one with its default."""
    shown = README.split(".. begin-options-table\n", 1)[1].split(".. end-options-table", 1)[0]
    rows = dict(re.findall(r"^``(\w+)`` +(\S+)", shown, re.MULTILINE))
    defaults = {field.name: field.default for field in attrs.fields(AgentOptions)}
    assert {name: ast.literal_eval(value) for name, value in rows.items()} == {
        name: defaults[name] for name in RESERVED
    }


def test_the_test_command_is_the_one_ci_runs() -> None:
    """The README's test command stands in the script that CI runs, to the letter."""
    command = "python3 -m venv .venv && .venv/bin/pip install tox && .venv/bin/tox"
    assert f"{command}\n" in README
    assert command in (ROOT / ".ci" / "run").read_text()
