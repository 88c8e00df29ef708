"""How frozen values pickle: one flat tuple, rebuilt slot by slot.

What attrs does by itself (a state dictionary per object and validation again) is several times larger and
slower, and stream events are counted in hundreds of thousands per second. This module knows no value in
particular.
"""

from __future__ import annotations

import functools
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


class Wire:
    """Base of frozen attrs classes with slots: cheap to pickle, copied through the same door."""

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        cls: Any = type(self)
        return restore, (cls, *[getattr(self, name) for name in slots(cls)])
