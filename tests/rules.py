"""Which test names which rule of the contract.

    python -m tests.rules            every rule, its tests, its exception
    python -m tests.rules --missing  only the rules that nothing names

A test names a rule when the first line of its docstring starts with it: `C122: ...`, `C122, C123: ...` or
`C061-C063: ...`.
"""

from __future__ import annotations

import ast
import pathlib
import re
import sys

from tests.contract_exceptions import EXCEPTIONS

TESTS = pathlib.Path(__file__).resolve().parent
ALL = tuple(f"C{number:03}" for number in range(1, 260))
_HEAD = re.compile(r"^((?:C\d{3}(?:\s*-\s*C\d{3})?(?:,\s*|\s+and\s+)?)+):")
_RANGE = re.compile(r"C(\d{3})(?:\s*-\s*C(\d{3}))?")


def rules_of(docstring: str) -> list[str]:
    """The rules that a docstring's first line starts with."""
    head = _HEAD.match(docstring.strip())
    if head is None:
        return []
    return [
        f"C{number:03}"
        for first, last in _RANGE.findall(head.group(1))
        for number in range(int(first), int(last or first) + 1)
    ]


def named() -> dict[str, list[str]]:
    """Rule -> the tests whose docstrings name it, as pytest ids."""
    found: dict[str, list[str]] = {rule: [] for rule in ALL}
    for path in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
                for rule in rules_of(ast.get_docstring(node) or ""):
                    found[rule].append(f"{path.relative_to(TESTS.parent)}::{node.name}")
    return found


def missing() -> list[str]:
    """The rules that no test names and no exception explains."""
    return [rule for rule, tests in named().items() if not tests and rule not in EXCEPTIONS]


def main(arguments: list[str]) -> int:
    """Print the list; the exit status is 1 if a rule is missing."""
    absent = missing()
    if "--missing" in arguments:
        print(" ".join(absent) or "none is missing")
    else:
        for rule, tests in named().items():
            print(rule, *(tests or [EXCEPTIONS.get(rule, "MISSING")]), sep="\n    ")
    print(f"{len(ALL) - len(absent)} passed, {len(absent)} failed")
    return 1 if absent else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
