"""What we rely on inside Thespian is there, and what we use is what we listed."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest

import gen_agent.actors
from gen_agent.actors.thespian_names import PRIVATE_NAMES

PARTS = ("base", "lanes", "outbox", "posting", "runloop", "transport", "upkeep", "wakeups", "workerlog")


@pytest.mark.parametrize(("module", "name"), PRIVATE_NAMES)
def test_name_is_there(module: str, name: str) -> None:
    """A Thespian without a name we rely on is refused here, by that name, not by a system that hangs."""
    found: object = importlib.import_module(module)
    for part in name.split("."):
        assert hasattr(found, part), f"Thespian has lost {module}: {name}"
        found = getattr(found, part)


def imported(path: Path) -> set[tuple[str, str]]:
    """Module and name of everything a file takes from inside Thespian."""
    tree = ast.parse(path.read_text())
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
    return {
        (str(node.module), alias.name)
        for node in imports
        if re.match(r"thespian\.system", str(node.module))
        for alias in node.names
    }


@pytest.mark.parametrize("part", PARTS)
def test_names_are_listed(part: str) -> None:
    """Every name taken from inside Thespian is in the list."""
    listed = {(module, name.split(".")[0]) for module, name in PRIVATE_NAMES}
    assert imported(Path(gen_agent.actors.__path__[0]) / f"{part}.py") <= listed
