"""The mark by which the processes of a guarded system are known from outside: the path of its private
directory.

What is a fork of the guardian has a file of that directory in its map of memory, whatever it closes and
however it is renamed; what was started by a program has the path in its environment. The law: a mark is only
read from processes of this user that see the same process numbers, and says nothing of what was started with
an environment of its own. This module must not know Thespian or actors.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import re
from pathlib import Path

import attrs

from gen_agent.actors.processes import ProcessId
from gen_agent.actors.system_files import DIRECTORY_VARIABLE, SystemPlace

_MAPPED = re.compile(rb"(/[^\n]*/system-\d+-\d+-\d+)/owner-(\d+)-(\d+)(?: \(deleted\))?$", re.MULTILINE)
_FAILED = ctypes.c_void_p(-1).value


@attrs.frozen
class Mark:
    """Which system a process belongs to, and, as far as its mark says so, who owns that system."""

    place: SystemPlace
    owner: ProcessId | None


def put_mark(directory: Path, owner: ProcessId | None) -> None:
    """Mark the calling process, all its forks, and all programs they start with their own environment.

    For the guardian, before it forks. Nothing is held open; it can't be undone, also by removing the files.
    """
    pid, start_time = (0, 0) if owner is None else (owner.pid, owner.start_time)
    path = directory / f"owner-{pid}-{start_time}"
    path.touch(mode=0o600)
    _map(path)
    os.environ[DIRECTORY_VARIABLE] = str(directory)


def _map(path: Path) -> None:
    # The standard library's mapping owns a descriptor, which forks would close behind its back.
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [
        ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long
    ]  # fmt: skip
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        found = libc.mmap(None, mmap.PAGESIZE, mmap.PROT_READ, mmap.MAP_PRIVATE, descriptor, 0)
        if found == _FAILED:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code), str(path))
    finally:
        os.close(descriptor)


def read_mark(pid: int) -> Mark | None:
    """The mark of a process; None if it has none, is gone, is another user's or lives in a container."""
    try:
        if not _is_here(pid):
            return None
        return _mapped(pid) or _in_environment(pid)
    except OSError:
        return None  # gone meanwhile, or what it is may not be seen


def _is_here(pid: int) -> bool:
    """Whether a process is this user's and its numbers of processes are ours."""
    same = os.readlink(f"/proc/{pid}/ns/pid") == os.readlink("/proc/self/ns/pid")
    return same and os.stat(f"/proc/{pid}").st_uid == os.getuid()


def _mapped(pid: int) -> Mark | None:
    found = _MAPPED.search(Path(f"/proc/{pid}/maps").read_bytes())
    place = None if found is None else SystemPlace.of(os.fsdecode(found[1]))
    if found is None or place is None:
        return None
    owner = ProcessId(int(found[2]), int(found[3]))
    return Mark(place, owner if owner.pid else None)


def _in_environment(pid: int) -> Mark | None:
    prefix = f"{DIRECTORY_VARIABLE}=".encode()
    for entry in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
        if entry.startswith(prefix):
            place = SystemPlace.of(os.fsdecode(entry[len(prefix) :]))
            return None if place is None else Mark(place, None)
    return None
