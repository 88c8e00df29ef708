"""How frozen values pickle: one flat tuple, rebuilt slot by slot; and how they are read again.

What attrs does by itself (a state dictionary per object and validation again) is several times larger and
slower, and stream events are counted in hundreds of thousands per second. This module knows no value in
particular.
"""

from __future__ import annotations

import functools
import io
import pickle
from typing import Any

_set = object.__setattr__
_new = object.__new__


@functools.cache
def slots(cls: Any) -> tuple[str, ...]:
    """The attributes of an attrs class in order, by which its instances travel."""
    return tuple(field.name for field in cls.__attrs_attrs__)


def restore(cls: type, *values: Any) -> Any:
    """Build an instance of `cls` from what `Wire` wrote; nothing is checked again.

    A peer of another version may have written more or fewer values: what is left over is dropped.
    """
    instance: Any = _new(cls)
    for name, value in zip(slots(cls), values, strict=False):
        _set(instance, name, value)
    return instance


def changed(value: Any, **attributes: Any) -> Any:
    """A copy of a frozen value with other attributes, which are not checked: those are ours."""
    cls: Any = type(value)
    copy = _new(cls)
    for name in slots(cls):
        _set(copy, name, getattr(value, name))
    for name, other in attributes.items():
        _set(copy, name, other)
    return copy


SMALL = 1 << 16
"""Up to so many bytes a pickle is worth a reader of our own; a large one is not worth a copy."""

_known: dict[tuple[str, str], Any] = {}

_STANDARD = frozenset({"builtins", "datetime", "socket"})
"""Modules of what is in many messages, such as addresses: the interpreter keeps every name looked up anew."""


class _Reader(pickle.Unpickler):
    """Finds the classes of messages at once; pickle imports each of them anew, for most of its time."""

    def find_class(self, module_name: str, global_name: str) -> Any:
        """As pickle does; what users may reload is never remembered."""
        found = _known.get((module_name, global_name))
        if found is None:
            found = super().find_class(module_name, global_name)
            if module_name.startswith(("gen_agent.", "thespian.")) or module_name in _STANDARD:
                _known[module_name, global_name] = found
        return found


def loads(data: bytes | bytearray | memoryview) -> Any:
    """`pickle.loads`, faster for our own values; raises what that raises."""
    return _Reader(io.BytesIO(data)).load() if len(data) <= SMALL else pickle.loads(data)


class Wire:
    """Base of frozen attrs classes with slots: cheap to pickle, copied through the same door."""

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        cls: Any = type(self)
        return restore, (cls, *[getattr(self, name) for name in slots(cls)])
