"""Backends: what talks to a provider, found by name.

A backend is named by an entry point of the group `gen_agent.backends`, given as a class, or written as
"package.module:Class". Law: finding one loads that one only, and an error says what to type. Nothing else
of the package is imported here, no SDK either.
"""

from __future__ import annotations

import functools
import importlib
from importlib.metadata import EntryPoint, entry_points

from gen_agent.backend import Backend

__all__ = ["GROUP", "MissingExtra", "UnknownBackend", "backend_names", "resolve"]

GROUP = "gen_agent.backends"
"""The group of entry points that plug-ins register in."""

_EXTRAS = {"openai": "openai", "local": "local"}


class UnknownBackend(ValueError):
    """No backend can be found under what was given; the message names those there are."""


class MissingExtra(ImportError):
    """The backend is there but a library it needs is not; the message names the command that installs it."""


def backend_names() -> tuple[str, ...]:
    """The names of all installed backends, sorted."""
    return tuple(sorted({entry.name for entry in entry_points(group=GROUP)}))


def resolve(backend: str | type[Backend]) -> type[Backend]:
    """Return the backend class for an entry-point name, a class, or "package.module:Class".

    Loads the backend's module and the SDK it needs, so this belongs into the process that runs it or one
    that such processes are forked from. Raises `UnknownBackend` (a `ValueError`), `MissingExtra` (an
    `ImportError`), `TypeError` for what is no backend; what the module itself raises while it is loaded
    goes through.
    """
    if isinstance(backend, type):
        return _checked(backend, backend.__qualname__)
    if not isinstance(backend, str):
        raise TypeError(
            "backend: a name, a Backend subclass or 'package.module:Class' is allowed, "
            f"not {type(backend).__name__}"
        )
    return _checked(_loaded(_entry_point(backend)), backend)


@functools.cache
def _entry_point(backend: str) -> EntryPoint:
    # Looking through all that is installed takes as long as a fork: once in a process and those forked from
    # it.
    if ":" in backend:
        return EntryPoint(backend, backend, GROUP)
    found = entry_points(group=GROUP, name=backend)
    if not found:
        raise UnknownBackend(
            f"backend {backend!r} is unknown; known are {', '.join(backend_names())}, "
            "or 'package.module:Class'"
        )
    return next(iter(found))


def _loaded(entry: EntryPoint) -> object:
    module_name, _, attribute = entry.value.partition(":")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise _missing(entry, module_name, error) from error
    try:
        return getattr(module, attribute)
    except AttributeError:
        raise UnknownBackend(f"backend {entry.name!r}: {module_name} has no {attribute!r}") from None


def _missing(entry: EntryPoint, module_name: str, error: ModuleNotFoundError) -> Exception:
    absent = error.name or ""
    if module_name == absent or module_name.startswith(f"{absent}."):
        return UnknownBackend(f"backend {entry.name!r}: there is no module {absent!r}")
    if entry.name in _EXTRAS:
        command = f"pip install 'gen_agent[{_EXTRAS[entry.name]}]'"
        return MissingExtra(f"backend {entry.name!r} needs {absent!r}; run: {command}", name=absent)
    said = f"backend {entry.name!r} needs the module {absent!r}, which is not installed"
    return MissingExtra(said, name=absent)


def _checked(found: object, name: str) -> type[Backend]:
    if isinstance(found, type) and issubclass(found, Backend):
        return found
    kind = found.__qualname__ if isinstance(found, type) else type(found).__name__
    raise TypeError(f"backend {name!r}: {kind} is not a subclass of gen_agent.Backend")
