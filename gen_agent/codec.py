"""Values to JSON and back, without loss.

JSON values stay themselves. A tuple, bytes and every value of this package become an object tagged with their
class name under `$`; so does a dict that has a `$` of its own. Anything else is a `CodecError` with the path
to it: nothing is guessed, rounded or turned into text. The `actor` of an `AgentAddress` belongs to the
running system, is no part of its identity and stays behind. This is the only module that knows cattrs.
"""

from __future__ import annotations

import json
import math
import operator
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import cattrs

from gen_agent import agent, errors, events, messages, options, values
from gen_agent.errors import CodecError, GenAgentError
from gen_agent.values import AgentAddress, Pending

TAG = "$"
"""The key under which an object's class is named."""


def _is_value(cls: object) -> bool:
    return isinstance(cls, type) and (attrs.has(cls) or issubclass(cls, GenAgentError))


CLASSES: Mapping[str, type] = {
    name: cls
    for module in (agent, errors, events, messages, options, values)
    for name, cls in vars(module).items()
    if _is_value(cls) and not name.startswith("_")
}
"""The values of this package by the name under which they are tagged."""

_KNOWN = frozenset(CLASSES.values())

# The hook registered last is asked first: the catch-all comes first and answers for what nobody else does.
_converter = cattrs.Converter(detailed_validation=False)
_out = _converter.unstructure


def _in(data: Any) -> Any:
    return _converter.structure(data, Any)


def _at(step: str, convert: Callable[[Any], Any], value: Any) -> Any:
    try:
        return convert(value)
    except CodecError as error:
        raise CodecError(step + error.path) from error.__cause__


def _tagged(cls: type | str, content: Mapping[str, Any]) -> dict[str, Any]:
    return {TAG: cls if isinstance(cls, str) else cls.__name__, **content}


# ---------------------------------------------------------------- to JSON


def _refuse(value: object) -> Any:
    raise CodecError("")


def _same(value: Any) -> Any:
    return value


def _float_out(value: float) -> float:
    if not math.isfinite(value):
        raise CodecError("")
    return value


def _list_out(value: list[Any] | tuple[Any, ...]) -> list[Any]:
    return [_at(f"[{index}]", _out, item) for index, item in enumerate(value)]


def _dict_out(value: dict[Any, Any]) -> dict[str, Any]:
    if any(type(key) is not str for key in value):
        raise CodecError("")
    content = {key: _at(f".{key}", _out, item) for key, item in value.items()}
    return _tagged("dict", {"items": content}) if TAG in content else content


def _fields_out(value: Any) -> dict[str, Any]:
    cls = type(value)
    names = cls.names if isinstance(value, GenAgentError) else _aliases(cls)
    return _tagged(cls, {name: _at(f".{name}", _out, getattr(value, name)) for name in names})


def _aliases(cls: Any) -> list[str]:
    return [field.alias for field in attrs.fields(cls) if not (cls is AgentAddress and field.name == "actor")]


_ENCODERS: Mapping[type, Callable[[Any], Any]] = {
    type(None): _same,
    bool: _same,
    int: _same,
    str: _same,
    float: _float_out,
    list: _list_out,
    dict: _dict_out,
    tuple: lambda value: _tagged("tuple", {"items": _list_out(value)}),
    bytes: lambda value: _tagged("bytes", {"base64": b64encode(value).decode("ascii")}),
    Pending: lambda value: _tagged(Pending, {"value": value.value}),
}


def _exactly(cls: type, value: object) -> Any:
    return _ENCODERS[cls](value) if type(value) is cls else _refuse(value)


_converter.register_unstructure_hook_func(lambda cls: True, _refuse)
_converter.register_unstructure_hook_func(_KNOWN.__contains__, _fields_out)
for _cls, _encode in _ENCODERS.items():
    # By identity: a subclass (an IntEnum, a defaultdict) would come back as something else.
    _converter.register_unstructure_hook_func(partial(operator.is_, _cls), _encode)
# What the converter knows with all its subclasses, it asks before any of the above.
_converter.register_unstructure_hook(str, partial(_exactly, str))
_converter.register_unstructure_hook(bytes, partial(_exactly, bytes))
_converter.register_unstructure_hook(Path, _refuse)


# ---------------------------------------------------------------- from JSON


def _any_in(data: Any, _: Any) -> Any:
    if isinstance(data, list):
        return [_at(f"[{index}]", _in, item) for index, item in enumerate(data)]
    if not isinstance(data, dict):
        return data
    if TAG not in data:
        return {key: _at(f".{key}", _in, item) for key, item in data.items()}
    tag = data[TAG]
    content = {key: item for key, item in data.items() if key != TAG}
    decode = _DECODERS.get(tag) if isinstance(tag, str) else None
    try:
        return decode(**content) if decode else _converter.structure(content, CLASSES[tag])
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise CodecError("") from error


def _tuple_in(items: list[Any]) -> tuple[Any, ...]:
    return tuple(_at(f"[{index}]", _in, item) for index, item in enumerate(items))


def _dict_in(items: dict[str, Any]) -> dict[str, Any]:
    return {key: _at(f".{key}", _in, item) for key, item in items.items()}


def _bytes_in(base64: str) -> bytes:
    return b64decode(base64, validate=True)


def _fields_in(data: Mapping[str, Any], cls: Any) -> Any:
    fields = {name: _at(f".{name}", _in, item) for name, item in data.items()}
    if cls is AgentAddress:
        fields["actor"] = None
    return cls(**fields)


_DECODERS: Mapping[str, Callable[..., Any]] = {
    "tuple": _tuple_in,
    "dict": _dict_in,
    "bytes": _bytes_in,
    "Pending": Pending,
}

_converter.register_structure_hook_func(_KNOWN.__contains__, _fields_in)
_converter.register_structure_hook_func(lambda cls: cls is Any, _any_in)


# ---------------------------------------------------------------- the four doors


def _from_root(convert: Callable[[Any], Any], value: Any) -> Any:
    try:
        return _at(TAG, convert, value)
    except RecursionError as error:
        raise CodecError(TAG) from error


def unstructure(value: object) -> Any:
    """Return `value` as JSON-able data; raises `CodecError(path)` for what has no JSON form."""
    return _from_root(_out, value)


def structure(data: Any) -> Any:
    """Return the value that `unstructure` was given; raises `CodecError(path)` for data that is none."""
    return _from_root(_in, data)


def to_json(value: object) -> str:
    """Return `value` as one line of JSON; raises `CodecError(path)`."""
    data = unstructure(value)
    try:
        return json.dumps(data, allow_nan=False)
    except ValueError as error:  # an int of more digits than Python writes
        raise CodecError(TAG) from error


def from_json(text: str | bytes) -> Any:
    """Return the value that `to_json` was given; raises `CodecError(path)`, also for no JSON at all."""
    try:
        data = json.loads(text, parse_float=_finite, parse_constant=_finite)
    except (ValueError, RecursionError) as error:
        raise CodecError(TAG) from error
    return structure(data)


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value
