"""One-line breakages of the product, each with tests that must notice.

    python -m tests.breakages [words of a breakage's rule ...]

Each breakage is applied to a copy of the repository, and the tests it names are run there; the run fails
if they still pass, or if the line to break is no longer found exactly once. So what guards a rule can fail.
"""

from __future__ import annotations

import pathlib
import shutil
import subprocess
import sys
import tempfile

from tests.actors.transport_breakages import BREAKAGES as TRANSPORT
from tests.breakage import Breakage
from tests.breakages_contract import BREAKAGES as CONTRACT
from tests.breakages_core import BREAKAGES as CORE
from tests.breakages_outside import BREAKAGES as OUTSIDE
from tests.network.breakages import BREAKAGES as NETWORK

ROOT = pathlib.Path(__file__).resolve().parent.parent
COPIED = ("gen_agent", "tests", "examples", "setup.cfg", "setup.py", "tox.ini", "README.rst", "LICENSE")


BREAKAGES: tuple[Breakage, ...] = (*CORE, *CONTRACT, *OUTSIDE, *TRANSPORT, *NETWORK)


def misfit(breakage: Breakage, root: pathlib.Path) -> str | None:
    """What is wrong with the breakage itself, or None."""
    path = root / breakage.file
    if not path.exists():
        return f"there is no {breakage.file}"
    times = path.read_text().count(breakage.old)
    return None if times == 1 else f"the line to break stands {times} times in {breakage.file}"


def survivors(breakage: Breakage, root: pathlib.Path) -> list[str]:
    """The named tests that pass although the product is broken."""
    still: list[str] = []
    for test in breakage.tests:
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", test]
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=300, check=False)
        if done.returncode != 1:
            still.append(f"{test} (pytest ended with {done.returncode})")
    return still


def verdict(breakage: Breakage) -> str | None:
    """None if the breakage is noticed, else what went wrong."""
    with tempfile.TemporaryDirectory(prefix="breakage-") as folder:
        root = pathlib.Path(folder)
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, root / name, ignore=shutil.ignore_patterns("__pycache__", ".*"))
            elif source.exists():
                shutil.copy(source, root / name)
        wrong = misfit(breakage, root)
        if wrong is not None:
            return wrong
        broken = root / breakage.file
        broken.write_text(broken.read_text().replace(breakage.old, breakage.new))
        still = survivors(breakage, root)
        return f"not noticed by {', '.join(still)}" if still else None


def main(words: list[str]) -> int:
    """Try every breakage whose rule contains one of `words`; return the exit status."""
    chosen = [one for one in BREAKAGES if not words or any(word in one.rule for word in words)]
    failed = 0
    for breakage in chosen:
        wrong = verdict(breakage)
        failed += wrong is not None
        print(f"{'FAILED' if wrong else 'noticed'}  {breakage.rule}  {wrong or ''}", flush=True)
    print(f"{len(chosen) - failed} passed, {failed} failed")
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
