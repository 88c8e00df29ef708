"""What a running system has on disk: its key file, and a private directory of its own.

The law: the files of a system bear the identity of its guardian, are removed by it, and if it was killed, by
the next guardian of the same user; nobody removes what a living system uses. This module must not know
Thespian or actors.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from pathlib import Path

from gen_agent.actors.keys import key_path, runtime_dir, write_key
from gen_agent.actors.processes import ProcessId

_NAME = re.compile(r"system-(\d+)-(\d+)-(\d+)")
_KEY = "key"


class SystemFiles:
    """The key file of `port`, for others to join, and `directory` (0700), made by and for the calling
    process."""

    def __init__(self, port: int, key: bytes) -> None:
        sweep()
        me = ProcessId.of(os.getpid())
        write_key(port, key)
        self.directory = runtime_dir() / f"system-{port}-{me.pid}-{me.start_time}"
        self.directory.mkdir(mode=0o700)
        # A second name for the key file tells it from the one of a later system on the same port.
        os.link(key_path(port), self.directory / _KEY)

    def remove(self) -> None:
        """Remove both; harmless when done twice."""
        _dismantle(self.directory)


def sweep() -> None:
    """Remove what guardians left that were killed."""
    for path in runtime_dir().iterdir():
        named = _NAME.fullmatch(path.name)
        if named and not ProcessId(int(named[2]), int(named[3])).alive():
            _dismantle(path)


def _dismantle(directory: Path) -> None:
    named = _NAME.fullmatch(directory.name)
    if named is None:
        raise ValueError(f"not the directory of a system: {directory.name}")
    key = key_path(int(named[1]))
    # Another guardian may sweep the same remains at the same time.
    with contextlib.suppress(FileNotFoundError):
        if os.path.samefile(key, directory / _KEY):
            key.unlink()
    shutil.rmtree(directory, ignore_errors=True)
