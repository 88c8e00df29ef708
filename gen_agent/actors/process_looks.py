"""What processes look like to a person: name, state, and the ports they listen on.

The law: nothing is decided by it. Read from `/proc`; what is gone or another user's shows as little as the
kernel tells. This module must not know Thespian or actors.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from gen_agent.actors.processes import ProcessId

_LISTENING = "0A"
_STATES = {"T": "stopped", "t": "traced", "Z": "zombie", "D": "hangs in the kernel"}


def name_of(process: ProcessId) -> str:
    """The title of a process, at most 15 characters of it; "" for one that is gone."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{process.pid}/comm").read_text(errors="replace").strip()
    return ""


def state_of(process: ProcessId) -> str:
    """Whether it runs, is stopped, is a zombie, or is gone."""
    with contextlib.suppress(OSError):
        letter = Path(f"/proc/{process.pid}/stat").read_bytes().rpartition(b")")[2].split()[0].decode()
        return _STATES.get(letter, "runs")
    return "gone"


def open_targets(pid: int) -> frozenset[str]:
    """What the descriptors of a process lead to; nothing for one that is gone or another user's."""
    found = set()
    with contextlib.suppress(FileNotFoundError, ProcessLookupError, PermissionError):
        for name in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(FileNotFoundError):
                found.add(os.readlink(f"/proc/{pid}/fd/{name}"))
    return frozenset(found)


def _listeners() -> Iterator[tuple[str, int]]:
    """Every listening TCP socket of this machine: what its descriptor leads to, and its port."""
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with contextlib.suppress(FileNotFoundError), open(table) as file:
            rows = [line.split() for line in file]
            listening = [row for row in rows if row[3] == _LISTENING]
            yield from ((f"socket:[{row[9]}]", int(row[1].rpartition(":")[2], 16)) for row in listening)


def ports_behind(targets: frozenset[str]) -> frozenset[int]:
    """The TCP ports on which any of these sockets listens, given what descriptors lead to."""
    # The table of all sockets takes the kernel long, and is only needed if there is one.
    if not any(target.startswith("socket:") for target in targets):
        return frozenset()
    return frozenset(port for target, port in _listeners() if target in targets)


def listening_ports(*pids: int) -> frozenset[int]:
    """The TCP ports on which any of these processes listens."""
    return ports_behind(frozenset[str]().union(*map(open_targets, pids)))
