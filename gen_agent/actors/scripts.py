"""A user's script in another process: its search path, its directory, and the classes it defines.

What people write first is one file that is run. Its classes are pickled as `__main__.X`, so whoever opens
them must have loaded that file, the way multiprocessing's spawn does it: under `__mp_main__`, with everything
below the `__main__` guard left out. This module must not know Thespian, actors or messages.
"""

from __future__ import annotations

import contextlib
import hashlib
import multiprocessing.spawn
import os
import pickle
import pickletools
import secrets
import sys
from collections.abc import Iterator
from typing import Any

from gen_agent.sealed import Sealed

_FILE_KEYS = ("init_main_from_name", "init_main_from_path")
_PLACE_KEYS = ("sys_path", "sys_argv", "dir", "orig_dir")
_MAINS = ("__main__", "__mp_main__")

_UNLOADABLE = (
    "{what} is defined in {where}: no other process can load it. Put the class in a module and import it"
)
_NO_FILE = "a program without a file (a prompt, a notebook cell, python -)"
_NO_GUARD = "the __main__ of a package, a directory or an archive, which always runs as a program"


class _Here:
    """What this process has loaded."""

    loading = False
    script: bytes | None = None
    main_loaded: bytes | None = None
    origin: tuple[int, str] = (0, "")


def loading() -> bool:
    """Whether a script is being loaded right now: what it does at its top level happens in an agent's
    process.
    """
    return _Here.loading


def preparation(*values: Any) -> bytes:
    """What another process needs to open `values` (classes, or `Sealed` ones) as this one does: bytes for
    `load`.

    Different for every run of a program and for every version of the classes' files. A process that has
    itself loaded a script passes that one on. Raises `ValueError` where a value is defined in a `__main__`
    that can't be loaded.
    """
    in_main = [value for value in values if _is_of_main(value)]
    if _Here.script is not None:
        data, needs_main = pickle.loads(_Here.script)
        return pickle.dumps((data, needs_main or bool(in_main)), 5)
    spawn = _spawn_data()
    if in_main and not _can_run(spawn):
        where = _NO_GUARD if "init_main_from_name" in spawn else _NO_FILE
        raise ValueError(_UNLOADABLE.format(what=_name_of(in_main[0]), where=where))
    data = {key: spawn[key] for key in (*_PLACE_KEYS, *_FILE_KEYS) if key in spawn}
    data["origin"] = (_origin(), [_modified(value) for value in values])
    return pickle.dumps((data, bool(in_main)), 5)


def digest(script: bytes | None) -> str:
    """A short name for what `script` loads; processes that share loaded modules are told apart by it."""
    return "" if script is None else hashlib.blake2b(script, digest_size=12).hexdigest()


def load(script: bytes | None) -> None:
    """Take over the search path and the directory and, if its classes are needed, run the script's file.

    Once per process and script; whatever the file raises comes out. Runs users' code.
    """
    if script is None or script == _Here.script:
        return
    data, needs_main = pickle.loads(script)
    multiprocessing.spawn.prepare({key: data[key] for key in _PLACE_KEYS if key in data})
    _Here.script = script
    if not needs_main:
        return
    try:
        load_main()
    except BaseException:
        # Whoever is forked from here must meet the same error, and not take the script for loaded.
        _Here.script = None
        raise


def load_main() -> None:
    """Run the file of the script that was loaded, if it has one and it was not run yet."""
    if _Here.script is None or _Here.script == _Here.main_loaded:
        return
    data = pickle.loads(_Here.script)[0]
    if _can_run(data):
        with _flagged():
            multiprocessing.spawn.prepare({key: data[key] for key in _FILE_KEYS if key in data})
    _Here.main_loaded = _Here.script


def opened(sealed: Sealed) -> Any:
    """Open a user's value; if it needs the script's own classes, the script's file is run first."""
    if _Here.script != _Here.main_loaded and _is_of_main(sealed):
        load_main()
    return sealed.open()


# ---------------------------------------------------------------- how


@contextlib.contextmanager
def _flagged() -> Iterator[None]:
    _Here.loading = True
    try:
        yield
    finally:
        _Here.loading = False


def _origin() -> tuple[int, str]:
    if _Here.origin[0] != os.getpid():
        _Here.origin = (os.getpid(), secrets.token_hex(8))
    return _Here.origin


def _spawn_data() -> dict[str, Any]:
    main = sys.modules["__main__"]
    path = getattr(main, "__file__", None)
    if getattr(main, "__spec__", None) is None and not (isinstance(path, str) and os.path.isfile(path)):
        # multiprocessing would take a name in angle brackets for a path.
        return {
            "sys_path": [entry or os.getcwd() for entry in sys.path],
            "sys_argv": sys.argv,
            "dir": os.getcwd(),
        }
    return dict(multiprocessing.spawn.get_preparation_data("gen_agent"))


def _can_run(data: dict[str, Any]) -> bool:
    name = data.get("init_main_from_name")
    if name is not None:
        # A package's __main__ has no guard: running it means starting the program.
        return name != "__main__" and not str(name).endswith(".__main__")
    return data.get("init_main_from_path") is not None


def _is_of_main(value: Any) -> bool:
    if not isinstance(value, Sealed):
        return getattr(value, "__module__", None) in _MAINS
    if not any(main.encode() in value.data for main in _MAINS):
        return False
    # Only a string that is exactly the module's name can be one: a text that speaks of __main__ is no class
    # of it.
    return any(
        argument in _MAINS for _, argument, _ in pickletools.genops(value.data) if isinstance(argument, str)
    )


def _modified(value: Any) -> float:
    module = sys.modules.get(getattr(value, "__module__", None) or "")
    path = getattr(module, "__file__", None)
    with contextlib.suppress(OSError, TypeError):
        return os.stat(path).st_mtime if path else 0.0
    return 0.0


def _name_of(value: Any) -> str:
    if isinstance(value, Sealed):
        value = value.open()
        value = value if isinstance(value, type) else type(value)
    return str(getattr(value, "__qualname__", type(value).__qualname__))
