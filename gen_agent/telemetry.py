"""Telemetry: named measurements, told to handlers of this process.

Handlers are attached by and for one process; a fork of it starts without any. An agent's events appear in the
agent's process, in order with its callbacks, so a handler there must be quick. This module adds nothing to
what it is given but the time of day where that is asked for, and sends nothing anywhere.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Hashable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any

import attrs

Handler = Callable[[tuple[str, ...], Mapping[str, Any], Mapping[str, Any]], object]
"""Called with an event's name, its measurements (seconds and counts) and its metadata, both read-only."""

TURN = ("gen_agent", "turn")
"""The prefix of the content-free events (C235), the ones that may leave the process."""

_log = logging.getLogger("gen_agent.telemetry")


@attrs.frozen(slots=True)
class _Attached:
    pid: int
    prefix: tuple[str, ...]
    handler: Handler


_handlers: dict[Hashable, _Attached] = {}


def attach(handler_id: Hashable, prefix: tuple[str, ...], handler: Handler) -> None:
    """Call `handler(name, measurements, metadata)` in this process for every event whose name begins with
    `prefix`.

    Handlers are called in the order in which they were attached. Raises `ValueError` if `handler_id` is
    attached already, `TypeError` for a prefix that is no tuple of str or a handler that can't be called. A
    handler that raises is detached and logged once, by class.
    """
    if not isinstance(prefix, tuple) or not all(isinstance(part, str) for part in prefix):
        raise TypeError("prefix: a tuple of str is needed, such as ('gen_agent', 'turn')")
    if not callable(handler):
        raise TypeError(f"handler: a callable is needed, not {type(handler).__name__}")
    taken = _handlers.get(handler_id)
    if taken is not None and taken.pid == os.getpid():
        raise ValueError(f"handler_id: {handler_id!r} is attached already")
    _handlers.pop(handler_id, None)
    _handlers[handler_id] = _Attached(os.getpid(), prefix, handler)


def detach(handler_id: Hashable) -> None:
    """Forget that handler. Unknown ids are fine: one that raised is detached already."""
    _handlers.pop(handler_id, None)


def attach_path(path: str) -> None:
    """Attach the function at `"package.module:function"` for every event of this package, under its path.

    Attaching it again changes nothing. Raises `ImportError` or `AttributeError` if there is no such function,
    `TypeError` if it can't be called.
    """
    module, _, function = path.partition(":")
    handler: Any = import_module(module)
    for part in function.split("."):
        handler = getattr(handler, part)
    detach(path)
    attach(path, ("gen_agent",), handler)


def heard() -> bool:
    """Whether anybody may listen in this process."""
    return bool(_handlers)


def emit(name: tuple[str, ...], measurements: Mapping[str, Any], metadata: Mapping[str, Any]) -> None:
    """Tell the handlers of this process. Never raises (C238).

    A measurement `system_time_s` of None is filled in: seconds since the epoch.
    """
    if not _handlers:
        return
    shown, told = MappingProxyType(timed(measurements)), MappingProxyType(dict(metadata))
    for handler_id, attached in tuple(_handlers.items()):
        if attached.pid == os.getpid() and name[: len(attached.prefix)] == attached.prefix:
            _call(handler_id, attached, name, shown, told)


def timed(measurements: Mapping[str, Any]) -> dict[str, Any]:
    """`measurements`, with a `system_time_s` of None filled in: seconds since the epoch."""
    measured = dict(measurements)
    if measured.get("system_time_s", 0) is None:
        measured["system_time_s"] = time.time()
    return measured


def _call(
    handler_id: Hashable,
    attached: _Attached,
    name: tuple[str, ...],
    measured: Mapping[str, Any],
    told: Mapping[str, Any],
) -> None:
    try:
        attached.handler(name, measured, told)
    except BaseException as error:
        # Also SystemExit: whoever measures an agent can't be allowed to end it.
        if _handlers.get(handler_id) is attached:
            del _handlers[handler_id]
        handler = getattr(attached.handler, "__qualname__", type(attached.handler).__qualname__)
        _log.warning("telemetry handler %s raised %s and is detached", handler, type(error).__qualname__)
