"""Where the key of an actor system lives: one 0600 file per admin port in a 0700 directory of the user's.

The law: nobody but the user can read or replace a key, and a key is never part of a command line, an
environment variable or a message. A file or directory that breaks this is refused, never repaired behind the
user's back, except that a directory of the user's own is closed to others. This module must not know
Thespian, actors or sockets.
"""

from __future__ import annotations

import os
import secrets
import stat
import tempfile
from pathlib import Path

KEY_FILE_VARIABLE = "GEN_AGENT_KEY_FILE"
"""The environment variable that names a key file to use instead of the one in the runtime directory."""

KEY_BYTES = 32
"""The length of the keys made here; other lengths from 16 to 64 bytes are accepted when read."""

_SHORTEST, _LONGEST = 16, 64


def runtime_dir() -> Path:
    """The user's private directory for key files, made if it is missing.

    `$XDG_RUNTIME_DIR/gen_agent`, or `gen_agent-<uid>` in the directory for temporary files. Raises
    `PermissionError` if the place is not a directory of this user's: whoever owns it could replace the keys.
    """
    base = os.environ.get("XDG_RUNTIME_DIR")
    path = Path(base) / "gen_agent" if base else Path(tempfile.gettempdir()) / f"gen_agent-{os.getuid()}"
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        _check_owner(path, os.lstat(path), stat.S_ISDIR)
        path.chmod(0o700)
    return path


def key_path(port: int) -> Path:
    """The key file of the system whose admin listens on `port`; the file need not exist."""
    return runtime_dir() / f"{port}.key"


def new_key() -> bytes:
    """A fresh random key."""
    return secrets.token_bytes(KEY_BYTES)


def write_key(port: int, key: bytes | None = None) -> bytes:
    """Put `key` (a fresh one if None) into the key file of `port` and return it.

    The file appears complete or not at all, and replaces the one a dead system left there.
    """
    key = new_key() if key is None else checked_key(key)
    path = key_path(port)
    draft = path.with_name(f".{port}.{os.getpid()}.{secrets.token_hex(4)}")
    _write_new(draft, key)
    try:
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)
    return key


def read_key(port: int, path: str | os.PathLike[str] | None = None) -> bytes:
    """The key of the system on `port`: from `path`, else `$GEN_AGENT_KEY_FILE`, else the runtime directory.

    Raises `FileNotFoundError` naming the file and what to do, `PermissionError` if others can read or own it
    or it is another kind of file, and `ValueError` if it holds no key.
    """
    given = path or os.environ.get(KEY_FILE_VARIABLE)
    file = Path(given) if given else key_path(port)
    try:
        # A pipe would be waited for.
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        raise FileNotFoundError(
            f"no key file {file} for the system on port {port}: is that system running, and is it yours? "
            f"Another key file is named by {KEY_FILE_VARIABLE}"
        ) from None
    try:
        _check_owner(file, os.fstat(descriptor), stat.S_ISREG)
        return _parse(file, os.read(descriptor, 4 * _LONGEST))
    finally:
        os.close(descriptor)


def shared_key(port: int) -> bytes:
    """The key that all processes of this user agree on for `port`: read where there is one, else made now.

    For systems nobody owns. Of several processes that come at once, one makes the file and all get its key.
    """
    if os.environ.get(KEY_FILE_VARIABLE):
        return read_key(port)
    draft = runtime_dir() / f".{port}.{os.getpid()}.{secrets.token_hex(4)}"
    try:
        return read_key(port)
    except FileNotFoundError:
        _write_new(draft, new_key())
    try:
        os.link(draft, key_path(port))
    except FileExistsError:
        return read_key(port)
    finally:
        draft.unlink()
    return read_key(port)


def remove_key(port: int) -> None:
    """Remove the key file of `port`, if there is one."""
    key_path(port).unlink(missing_ok=True)


def checked_key(key: bytes) -> bytes:
    """Return `key`, or raise `ValueError`: a key has 16 to 64 bytes."""
    if not _SHORTEST <= len(key) <= _LONGEST:
        raise ValueError(f"key: {_SHORTEST} to {_LONGEST} bytes are allowed, not {len(key)}")
    return key


def _write_new(path: Path, key: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(key.hex().encode() + b"\n")
    except BaseException:
        path.unlink()
        raise


def _parse(path: Path, text: bytes) -> bytes:
    try:
        return checked_key(bytes.fromhex(text.decode("ascii").strip()))
    except ValueError:
        raise ValueError(
            f"{path} holds no key: one line of 32 to 128 hexadecimal digits is expected"
        ) from None


def _check_owner(path: Path, status: os.stat_result, kind: object) -> None:
    if not callable(kind) or not kind(status.st_mode):
        raise PermissionError(
            f"{path} is not what belongs there (a link, or another kind of file); remove it"
        )
    if status.st_uid != os.getuid():
        raise PermissionError(
            f"{path} belongs to user {status.st_uid}, not to you; its owner could read your messages"
        )
    if stat.S_ISREG(status.st_mode) and status.st_mode & 0o077:
        raise PermissionError(f"{path} can be read or written by others; make it private: chmod 600 {path}")
