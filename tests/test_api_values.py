"""What callers may give instead of plain values: members of enums, numbers that no clock can count to."""

from __future__ import annotations

import enum
from typing import Any

import pytest

from gen_agent import AgentOptions, CodecError, child_spec, codec
from gen_agent.client.targets import checked_target, checked_timeout
from gen_agent.messages import Ask, Monitor, StartAgent, Submit, Tell
from gen_agent.values import AgentAddress, Incarnation, Name, checked_name
from tests.strategies import Quiet

ADDRESS = AgentAddress("a", Incarnation("nowhere", 1, 1, "one"), "actor")


class Role(str, enum.Enum):
    """Names of agents, as people write them down once."""

    CODER = "coder"


class Number(enum.IntEnum):
    """Names that are numbers."""

    ONE = 1


class Raw(bytes):
    """Names that are bytes."""


NAMES: list[tuple[Any, Name]] = [
    (Role.CODER, "coder"),
    (Number.ONE, 1),
    (Raw(b"x"), b"x"),
    (("team", Role.CODER, (Number.ONE,)), ("team", "coder", (1,))),
]

TOO_LARGE = 10**400
"""An int that no float can hold."""


@pytest.mark.parametrize("option", ["watchdog_s", "idle_watchdog_s", "shutdown_s"])
def test_a_number_beyond_floats_is_a_bad_option(option: str) -> None:
    """C003, C005: seconds that no float can hold are a ValueError naming the option."""
    for value in (TOO_LARGE, -TOO_LARGE):
        given: dict[str, Any] = {option: value}
        with pytest.raises(ValueError, match=option):
            AgentOptions("a", "echo", **given)


def test_a_timeout_beyond_floats_is_no_limit() -> None:
    """A timeout longer than any clock counts is no limit, as infinity is; below zero it is a ValueError."""
    assert checked_timeout(TOO_LARGE) is None
    assert checked_timeout(float("inf")) is None
    assert checked_timeout(1e300) == 1e300
    for bad in (-TOO_LARGE, -1, float("nan"), float("-inf")):
        with pytest.raises(ValueError, match="timeout"):
            checked_timeout(bad)


def shape(name: Any) -> Any:
    """The types a name is made of."""
    return tuple(map(shape, name)) if type(name) is tuple else type(name)


@pytest.mark.parametrize(("given", "plain"), NAMES)
def test_a_name_is_kept_as_a_plain_value(given: Any, plain: Name) -> None:
    """C011: an enum's member is the name it is equal to: who keeps names needs none of the user's classes."""
    options: dict[str, Any] = {"name": given, "backend": "echo"}
    kept = (
        checked_name(given),
        checked_target(given),
        StartAgent(Quiet, **options).name,
        child_spec(Quiet, **options).id,
        AgentOptions(**options).name,
        Monitor(given).target,
    )
    assert kept == (plain,) * len(kept)
    assert {shape(name) for name in kept} == {shape(plain)}


def test_a_prompt_is_sent_as_a_plain_string() -> None:
    """C105: a prompt of a subclass of str is its text; anything else stays a TypeError."""
    for message in (Ask(Role.CODER), Tell(Role.CODER), Submit(Role.CODER, ADDRESS)):
        assert (message.prompt, type(message.prompt)) == ("coder", str)
    for kind in (Ask, Tell):
        with pytest.raises(TypeError, match="prompt: a str is needed, not bytes"):
            kind(b"coder")


@pytest.mark.parametrize("text", ["NaN", "[-Infinity]", '{"a": 1e999}'])
def test_what_no_json_can_hold_is_not_read_either(text: str) -> None:
    """A number that `to_json` refuses is a CodecError of `from_json` too."""
    with pytest.raises(CodecError):
        codec.from_json(text)


def test_a_number_too_long_to_be_written_is_a_codec_error() -> None:
    """An int of more digits than Python writes is told like everything that can't be written."""
    with pytest.raises(CodecError):
        codec.to_json({"a": 10**5000})
    assert codec.from_json(codec.to_json(10**300)) == 10**300
