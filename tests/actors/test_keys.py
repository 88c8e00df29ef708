"""Key files: private, complete, and clear about what is wrong with them."""

from __future__ import annotations

import os
import resource
import threading
from pathlib import Path
from typing import Any

import pytest

from gen_agent.actors import keys


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A runtime directory of its own for a test."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.delenv(keys.KEY_FILE_VARIABLE, raising=False)
    return tmp_path / "gen_agent"


def test_write_and_read(place: Path) -> None:
    """What was written is read again, from a 0600 file in a 0700 directory, and nothing else lies there."""
    key = keys.write_key(1234)
    assert keys.read_key(1234) == key
    assert len(key) == keys.KEY_BYTES
    assert place.stat().st_mode & 0o777 == 0o700
    assert keys.key_path(1234).stat().st_mode & 0o777 == 0o600
    assert os.listdir(place) == ["1234.key"]


def test_writing_again_replaces() -> None:
    """The file a dead system left is replaced; a given key is kept as it is."""
    old = keys.write_key(1)
    assert keys.write_key(1) != old
    assert keys.write_key(1, bytes(20)) == bytes(20)
    assert keys.read_key(1) == bytes(20)


def test_removing() -> None:
    """A removed key is gone; removing none is no error."""
    keys.write_key(1)
    keys.remove_key(1)
    keys.remove_key(1)
    with pytest.raises(FileNotFoundError, match=r"1\.key.*port 1"):
        keys.read_key(1)


def test_named_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file named by argument goes before one named by the environment, and that before the directory."""
    for name, byte in (("argument", 1), ("variable", 2)):
        (tmp_path / name).write_text((bytes([byte]) * 32).hex())
        (tmp_path / name).chmod(0o600)
    keys.write_key(7)
    monkeypatch.setenv(keys.KEY_FILE_VARIABLE, str(tmp_path / "variable"))
    assert keys.read_key(7) == bytes([2]) * 32
    assert keys.shared_key(7) == bytes([2]) * 32
    assert keys.read_key(7, tmp_path / "argument") == bytes([1]) * 32


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620])
def test_files_others_can_touch(mode: int) -> None:
    """A key file that others can read or write is refused, with what to do about it."""
    keys.write_key(1)
    keys.key_path(1).chmod(mode)
    with pytest.raises(PermissionError, match="chmod 600"):
        keys.read_key(1)


@pytest.mark.parametrize("text", ["", "hello", "abcd", "00" * 65])
def test_files_without_a_key(text: str) -> None:
    """A file that holds no key is named, and what is expected said; its contents are not shown."""
    keys.write_key(1)
    keys.key_path(1).write_text(text)
    with pytest.raises(ValueError, match=r"1\.key holds no key"):
        keys.read_key(1)


def test_a_link_is_no_key_file(tmp_path: Path) -> None:
    """A symbolic link in place of a key file is not followed."""
    keys.write_key(1)
    keys.key_path(2).symlink_to(keys.key_path(1))
    with pytest.raises(OSError, match="symbolic link"):
        keys.read_key(2)


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_what_is_no_file_is_no_key_file(tmp_path: Path, make: Any) -> None:
    """A directory or a pipe in place of a key file is named at once, and no descriptor stays open."""
    make(tmp_path / "odd", 0o600)
    before = os.listdir("/proc/self/fd")
    with pytest.raises(PermissionError, match="odd is not what belongs there"):
        keys.read_key(2, tmp_path / "odd")
    assert os.listdir("/proc/self/fd") == before


def test_a_key_that_can_not_be_put_there_leaves_nothing() -> None:
    """A key file that can't be replaced is the same afterwards, and no draft with a key stays beside it."""
    keys.key_path(1).mkdir()
    with pytest.raises(OSError, match="directory"):
        keys.write_key(1)
    assert [*keys.runtime_dir().iterdir()] == [keys.key_path(1)]


@pytest.mark.parametrize("write", [keys.write_key, keys.shared_key])
def test_a_key_without_room_leaves_nothing(write: Any) -> None:
    """Where no file can be written any more the error is told, and no empty draft stays."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        with pytest.raises(OSError, match="too large"):
            write(1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [*keys.runtime_dir().iterdir()] == []


def test_a_foreign_directory(place: Path) -> None:
    """A runtime directory that is a link is refused; one of ours that is open to others is closed."""
    place.symlink_to("/etc")
    with pytest.raises(PermissionError, match="remove it"):
        keys.runtime_dir()
    place.unlink()
    place.mkdir(mode=0o755)
    keys.runtime_dir()
    assert place.stat().st_mode & 0o777 == 0o700


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a directory away")
def test_another_users_directory(place: Path) -> None:
    """A runtime directory of another user is refused, whatever its mode."""
    place.mkdir(mode=0o700)
    os.chown(place, 12345, -1)
    with pytest.raises(PermissionError, match="user 12345"):
        keys.runtime_dir()


def test_without_a_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a runtime directory of the session, one per user among the temporary files serves."""
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    monkeypatch.setattr(keys.tempfile, "tempdir", str(tmp_path))
    assert keys.runtime_dir() == tmp_path / f"gen_agent-{os.getuid()}"


def test_many_starters_one_key(place: Path) -> None:
    """Of starters that come at once, all get the same key, and no draft is left."""
    got: list[bytes] = []
    gate = threading.Barrier(8)

    def start() -> None:
        gate.wait()
        got.append(keys.shared_key(5))

    threads = [threading.Thread(target=start) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 8
    assert set(got) == {keys.read_key(5)}
    assert os.listdir(place) == ["5.key"]
