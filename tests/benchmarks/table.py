"""Rows as a table, as JSON, and beside those of an earlier run."""

from __future__ import annotations

import json
import os
import pathlib
import platform
import time
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from tests.benchmarks.measuring import Row

COLUMNS = ("measure", "floor", "ours", "ratio", "target", "met?")


def figure(value: float | None, unit: str = "") -> str:
    """A number with as many digits as mean something."""
    if value is None:
        return ""
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return f"{value:,.{digits}f} {unit}".rstrip().replace(" /s", "/s")


def _verdict(row: Row) -> str:
    return {None: "", True: "[green]yes[/]", False: "[red]no[/]"}[row.met]


def change(row: Row, earlier: Mapping[str, Any] | None) -> str:
    """How ours stands against an earlier run, both as ratios to their floors where there is one."""
    if earlier is None:
        return "new"
    now, then = (row.ratio or row.ours), (earlier["ratio"] or earlier["ours"])
    return f"{100 * (now / then - 1):+.0f} %" if then else ""


def shown(rows: Sequence[Row], before: Mapping[str, Any] | None) -> Table:
    """The table; with an earlier run a column that says how the ratio (or the figure) has changed."""
    table = Table(*COLUMNS, *(["against before"] if before else []), "note")
    earlier = {} if before is None else {row["title"]: row for row in before["rows"]}
    for row in rows:
        cells = [
            row.title,
            figure(row.floor, row.unit),
            figure(row.ours, row.unit),
            figure(row.ratio),
            "" if row.goal is None else str(row.goal),
            _verdict(row),
        ]
        if before is not None:
            cells.append(change(row, earlier.get(row.title)))
        table.add_row(*cells, row.note)
    return table


def printed(rows: Sequence[Row], before: Mapping[str, Any] | None) -> None:
    """Print the table, as wide as it needs where nobody's window says otherwise."""
    console = Console()
    (console if console.is_terminal else Console(width=160)).print(shown(rows, before))


def report(rows: Sequence[Row], load: Sequence[float], *, quick: bool) -> dict[str, Any]:
    """All of it as JSON; `load` is the computer's before the first measure."""
    return {
        "made": time.strftime("%Y-%m-%dT%H:%M:%S"),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.release()} {platform.machine()}, {os.cpu_count()} CPUs",
        "load": list(load),
        "quick": quick,
        "rows": [
            {
                "title": row.title,
                "unit": row.unit,
                "floor": row.floor,
                "ours": row.ours,
                "ratio": row.ratio,
                "target": None if row.goal is None else str(row.goal),
                "met": row.met,
                "note": row.note,
            }
            for row in rows
        ],
    }


def written(path: str, content: Mapping[str, Any]) -> None:
    """Write a report."""
    pathlib.Path(path).write_text(json.dumps(content, indent=1) + "\n")


def read(path: str) -> dict[str, Any]:
    """An earlier report."""
    found: dict[str, Any] = json.loads(pathlib.Path(path).read_text())
    return found
