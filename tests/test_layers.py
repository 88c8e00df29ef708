"""The import law as data: which ring may know which, and what importing the package must not load."""

from __future__ import annotations

import ast
import pathlib
import subprocess
import sys
from collections.abc import Iterator

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "gen_agent"

RINGS: dict[str, str] = {
    **dict.fromkeys(
        (
            "failure", "errors", "sealed", "wire", "values", "events", "backend", "options", "agent",
            "envelopes", "soundness", "answers", "messages", "telemetry", "codec", "remembered",
        ),
        "contracts",
    ),
    "client": "client",
    "core": "core",
    "actors": "actors",
    "backends": "backends",
    "otel": "bridges",
    "testing": "testing",
    "cli": "cli",
    "__init__": "door",
}  # fmt: skip
"""Ring of each module or folder at the top of the package."""

MAY_IMPORT: dict[str, set[str]] = {
    "contracts": {"contracts"},
    "core": {"contracts", "core"},
    "client": {"contracts", "client"},
    "backends": {"contracts", "backends"},
    "bridges": {"contracts", "bridges"},
    "actors": {"contracts", "core", "client", "actors"},
    "testing": {"contracts", "core", "client", "backends", "actors", "testing"},
    "cli": {"contracts", "client", "actors", "backends", "testing", "cli", "door"},
    "door": {"contracts", "client", "actors"},
}
"""What each ring may import from the package."""

DOORS = {("actors", "gen_agent.backends")}
"""Single modules that another ring may import: plug-ins are looked up where they are defined."""

LIBRARIES: dict[str, set[str]] = {
    "attrs": {"contracts", "core", "client", "actors", "backends", "bridges", "testing", "cli"},
    "cattrs": {"gen_agent.codec"},
    "thespian": {"actors"},
    "click": {"cli"},
    "rich": {"cli"},
    "openai": {"backends"},
    "anthropic": {"backends"},
    "httpx": {"backends"},
    "xllamacpp": {"backends"},
    "claude_agent_sdk": {"backends"},
    "codex_cli_bin": {"backends"},
    "opentelemetry": {"bridges"},
    "pytest": {"testing"},
    "hypothesis": {"testing"},
}
"""Who may import a library: rings, or single modules."""

CORE_STANDARD = {
    "__future__", "collections", "collections.abc", "contextlib", "enum", "functools", "inspect", "itertools",
    "operator", "traceback", "types", "typing",
}  # fmt: skip
"""All that the core needs of the standard library: no clock, chance, process, thread, file or wire."""

CONTRACTS_NEVER = {"asyncio", "multiprocessing", "random", "select", "signal", "socket", "subprocess"}
"""What no contract may know."""


def modules() -> Iterator[tuple[str, str, ast.Module]]:
    """Name, ring and tree of every module of the package."""
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 2 else parts)
        yield name, RINGS.get(parts[1], "nowhere"), ast.parse(path.read_text())


def imports(tree: ast.Module) -> Iterator[str]:
    """Every module that `tree` imports, anywhere in it, `from package import module` as both."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            module = node.module or ""
            inner = [f"{module}.{alias.name}" for alias in node.names]
            found = [name for name in inner if (ROOT / name.replace(".", "/")).with_suffix(".py").exists()]
            yield from found or [module]


MODULES = list(modules())
IMPORTS = [(name, ring, used) for name, ring, tree in MODULES for used in imports(tree)]


def test_every_module_has_a_ring() -> None:
    """No module stands outside the rings."""
    assert [name for name, ring, _ in MODULES if ring == "nowhere"] == []


def test_each_ring_knows_only_what_it_may() -> None:
    """Contracts know contracts, the core knows contracts, actors know both; nothing points outwards."""
    wrong = [
        f"{name} imports {used}"
        for name, ring, used in IMPORTS
        if used.startswith("gen_agent.")
        and RINGS.get(used.split(".")[1]) not in MAY_IMPORT.get(ring, set())
        and (ring, used) not in DOORS
    ]
    assert wrong == []


def test_nobody_imports_the_door() -> None:
    """Inside the package a thing is imported from where it is defined."""
    outside = ("cli", "testing")
    assert [name for name, ring, used in IMPORTS if used == "gen_agent" and ring not in outside] == []


def test_libraries_stay_in_their_rings() -> None:
    """Thespian is for actors only, cattrs for the codec only, a provider's library for backends only."""
    wrong = [
        f"{name} imports {used}"
        for name, ring, used in IMPORTS
        if (top := used.split(".")[0]) not in sys.stdlib_module_names
        and top != "gen_agent"
        and not LIBRARIES.get(top, set()) & {ring, name}
    ]
    assert wrong == []


def test_the_core_has_no_clock_no_chance_and_no_process() -> None:
    """The core imports nothing of the standard library that could make two runs differ."""
    wrong = [
        f"{name} imports {used}"
        for name, ring, used in IMPORTS
        if ring == "core" and used.split(".")[0] in sys.stdlib_module_names and used not in CORE_STANDARD
    ]
    assert wrong == []


def test_contracts_do_nothing() -> None:
    """Contracts start, wait for and connect to nothing."""
    wrong = [
        f"{name} imports {used}"
        for name, ring, used in IMPORTS
        if ring == "contracts" and used.split(".")[0] in CONTRACTS_NEVER
    ]
    assert wrong == []


def test_rings_are_ordered() -> None:
    """No two rings may import each other."""
    assert not [
        (one, other)
        for one, allowed in MAY_IMPORT.items()
        for other in allowed
        if one != other and one in MAY_IMPORT[other]
    ]


@pytest.mark.parametrize(
    ("module", "allowed"),
    [("gen_agent", ()), ("gen_agent.core", ()), ("gen_agent.messages", ()), ("gen_agent.codec", ("cattrs",))],
)
def test_what_an_import_loads(module: str, allowed: tuple[str, ...]) -> None:
    """Importing the package, its core or its messages loads no Thespian, no cattrs, no provider's library."""
    never = {"asyncio", "multiprocessing", "gen_agent.actors"}
    heavy = sorted((set(LIBRARIES) | never) - {"attrs", *allowed})
    program = f"import sys, {module}; print(*[name for name in {heavy} if name in sys.modules])"
    if module == "gen_agent.core":
        inner = [name for name, ring, _ in MODULES if ring == "core"]
        program = f"import {', '.join(inner)}; {program}"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False, cwd=ROOT
    )
    assert (done.stdout.strip(), done.stderr) == ("", "")
