"""Runs the measurements: all of them, or those named.

    python -m tests.benchmarks [name ...]

A measurement is a module of this folder that can be run by itself; it prints what it measured.
"""

from __future__ import annotations

import pathlib
import runpy
import sys

FOLDER = pathlib.Path(__file__).resolve().parent


def names() -> list[str]:
    """The measurements there are."""
    return sorted(path.stem for path in FOLDER.glob("*.py") if not path.stem.startswith("_"))


def main(wanted: list[str]) -> None:
    """Run the named measurements, or all."""
    for name in wanted or names():
        print(f"== {name}", flush=True)
        sys.argv = [name]
        runpy.run_module(f"tests.benchmarks.{name}", run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
