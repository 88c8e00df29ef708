"""What gen_agent needs of the machine it runs on, and whether it is there.

Nothing is changed but that the runtime directory is made. This module must not know click.
"""

from __future__ import annotations

import os
import platform
import re
import resource
import sys
from collections.abc import Callable, Iterator
from importlib import metadata

import attrs

from gen_agent.actors.keys import runtime_dir
from gen_agent.actors.processes import require_linux
from gen_agent.cli.failure import failure_line

FEWEST_DESCRIPTORS = 1_024
"""Fewer open files than this are too few for a system of some agents."""

_NOT_FOR_USERS = ("test",)
_NAME = re.compile(r"[A-Za-z0-9._-]+")
_EXTRA = re.compile(r"extra\s*==\s*['\"]([^'\"]+)['\"]")


@attrs.frozen
class Check:
    """One thing that was looked at: what was found, and whether gen_agent can work with it."""

    what: str
    found: str
    fine: bool = True


def checks() -> tuple[Check, ...]:
    """Everything there is to check, in the order of its importance."""
    return (_kernel(), _python(), _thespian(), _descriptors(), _runtime_dir(), *_extras())


def _tried(what: str, look: Callable[[], str]) -> Check:
    try:
        return Check(what, look())
    except (OSError, RuntimeError) as error:
        return Check(what, failure_line(error), fine=False)


def _kernel() -> Check:
    def look() -> str:
        require_linux()
        return f"{platform.system()} {platform.release()}, processes can be watched and killed for certain"

    return _tried("system", look)


def _python() -> Check:
    found = f"{platform.python_implementation()} {platform.python_version()}"
    fine = sys.version_info >= (3, 10) and sys.implementation.name == "cpython"
    return Check("python", found if fine else f"{found}, CPython 3.10 or newer is needed", fine)


def _thespian() -> Check:
    found = metadata.version("thespian")
    numbers = tuple(int(part) for part in re.findall(r"\d+", found)[:3])
    fine = (4, 0, 1) <= numbers < (5,)
    return Check("thespian", found if fine else f"{found}, thespian>=4.0.1,<5 is needed", fine)


def _descriptors() -> Check:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    fine = hard == resource.RLIM_INFINITY or hard >= FEWEST_DESCRIPTORS
    found = f"{_limit(soft)} now, a system raises it up to {_limit(hard)}"
    return Check("open files", found if fine else f"{found}: too few, raise it (ulimit -Hn)", fine)


def _limit(number: int) -> str:
    return "no limit" if number == resource.RLIM_INFINITY else str(number)


def _runtime_dir() -> Check:
    def look() -> str:
        path = runtime_dir()
        if not os.access(path, os.W_OK | os.X_OK):
            raise PermissionError(f"{path} can't be written to")
        return f"{path}, yours alone"

    return _tried("runtime directory", look)


def _extras() -> Iterator[Check]:
    for extra, needed in _needs().items():
        missing = [name for name in needed if not _version(name)]
        if missing:
            found = f"{', '.join(missing)} not installed: pip install 'gen_agent[{extra}]'"
        else:
            found = ", ".join(f"{name} {_version(name)}" for name in needed)
        yield Check(f"extra {extra}", found)


def _needs() -> dict[str, list[str]]:
    """What each extra for users installs; empty where the package is not installed itself."""
    found: dict[str, list[str]] = {}
    try:
        requirements = metadata.requires("gen_agent") or []
    except metadata.PackageNotFoundError:
        return found
    for requirement in requirements:
        name, extra = _NAME.match(requirement), _EXTRA.search(requirement)
        if name and extra and extra[1] not in _NOT_FOR_USERS:
            found.setdefault(extra[1], []).append(name[0])
    return found


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""
