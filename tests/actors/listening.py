"""Which sockets the processes of a test listen on, as the kernel tells it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable

import attrs


@attrs.frozen
class Listening:
    """A listening socket: the address as the kernel writes it, the port, and the processes that hold it."""

    address: str
    port: int
    holders: frozenset[int]


def _inodes(pid: int) -> set[str]:
    found: set[str] = set()
    with contextlib.suppress(OSError):  # the process may end while it is looked at
        for name in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                found.add(os.readlink(f"/proc/{pid}/fd/{name}").removeprefix("socket:[").removesuffix("]"))
    return found


def listening(pids: Iterable[int]) -> list[Listening]:
    """The listening TCP sockets, of IPv4 and IPv6, that any of these processes hold."""
    held = {pid: _inodes(pid) for pid in pids}
    found: list[Listening] = []
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with open(table) as file:
            rows = [line.split() for line in file.readlines()[1:]]
        for row in rows:
            holders = frozenset(pid for pid, inodes in held.items() if row[9] in inodes)
            if row[3] == "0A" and holders:
                address, port = row[1].split(":")
                found.append(Listening(address, int(port, 16), holders))
    return found
