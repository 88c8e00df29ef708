"""How frozen values pickle: one flat tuple, rebuilt slot by slot.

What attrs does by itself (a state dictionary per object and validation again) is several times larger and
slower, and stream events are counted in hundreds of thousands per second. Most of what is left of a small
pickle's time goes to finding classes: so our own go by a word, and so do the small values inside of them,
which are tuples on their way. A tuple is always written with such a word before it, so nothing a user wrote
is ever taken for one of ours. This module knows no value in particular.
"""

from __future__ import annotations

import functools
import importlib
import pickle
from collections.abc import Callable
from operator import attrgetter
from typing import Any

_set = object.__setattr__
_new = object.__new__

_PACKAGE = f"{__package__}."

READ_FROM = "read from"
"""In the metadata of a field: the attribute that has the value as it travels, if that is another one."""


@functools.cache
def slots(cls: Any) -> tuple[str, ...]:
    """The attributes of an attrs class in order, by which its instances travel."""
    return tuple(field.name for field in cls.__attrs_attrs__)


@functools.cache
def _setters(cls: Any) -> tuple[Callable[[Any, Any], None], ...]:
    return tuple(getattr(cls, name).__set__ for name in slots(cls))


def restore(cls: type, *values: Any) -> Any:
    """Build an instance of `cls` from the values of its slots; nothing is checked again.

    A peer of another version may have written more or fewer values: what is left over is dropped.
    """
    instance: Any = _new(cls)
    for put, value in zip(_setters(cls), values, strict=False):
        put(instance, value)
    return instance


def changed(value: Any, **attributes: Any) -> Any:
    """A copy of a frozen value with other attributes, which are not checked: those are ours."""
    cls: Any = type(value)
    copy = _new(cls)
    for put, same in zip(_setters(cls), _reader(cls)(value)):  # noqa: B905 - as in `rebuild`
        put(copy, same)
    for name, other in attributes.items():
        _set(copy, name, other)
    return copy


@functools.cache
def _reader(cls: Any) -> Callable[[Any], tuple[Any, ...]]:
    names = [field.metadata.get(READ_FROM, field.name) for field in cls.__attrs_attrs__]
    if len(names) > 1:
        return attrgetter(*names)
    return lambda value: tuple(getattr(value, name) for name in names)


# ---------------------------------------------------------------- words for classes


class _Builders(dict[str, Callable[..., Any]]):
    """What makes a value of what came with its word; the module of an unknown word is imported for it."""

    def __missing__(self, word: str) -> Callable[..., Any]:
        importlib.import_module(_PACKAGE + word.rpartition(".")[0])
        return dict.__getitem__(self, word)


_flattened: dict[type, Callable[[Any], tuple[Any, ...]]] = {tuple: lambda value: ("", value)}
_rebuilt = _Builders({"": lambda value: value})


def flat(cls: type, *names: str, build: Callable[..., object] | None = None) -> None:
    """Have instances of `cls` travel as its name and these attributes, wherever they are in a `Wire`.

    They are rebuilt by `build`, or by `cls` itself, called with the attributes.
    """
    _flattened[cls] = attrgetter("__class__.__name__", *names)
    _rebuilt[cls.__name__] = build or cls


def travels(
    cls: type, word: str, write: Callable[[Any], object | None], read: Callable[[Any], object]
) -> None:
    """Have instances of `cls` travel as `word` and what `write` makes of them, for which `read` is called.

    What `write` answers None for travels as it is. `word` begins with the module that calls this, without the
    package, so that whoever meets the word first can import it.
    """

    def flattened(value: Any) -> tuple[Any, ...]:
        written = write(value)
        return ("", value) if written is None else (word, written)

    _flattened[cls] = flattened
    _rebuilt[word] = read


def _word(cls: type) -> Any:
    """What stands for `cls` in a pickle: a word, if it is one of ours, else itself."""
    ours = cls.__module__.startswith(_PACKAGE) and "." not in cls.__qualname__
    return f"{cls.__module__.removeprefix(_PACKAGE)}.{cls.__name__}" if ours else cls


_Shape = tuple[Any, tuple[Callable[[Any, Any], None], ...]]


class _Shapes(dict[Any, _Shape]):
    """The class that a word stands for, and what fills its slots; a class may stand for itself."""

    def __missing__(self, word: Any) -> _Shape:
        cls: Any = word
        if isinstance(word, str):
            module, _, name = word.rpartition(".")
            cls = getattr(importlib.import_module(_PACKAGE + module), name)
        if not issubclass(cls, Wire):
            raise pickle.UnpicklingError("no message of ours")
        shape = cls, _setters(cls)
        if isinstance(word, str):
            # Only these: a class that a user made may be reloaded.
            self[word] = shape
        return shape


_shapes = _Shapes()


def rebuild(word: Any, *values: Any) -> Any:
    """Build what `Wire` wrote. Raises what makes a pickle unreadable, for words that mean nothing here."""
    cls, setters = _shapes[word]
    instance: Any = _new(cls)
    for put, value in zip(setters, values):  # noqa: B905 - saying that they may differ costs a sixth of it
        if type(value) is tuple:
            value = _rebuilt[value[0]](*value[1:])
        put(instance, value)
    return instance


class Wire:
    """Base of frozen attrs classes with slots: cheap to pickle, copied through the same door."""

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        cls: Any = type(self)
        word, read = _form(cls)
        values = [
            _flattened[kind](value) if (kind := type(value)) in _flattened else value for value in read(self)
        ]
        return rebuild, (word, *values)


@functools.cache
def _form(cls: type) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    return _word(cls), _reader(cls)
