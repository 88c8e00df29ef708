"""The measurements, as a table of what was to be reached and what is.

    python -m tests.benchmarks [--only NAME ...] [--quick] [--json FILE] [--compare FILE]

Every measure that has a floor is taken by turns with it. A measure that fails is named at the end, and the
exit status is 1; a target that is missed is no failure. `python -m tests.benchmarks.core` and `.transport`
print details of the machine and of the base below the agents.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import traceback
from collections.abc import Sequence

from tests.benchmarks import growing, importing, interrupting, requests, starting, steps, streaming, table
from tests.benchmarks.measuring import FULL, QUICK, Measure, Row, Scale

MEASURES: dict[str, Measure] = {
    **requests.MEASURES,
    **streaming.MEASURES,
    **interrupting.MEASURES,
    **starting.MEASURES,
    **growing.MEASURES,
    **steps.MEASURES,
    **importing.MEASURES,
}
"""All measures by name, in the order of the table."""


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """What is to be done."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description="Measure gen_agent.")
    names = ", ".join(MEASURES)
    parser.add_argument("--only", nargs="+", choices=sorted(MEASURES), metavar="NAME", help=names)
    parser.add_argument("--quick", action="store_true", help="fewer rounds, smaller sizes")
    parser.add_argument("--json", metavar="FILE", help="write the figures to this file")
    parser.add_argument("--compare", metavar="FILE", help="show the change against an earlier --json file")
    return parser.parse_args(given)


def measured(names: Sequence[str], scale: Scale) -> tuple[list[Row], list[str]]:
    """The rows of these measures, and the names of those that failed."""
    rows: list[Row] = []
    failed: list[str] = []
    for name in names:
        began = time.monotonic()
        print(f"{name} ...", end=" ", file=sys.stderr, flush=True)
        try:
            rows += MEASURES[name](scale)
        except Exception:
            traceback.print_exc()
            failed.append(name)
        print(f"{time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    return rows, failed


def main(given: Sequence[str] | None = None) -> int:
    """Measure, print, write; returns the exit status."""
    chosen = arguments(given)
    before = table.read(chosen.compare) if chosen.compare else None
    load = os.getloadavg()
    rows, failed = measured(chosen.only or list(MEASURES), QUICK if chosen.quick else FULL)
    table.printed(rows, before)
    print("load before and after, of one minute:", f"{load[0]:.1f}, {os.getloadavg()[0]:.1f}")
    if chosen.json:
        table.written(chosen.json, table.report(rows, load, quick=chosen.quick))
    if failed:
        print("failed:", ", ".join(failed), file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
