"""The options of `start_agent`, checked in the caller, and child specs."""

from __future__ import annotations

import enum
import math
from typing import Any

import attrs
import pytest

from gen_agent.backend import Backend
from gen_agent.options import RESERVED, AgentOptions, ChildSpec, child_spec
from gen_agent.values import AgentAddress, Incarnation
from tests.strategies import ActorAddress, Quiet

DEFAULTS = {
    "watchdog_s": 600.0,
    "idle_watchdog_s": None,
    "shutdown_s": 5.0,
    "max_pending_prompts": 1000,
    "max_pending_prompt_bytes": 1_048_576,
    "max_pending_notifications": 1000,
    "max_pending_notification_bytes": 1_048_576,
    "max_tell_results": 100,
    "max_tell_result_bytes": 8_388_608,
    "max_events_per_turn": 1000,
    "max_event_bytes_per_turn": 1_048_576,
    "event_retention": "compact",
    "max_relay_events": 10_000,
    "max_turns_per_worker": None,
    "requirements": None,
    "telemetry": (),
    "telemetry_to": None,
}
TIMES = ("watchdog_s", "idle_watchdog_s", "shutdown_s")
LIMITS = tuple(name for name in DEFAULTS if name.startswith("max_") and name != "max_turns_per_worker")
AT_LEAST_ONE = ("max_events_per_turn", "max_event_bytes_per_turn", "max_relay_events", "max_turns_per_worker")


class Echo(Backend):
    """A backend that is never built."""

    def start_session(self) -> Any:
        return None

    def prompt(self, session: Any, prompt: str, turn: Any) -> Any:
        return ()


def split(**options: Any) -> AgentOptions:
    return AgentOptions.split("coder", "echo", **options)[0]


def test_defaults() -> None:
    """C004: the reserved options and their defaults, in seconds, bytes and counts."""
    options = attrs.asdict(split())
    assert options == {"name": "coder", "backend": "echo", **DEFAULTS}
    assert DEFAULTS.keys() == RESERVED


@pytest.mark.parametrize("option", [*LIMITS, "event_retention", "telemetry"])
def test_none_is_the_default(option: str) -> None:
    """C004: None for a limit means its default."""
    assert getattr(split(**{option: None}), option) == DEFAULTS[option]


@pytest.mark.parametrize("option", [*TIMES, "max_turns_per_worker"])
def test_none_is_no_limit(option: str) -> None:
    """C004: None for a time limit, or for the turns of a worker, means none."""
    assert getattr(split(**{option: None}), option) is None


@pytest.mark.parametrize("option", TIMES)
@pytest.mark.parametrize("value", [-1, -0.5, math.nan, math.inf, "never", True, b"1", (1,)])
def test_bad_times(option: str, value: Any) -> None:
    """C003, C005: a bad time limit is refused in the caller, naming option, value and what is allowed."""
    with pytest.raises((TypeError, ValueError)) as raised:
        split(**{option: value})
    assert str(raised.value).startswith(f"{option}: a number of seconds")
    assert repr(value) in str(raised.value)


def test_zero_seconds() -> None:
    """C003, C005: zero is a shutdown time, but no watchdog."""
    assert split(shutdown_s=0).shutdown_s == 0.0
    for option in ("watchdog_s", "idle_watchdog_s"):
        with pytest.raises(ValueError, match=f"{option}.*> 0"):
            split(**{option: 0})


@pytest.mark.parametrize("option", [*LIMITS, "max_turns_per_worker"])
@pytest.mark.parametrize("value", [-1, 1.5, "3", True, math.nan, ()])
def test_bad_limits(option: str, value: Any) -> None:
    """C003: a bad limit is refused in the caller, naming option, value and what is allowed."""
    with pytest.raises((TypeError, ValueError)) as raised:
        split(**{option: value})
    assert str(raised.value).startswith(f"{option}: an int >= ")
    assert repr(value) in str(raised.value)


@pytest.mark.parametrize("option", [*LIMITS, "max_turns_per_worker"])
def test_zero_limits(option: str) -> None:
    """C003, C150: zero turns a queue or cache off; it is no limit for what every turn needs."""
    if option in AT_LEAST_ONE:
        with pytest.raises(ValueError, match=f"{option}: an int >= 1"):
            split(**{option: 0})
    else:
        assert getattr(split(**{option: 0}), option) == 0


@pytest.mark.parametrize(
    ("option", "value", "error"),
    [
        ("event_retention", "some", ValueError),
        ("event_retention", 3, TypeError),
        ("requirements", "big", TypeError),
        ("telemetry", "module:function", TypeError),
        ("telemetry", (3,), TypeError),
        ("telemetry", ("module.function",), ValueError),
        ("telemetry", ("module:",), ValueError),
        ("telemetry", ("a:b:c",), ValueError),
        ("telemetry_to", "coder", TypeError),
    ],
)
def test_other_bad_options(option: str, value: Any, error: type[Exception]) -> None:
    """C003: wrong kinds are a `TypeError`, wrong values a `ValueError`."""
    with pytest.raises(error, match=f"^{option}: "):
        split(**{option: value})


