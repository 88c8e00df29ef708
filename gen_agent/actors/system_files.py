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
import time
from collections.abc import Collection
from pathlib import Path

import attrs

from gen_agent.actors.keys import key_path, runtime_dir, write_key
from gen_agent.actors.processes import ProcessId

DIRECTORY_VARIABLE = "GEN_AGENT_SYSTEM_DIR"
"""The environment variable by which a system's processes find its private directory."""

_NAME = re.compile(r"system-(\d+)-(\d+)-(\d+)")
_DRAFT = re.compile(r"\.\d+\.\d+\.[0-9a-f]+")
_DRAFT_S = 60.0
_KEY = "key"
_HOST = "host"
_NUMBERING = "numbering"


@attrs.frozen
class SystemPlace:
    """A system's private directory, and what its name says: the admin port, and who the guardian is."""

    directory: Path
    port: int
    guardian: ProcessId

    @classmethod
    def of(cls, directory: str | os.PathLike[str]) -> SystemPlace | None:
        """What a directory's name says, None if it is not the name of a system's; nothing is looked up."""
        path = Path(directory)
        named = _NAME.fullmatch(path.name)
        return None if named is None else cls(path, int(named[1]), ProcessId(int(named[2]), int(named[3])))

    @property
    def key_file(self) -> Path:
        """A second name of the key file, which tells it from the one of a later system on the same port."""
        return self.directory / _KEY

    def is_stale(self) -> bool:
        """Whether its guardian is known to be dead: a container that shares the runtime directory has
        processes whose numbers say nothing here.
        """
        try:
            noted = (self.directory / _NUMBERING).read_text()
        except FileNotFoundError:
            noted = _numbering()  # being removed by another sweep, or of a guardian killed as it began
        return noted == _numbering() and not self.guardian.alive()

    def host(self) -> str:
        """The address the system's processes listen on; raises `OSError` where the directory is gone."""
        return (self.directory / _HOST).read_text()


class SystemFiles:
    """The key file of `port`, for others to join, and `directory` (0700), made by and for the calling
    process, in which `host` is noted."""

    def __init__(self, host: str, port: int, key: bytes) -> None:
        sweep()
        me = ProcessId.of(os.getpid())
        write_key(port, key)
        self.directory = runtime_dir() / f"system-{port}-{me.pid}-{me.start_time}"
        self.directory.mkdir(mode=0o700)
        (self.directory / _NUMBERING).write_text(_numbering())
        os.link(key_path(port), self.directory / _KEY)
        (self.directory / _HOST).write_text(host)

    def remove(self) -> None:
        """Remove both; harmless when done twice."""
        _dismantle(self.directory)


def _numbering() -> str:
    """In whose eyes processes have the numbers we know them by."""
    return os.readlink("/proc/self/ns/pid")


def _places(port: int | None) -> tuple[SystemPlace, ...]:
    places = filter(None, map(SystemPlace.of, runtime_dir().iterdir()))
    return tuple(place for place in places if port is None or place.port == port)


def _stale_places(port: int | None) -> tuple[SystemPlace, ...]:
    return tuple(place for place in _places(port) if place.is_stale())


def sweep(port: int | None = None) -> None:
    """Remove what guardians left that were killed, of any port or of one."""
    for place in _stale_places(port):
        _dismantle(place.directory)


def stale_files(port: int | None = None, doomed: Collection[ProcessId] = ()) -> tuple[Path, ...]:
    """What `sweep` would remove, if the guardians in `doomed` were dead, too."""
    places = [place for place in _places(port) if place.guardian in doomed or place.is_stale()]
    keys = (key_path(place.port) for place in places if _has_key(place))
    return tuple(sorted({*(place.directory for place in places), *keys}))


def stale_drafts(port: int | None = None) -> tuple[Path, ...]:
    """Key files whose writing was broken off long ago."""
    before = time.time() - _DRAFT_S
    drafts = runtime_dir().glob(".*" if port is None else f".{port}.*")
    return tuple(sorted(path for path in drafts if _DRAFT.fullmatch(path.name) and _is_older(path, before)))


def lone_keys(port: int | None = None) -> tuple[Path, ...]:
    """Key files of no system with a guardian, living or killed: those of systems that nobody owns, and those
    that were put there by hand.
    """
    owned = {key_path(place.port) for place in _places(port) if _has_key(place)}
    return tuple(sorted(set(runtime_dir().glob("*.key" if port is None else f"{port}.key")) - owned))


def _is_older(path: Path, before: float) -> bool:
    try:
        return path.lstat().st_mtime < before
    except FileNotFoundError:
        return False


def _has_key(place: SystemPlace) -> bool:
    try:
        return os.path.samefile(key_path(place.port), place.key_file)
    except FileNotFoundError:
        return False


def _dismantle(directory: Path) -> None:
    place = SystemPlace.of(directory)
    if place is None:
        raise ValueError(f"not the directory of a system: {directory.name}")
    # Another guardian may sweep the same remains at the same time.
    with contextlib.suppress(FileNotFoundError):
        if _has_key(place):
            key_path(place.port).unlink()
    shutil.rmtree(directory, ignore_errors=True)
