"""What `start_agent` accepts: the reserved options as one validated value, and child specs.

A bad option is a `TypeError` or `ValueError` in the caller, naming the option, what was given and what is
allowed. What is not reserved belongs to the agent and is forwarded untouched (C006). This module reads no
clock, starts nothing and looks up no plug-in.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Literal

import attrs

from gen_agent.backend import Backend
from gen_agent.values import Name, checked_name, is_address, plain_text
from gen_agent.wire import Wire

Restart = Literal["temporary", "transient", "permanent"]
EventRetention = Literal["compact", "lossless"]

_RESTARTS = ("temporary", "transient", "permanent")
_RETENTIONS = ("compact", "lossless")

_Check = Callable[[Any, "attrs.Attribute[Any]", Any], None]


def _refuse(error: type[Exception], option: str, value: object, allowed: str) -> Exception:
    return error(f"{option}: {allowed} is allowed, not {value!r}")


def _seconds(allowed: str, least_exclusive: bool) -> _Check:
    def check(_: Any, field: attrs.Attribute[Any], value: object) -> None:
        if value is None:
            return
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise _refuse(TypeError, field.name, value, allowed)
        if not math.isfinite(value) or value < 0 or (least_exclusive and value == 0):
            raise _refuse(ValueError, field.name, value, allowed)

    return check


def _whole(least: int, optional: bool = False) -> _Check:
    allowed = f"an int >= {least}" + (" or None" if optional else "")

    def check(_: Any, field: attrs.Attribute[Any], value: object) -> None:
        if value is None and optional:
            return
        if isinstance(value, bool) or not isinstance(value, int):
            raise _refuse(TypeError, field.name, value, allowed)
        if value < least:
            raise _refuse(ValueError, field.name, value, allowed)

    return check


def _one_of(choices: tuple[str, ...]) -> _Check:
    def check(_: Any, field: attrs.Attribute[Any], value: object) -> None:
        if value not in choices:
            kind = ValueError if isinstance(value, str) else TypeError
            raise _refuse(kind, field.name, value, " or ".join(map(repr, choices)))

    return check


def _a_backend(_: Any, field: attrs.Attribute[Any], value: object) -> None:
    allowed = 'an entry-point name, a Backend subclass or "package.module:Class"'
    if isinstance(value, str):
        if not value or value.count(":") > 1 or value.startswith(":") or value.endswith(":"):
            raise _refuse(ValueError, field.name, value, allowed)
    elif not (isinstance(value, type) and issubclass(value, Backend)):
        kind = value if isinstance(value, type) else type(value)
        raise _refuse(TypeError, field.name, kind.__name__, allowed)


def _handlers(_: Any, field: attrs.Attribute[Any], value: Any) -> None:
    allowed = 'a tuple of "package.module:function"'
    if not isinstance(value, tuple) or not all(isinstance(path, str) for path in value):
        raise _refuse(TypeError, field.name, value, allowed)
    for path in value:
        module, colon, function = path.partition(":")
        if not (module and colon and function) or ":" in function:
            raise _refuse(ValueError, field.name, path, allowed)


def _listed(value: Any) -> Any:
    return tuple(value) if isinstance(value, (list, tuple)) else () if value is None else value


def _requirements(_: Any, field: attrs.Attribute[Any], value: object) -> None:
    if value is not None and not isinstance(value, Mapping):
        raise _refuse(TypeError, field.name, value, "a mapping of capabilities or None")


def _address(_: Any, field: attrs.Attribute[Any], value: object) -> None:
    if value is not None and not is_address(value):
        raise _refuse(TypeError, field.name, type(value).__name__, "an address or None")


def _float(value: Any) -> Any:
    # Of a subclass (an enum's member) the plain value: who is told of a limit may not have the class.
    try:
        return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value
    except OverflowError:
        return math.inf


def _plain_int(value: Any) -> Any:
    return int.__index__(value) if isinstance(value, int) and not isinstance(value, bool) else value


_POSITIVE = _seconds("a number of seconds > 0, or None for no limit,", least_exclusive=True)
_NOT_NEGATIVE = _seconds("a number of seconds >= 0, or None for no limit,", least_exclusive=False)


def _name(value: object) -> Name | None:
    return None if value is None else checked_name(value)


def _retention(value: Any) -> Any:
    return "compact" if value is None else plain_text(value)


def restart_policy(instance: Any, field: attrs.Attribute[Any], value: object) -> None:
    """The attrs validator of a restart policy; raises `ValueError` or `TypeError`."""
    _one_of(_RESTARTS)(instance, field, value)


def _limit(default: int, least: int) -> Any:
    # None means the default for every size limit (C004); a limit has no "unlimited".
    return attrs.field(
        default=default,
        converter=attrs.converters.pipe(attrs.converters.default_if_none(default), _plain_int),
        validator=_whole(least),
    )


@attrs.frozen(slots=True, getstate_setstate=False)
class AgentOptions(Wire):
    """The reserved options of `start_agent`, checked. Sizes in bytes are those of `payload_size`.

    `name` is None for an agent that nobody looks up.

    Raises `TypeError` or `ValueError` naming option, value and what is allowed (C003, C005).
    """

    name: Name | None = attrs.field(converter=_name)
    backend: str | type[Backend] = attrs.field(validator=_a_backend)
    watchdog_s: float | None = attrs.field(default=600.0, converter=_float, validator=_POSITIVE)
    idle_watchdog_s: float | None = attrs.field(default=None, converter=_float, validator=_POSITIVE)
    shutdown_s: float | None = attrs.field(default=5.0, converter=_float, validator=_NOT_NEGATIVE)
    max_pending_prompts: int = _limit(1000, 0)
    max_pending_prompt_bytes: int = _limit(1_048_576, 0)
    max_pending_notifications: int = _limit(1000, 0)
    max_pending_notification_bytes: int = _limit(1_048_576, 0)
    max_tell_results: int = _limit(100, 0)
    max_tell_result_bytes: int = _limit(8_388_608, 0)
    max_events_per_turn: int = _limit(1000, 1)
    max_event_bytes_per_turn: int = _limit(1_048_576, 1)
    event_retention: EventRetention = attrs.field(
        default="compact",
        converter=_retention,
        validator=_one_of(_RETENTIONS),
    )
    max_relay_events: int = _limit(10_000, 1)
    max_turns_per_worker: int | None = attrs.field(
        default=None, converter=_plain_int, validator=_whole(1, optional=True)
    )
    requirements: Mapping[str, Any] | None = attrs.field(default=None, validator=_requirements)
    telemetry: tuple[str, ...] = attrs.field(default=(), converter=_listed, validator=_handlers)
    telemetry_to: Any = attrs.field(default=None, validator=_address)

    @classmethod
    def split(cls, name: Any, backend: Any, **options: Any) -> tuple[AgentOptions, dict[str, Any]]:
        """Divide the keywords of `start_agent`: the reserved ones, checked, and those for `init_agent`
        (C006).

        `options={...}` forwards keys as they are, also ones that are reserved here; a key given both ways is
        a `TypeError`.
        """
        extra = options.pop("options", None) or {}
        if not isinstance(extra, Mapping):
            raise _refuse(TypeError, "options", type(extra).__name__, "a mapping")
        reserved = {key: options.pop(key) for key in RESERVED & options.keys()}
        if twice := extra.keys() & options.keys():
            raise TypeError(f"options: {sorted(map(repr, twice))[0]} is given twice")
        return cls(name, backend, **reserved), {**options, **extra}


RESERVED = frozenset(field.name for field in attrs.fields(AgentOptions)) - {"name", "backend"}
"""The keywords that never reach `init_agent`, besides `name`, `backend` and `options` (C006)."""


@attrs.frozen(slots=True, getstate_setstate=False)
class ChildSpec(Wire):
    """How to start an agent as somebody's child (C008, C013).

    `id` is its name; `restart` temporary (never), transient (after all but an orderly end) or permanent;
    `options` what `start_agent` takes besides `shutdown_s`. Change one with `attrs.evolve`; a bad value
    raises there (C005).
    """

    agent: type
    id: Name = attrs.field(converter=checked_name)
    backend: str | type[Backend] = attrs.field(validator=_a_backend)
    restart: Restart = attrs.field(default="temporary", converter=plain_text, validator=restart_policy)
    shutdown_s: float | None = attrs.field(default=5.0, converter=_float, validator=_NOT_NEGATIVE)
    options: Mapping[str, Any] = attrs.field(factory=dict, converter=dict, repr=False)

    def __attrs_post_init__(self) -> None:
        AgentOptions.split(self.id, self.backend, **self.keywords())

    def keywords(self) -> dict[str, Any]:
        """What to hand to `start_agent` besides agent, name and backend."""
        return {**self.options, "shutdown_s": self.shutdown_s}


def child_spec(
    agent: type, *, name: Name, backend: str | type[Backend], restart: Restart = "temporary", **options: Any
) -> ChildSpec:
    """A `ChildSpec` for `agent`; raises `TypeError` or `ValueError` for a bad option."""
    shutdown_s = options.pop("shutdown_s", 5.0)
    return ChildSpec(agent, name, backend, restart, shutdown_s, options)


def checked_spec(spec: object) -> ChildSpec:
    """Return `spec`; raises `TypeError` for what is no `ChildSpec`."""
    if not isinstance(spec, ChildSpec):
        raise TypeError(f"spec: a ChildSpec is needed, not {type(spec).__name__}")
    return spec
