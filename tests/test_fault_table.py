"""The README's table of faults: every fault test is in it, and whatever it names is there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.faults.test_agent_ends import ENDS
from tests.faults.test_script_ends import WAYS
from tests.faults.test_worker_faults import FAULTS

ROOT = Path(__file__).resolve().parent.parent
BEGIN, END = ".. begin-fault-table", ".. end-fault-table"
_TEST = re.compile(r"``((?:\w+/)?test_\w+\.py::test_\w+)``")


def table() -> str:
    """The table as it is written in the README."""
    text = (ROOT / "README.rst").read_text()
    assert text.count(BEGIN) == text.count(END) == 1
    return text.partition(BEGIN)[2].partition(END)[0]


def named() -> set[str]:
    """The tests that the table names, by path; where it gives no folder it is that of the faults."""
    return {f"tests/{name if '/' in name else f'faults/{name}'}" for name in _TEST.findall(table())}


def written_in(path: Path) -> set[str]:
    """The test functions of a file, by path."""
    body = ast.parse(path.read_text()).body
    return {
        f"{path.relative_to(ROOT)}::{node.name}"
        for node in body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


def test_every_fault_test_is_in_the_table() -> None:
    """Each test function of the folder of faults is named in a row."""
    written = {name for path in ROOT.glob("tests/faults/test_*.py") for name in written_in(path)}
    assert written
    assert sorted(written - named()) == []


def test_what_the_table_names_is_there() -> None:
    """No row names a test that doesn't exist."""
    files = {name.partition("::")[0] for name in named()}
    assert sorted(named() - {name for path in files for name in written_in(ROOT / path)}) == []


@pytest.mark.parametrize("case", [case.name for case in (*FAULTS, *ENDS, *WAYS)])
def test_every_case_has_its_line(case: str) -> None:
    """Each case of the three tests that go through tables of their own begins one line here."""
    lines = [line for line in table().splitlines() if re.match(rf"{re.escape(case)}(  |$)", line)]
    assert len(lines) == 1
