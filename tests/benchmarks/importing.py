"""What importing the package takes beyond attrs, each time in a fresh interpreter."""

from __future__ import annotations

import subprocess
import sys

from tests.benchmarks.measuring import Measure, Row, Scale, at_most, by_turns

PROGRAM = """
import attrs, sys, time
began = time.perf_counter()
import {modules}
spent = 1e3 * (time.perf_counter() - began)
unwanted = {{"cattrs", "openai", "anthropic", {unwanted}}} & set(sys.modules)
assert not unwanted, unwanted
print(spent)
"""


def taken(modules: str, *unwanted: str) -> float:
    """Milliseconds to import `modules` once attrs is there; raises if that loads something unwanted."""
    program = PROGRAM.format(modules=modules, unwanted=", ".join(map(repr, unwanted)))
    command = [sys.executable, "-c", program]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def imports(scale: Scale) -> list[Row]:
    """The package alone, and everything a script uses against Thespian alone."""
    rounds = 2 * scale.rounds + 1
    package, script, thespian = by_turns(
        rounds,
        lambda: taken("gen_agent", "thespian"),
        lambda: taken("gen_agent.actors.system"),
        lambda: taken("thespian.actors, thespian.system.multiprocTCPBase"),
    )
    return [
        Row("import gen_agent", "ms", None, package, at_most(60.0, "ours")),
        Row("import gen_agent and Thespian", "ms", thespian, script, at_most(60.0, "difference")),
    ]


MEASURES: dict[str, Measure] = {"import": imports}