def test_good_options_of_other_kinds() -> None:
    """Lists become tuples, ints become seconds, addresses are taken as they are."""
    address = AgentAddress("a", Incarnation("h", 1, 1, "n"), None)
    assert split(telemetry=["module:function"]).telemetry == ("module:function",)
    assert split(watchdog_s=3).watchdog_s == 3.0
    assert isinstance(split(watchdog_s=3).watchdog_s, float)
    assert split(telemetry_to=address).telemetry_to == address
    assert split(telemetry_to=ActorAddress("x")).telemetry_to == ActorAddress("x")


class _Whole(enum.IntEnum):
    FIVE = 5


class _Word(str, enum.Enum):
    LOSSLESS = "lossless"
    PERMANENT = "permanent"


class _Time(float):
    """A number of some library."""


@pytest.mark.parametrize("option", [*TIMES, *LIMITS, "max_turns_per_worker", "event_retention"])
def test_an_option_is_a_plain_value(option: str) -> None:
    """Of an enum's member or a library's number the plain value is kept, for who may not have the class."""
    given: Any = _Word.LOSSLESS if option == "event_retention" else _Whole.FIVE
    for value in (given, _Time(5)) if option in TIMES else (given,):
        kept = getattr(split(**{option: value}), option)
        assert type(kept) in (str, int, float)
        assert kept == value


def test_a_restart_policy_is_a_plain_value() -> None:
    """C013: the same for `restart`."""
    given: Any = _Word.PERMANENT
    assert type(child_spec(Quiet, name="a", backend="echo", restart=given).restart) is str


@pytest.mark.parametrize("backend", ["echo", "package.module:Class", Echo])
def test_backends(backend: Any) -> None:
    """A backend is an entry point's name, a path, or a class."""
    assert AgentOptions.split("coder", backend)[0].backend == backend


@pytest.mark.parametrize(
    ("backend", "error"),
    [
        (None, TypeError),
        (3, TypeError),
        (dict, TypeError),
        (Echo(), TypeError),
        ("", ValueError),
        ("a:b:c", ValueError),
    ],
)
def test_bad_backends(backend: Any, error: type[Exception]) -> None:
    """C002: what is no backend is refused in the caller."""
    with pytest.raises(error, match="^backend: "):
        AgentOptions.split("coder", backend)


@pytest.mark.parametrize("name", [True, 1.5, (), ActorAddress("x")])
def test_bad_names(name: Any) -> None:
    """C011: an address or another value is no name."""
    with pytest.raises(TypeError, match="^name: "):
        AgentOptions.split(name, "echo")


def test_the_rest_is_forwarded() -> None:
    """C006: exactly the reserved options are taken, everything else reaches `init_agent` untouched."""
    options, forwarded = AgentOptions.split("coder", "echo", watchdog_s=1, foo=1, task_supervisor="x")
    assert options.watchdog_s == 1.0
    assert forwarded == {"foo": 1, "task_supervisor": "x"}


def test_colliding_options_are_forwarded() -> None:
    """C006: `options` forwards keys that are reserved here; one given both ways is refused."""
    options, forwarded = AgentOptions.split(
        "coder", "echo", cwd=".", options={"watchdog_s": "x", "name": "y"}
    )
    assert options.watchdog_s == 600.0
    assert forwarded == {"cwd": ".", "watchdog_s": "x", "name": "y"}
    with pytest.raises(TypeError, match="'cwd' is given twice"):
        AgentOptions.split("coder", "echo", cwd=".", options={"cwd": "/"})
    with pytest.raises(TypeError, match="^options: "):
        AgentOptions.split("coder", "echo", options=[1])


def test_child_specs() -> None:
    """C008: a spec has the name as its id, is temporary and shuts down as configured."""
    spec = child_spec(Quiet, name="coder", backend="echo", cwd=".", max_tell_results=3)
    assert (spec.id, spec.restart, spec.shutdown_s) == ("coder", "temporary", 5.0)
    assert (spec.agent, spec.backend) == (Quiet, "echo")
    assert spec.options == {"cwd": ".", "max_tell_results": 3}
    assert spec.keywords() == {"cwd": ".", "max_tell_results": 3, "shutdown_s": 5.0}


def test_overridden_child_specs() -> None:
    """C009, C013: a class may change its spec; the other fields stay."""

    class Patient(Quiet):
        @classmethod
        def child_spec(cls, **options: Any) -> ChildSpec:
            return attrs.evolve(super().child_spec(**options), shutdown_s=1234.0, restart="permanent")

    spec = Patient.child_spec(name="coder", backend="echo", cwd=".")
    assert spec == ChildSpec(Patient, "coder", "echo", "permanent", 1234.0, {"cwd": "."})
    assert spec.keywords()["shutdown_s"] == 1234.0


@pytest.mark.parametrize(
    "wrong", [{"shutdown_s": -1}, {"restart": "always"}, {"watchdog_s": 0}, {"name": None}, {"backend": 3}]
)
def test_bad_child_specs(wrong: dict[str, Any]) -> None:
    """C005: a bad option raises while the spec is built."""
    with pytest.raises((TypeError, ValueError)):
        child_spec(Quiet, **{"name": "coder", "backend": "echo", **wrong})


def test_specs_need_name_and_backend() -> None:
    """C002: a missing name or backend is a `TypeError` in the caller."""
    with pytest.raises(TypeError, match="backend"):
        child_spec(Quiet, name="coder")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="name"):
        Quiet.child_spec(backend="echo")
