"""No test leaves anything behind: processes, zombies, listening ports, descriptors, key files.

The law: what was there before a test is not looked at, what is new after it must go by itself within a
bounded time, and what does not is killed by its identity and named. Nothing is found by its command line,
which processes change. As the test process becomes a subreaper, also what a dead system leaves comes home and
is seen. Load the fixture with ``from gen_agent.testing.leaks import no_leftovers, private_runtime_dir`` in a
``conftest.py``. Linux only.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest

from gen_agent.actors.keys import runtime_dir
from gen_agent.actors.process_looks import listening_ports, name_of, open_targets, ports_behind
from gen_agent.actors.processes import ProcessId, Watched, become_subreaper, children, descendants

__all__ = [
    "NOTHING",
    "PATIENCE_S",
    "Snapshot",
    "leftovers",
    "listening_ports",
    "no_leftovers",
    "private_runtime_dir",
]

PATIENCE_S = 2.0
"""How long what a test started may take to end by itself after the test, in seconds."""

_LOOK_AGAIN_S = 0.02


def _descriptors() -> frozenset[tuple[int, str]]:
    found = set()
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):
            found.add((int(name), os.readlink(f"/proc/self/fd/{name}")))
    # The listing itself had a descriptor, which is closed again.
    return frozenset(one for one in found if not one[1].endswith(f"/proc/{os.getpid()}/fd"))


def _key_files() -> frozenset[str]:
    return frozenset(str(path) for path in runtime_dir().iterdir())


def _session(pid: int) -> int:
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return 0


def _reap_adopted() -> None:
    """Take the zombies that are no child this process made: only we can reap what a dead system left."""
    for child in children(os.getpid()):
        if not child.alive() and _session(child.pid) != os.getsid(0):
            with contextlib.suppress(ChildProcessError):
                os.waitpid(child.pid, os.WNOHANG)


def _own_processes() -> frozenset[ProcessId]:
    """Everything below this process, and its zombies."""
    mine = os.getpid()
    return frozenset((*children(mine), *descendants(mine)))


@attrs.frozen
class Snapshot:
    """What there is below and in this process at one moment."""

    processes: frozenset[ProcessId]
    descriptors: frozenset[tuple[int, str]]
    files: frozenset[str]

    @classmethod
    def take(cls) -> Snapshot:
        """Look now."""
        _reap_adopted()
        return cls(_own_processes(), _descriptors(), _key_files())

    def new_in(self, later: Snapshot) -> Snapshot:
        """What is there `later` and was not in this one."""
        return Snapshot(
            later.processes - self.processes,
            later.descriptors - self.descriptors,
            later.files - self.files,
        )

    def named(self) -> tuple[str, ...]:
        """One line for everything in it."""
        processes = sorted(self.processes, key=lambda one: one.pid)
        return (
            *(f"process {one.pid} ({_state(one)})" for one in processes),
            *(f"listening port {port}" for port in sorted(self._ports())),
            *(f"descriptor {fd} ({target})" for fd, target in sorted(self.descriptors)),
            *(f"file {path}" for path in sorted(self.files)),
        )

    def _ports(self) -> frozenset[int]:
        mine = frozenset(target for _, target in self.descriptors)
        return ports_behind(mine.union(*(open_targets(one.pid) for one in self.processes)))


NOTHING = Snapshot(frozenset(), frozenset(), frozenset())
"""The snapshot with nothing in it."""


def _state(process: ProcessId) -> str:
    return (name_of(process) or "gone since") if process.alive() else "zombie"


def _await_one_end(processes: frozenset[ProcessId], timeout_s: float) -> None:
    for process in processes:
        if process.alive():
            with contextlib.suppress(ProcessLookupError), Watched(process) as watched:
                watched.wait(timeout_s)
            return
    time.sleep(timeout_s)


def leftovers(before: Snapshot, patience_s: float = PATIENCE_S) -> tuple[str, ...]:
    """What is new since `before` and did not go within `patience_s`, one line each; () is what a test should
    leave.

    Waits only while there is something. The processes named are killed and reaped before it returns.
    """
    end = time.monotonic() + patience_s
    new = before.new_in(Snapshot.take())
    while new != NOTHING:
        left_s = end - time.monotonic()
        if left_s <= 0:
            break
        gc.collect()
        _await_one_end(new.processes, min(_LOOK_AGAIN_S, left_s))
        new = before.new_in(Snapshot.take())
    named = new.named()
    _end(new.processes)
    return named


def _end(processes: frozenset[ProcessId]) -> None:
    for process in processes:
        with contextlib.suppress(ProcessLookupError), Watched(process) as watched:
            watched.signal(signal.SIGKILL)
            watched.wait(PATIENCE_S)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(process.pid, os.WNOHANG)


@pytest.fixture(scope="session")
def private_runtime_dir() -> Iterator[Path]:
    """A directory for key files that no other run of tests shares, set for this process and all it starts."""
    with (
        tempfile.TemporaryDirectory(prefix="gen_agent-tests-") as directory,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("XDG_RUNTIME_DIR", directory)
        yield Path(directory)


@pytest.fixture
def no_leftovers(private_runtime_dir: Path) -> Iterator[None]:
    """Fail a test that leaves anything behind, naming it; what it left is killed, so that the next test is
    clean."""
    become_subreaper()
    before = Snapshot.take()
    yield
    named = leftovers(before)
    if named:
        pytest.fail("left behind: " + "; ".join(named), pytrace=False)
