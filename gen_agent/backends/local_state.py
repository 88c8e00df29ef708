"""Where a shared model server says that it runs: a file per server in the directory of its actor system.

Law: what is alive holds a lock, so nobody has to trust a pid or clear up after a crash. The directory is
private to the user (0700) and so is the file (0600), which holds the server's key.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from typing import Any

import attrs


@attrs.frozen
class ServerFiles:
    """The files of one server: `state`, `alive` (locked for its life) and `starting` (locked while one
    loads).
    """

    stem: str

    @classmethod
    def of(cls, directory: str, spec: str) -> ServerFiles:
        """The files of the server for `spec`, which stands for model and settings."""
        digest = hashlib.blake2b(spec.encode(), digest_size=8).hexdigest()
        return cls(os.path.join(directory, f"model-{digest}"))

    def read(self) -> dict[str, Any] | None:
        """What the running server wrote; None where none runs."""
        if not self.alive():
            return None
        with open(f"{self.stem}.state", encoding="utf-8") as file:
            said: dict[str, Any] = json.load(file)
        return said

    def alive(self) -> bool:
        """Whether a server holds its lock."""
        try:
            file = os.open(f"{self.stem}.alive", os.O_RDONLY)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(file)
        return False

    @contextlib.contextmanager
    def starting(self) -> Iterator[None]:
        """Wait until nobody else loads this model, and load alone."""
        file = os.open(f"{self.stem}.starting", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
        finally:
            os.close(file)

    def announce(self, said: dict[str, Any]) -> int:
        """Write `said` and take the lock that says so; it is held by the returned descriptor, until the
        process ends.
        """
        with open(f"{self.stem}.new", "w", encoding="utf-8", opener=_private) as file:
            json.dump(said, file)
        os.replace(f"{self.stem}.new", f"{self.stem}.state")
        lock = os.open(f"{self.stem}.alive", os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        return lock


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
