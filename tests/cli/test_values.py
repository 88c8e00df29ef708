"""Options as people type them, errors as people read them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gen_agent.cli.failure import failure_code, failure_line
from gen_agent.cli.values import parse_option, parse_value, printable
from gen_agent.errors import (
    AgentDown,
    BackendError,
    BackendFailed,
    BackendStartFailed,
    CallTimeout,
    InitFailed,
    Interrupted,
    StartError,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True), ("False", False), ("none", None), ("3", 3), ("-4", -4), ("+5", 5), ("0.5", 0.5),
        (".5", 0.5),
        ("1e3", 1000.0), ("-2.5E-1", -0.25), ("", ""), ("abc", "abc"), ("1.2.3", "1.2.3"), ("nan", "nan"),
        ("inf", "inf"), ("0x10", "0x10"), ("1_000", "1_000"), ('"3"', "3"), ("'true'", "true"), ('"', '"'),
        ("a=b", "a=b"), ("e5", "e5"),
    ],
)  # fmt: skip
def test_values(text: str, value: Any) -> None:
    """Bools, numbers and None are what they look like; the rest, and what is quoted, is text."""
    parsed = parse_value(text)
    assert parsed == value
    assert type(parsed) is type(value)


@given(st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.booleans(), st.none()))
def test_what_python_prints_is_read_back(value: Any) -> None:
    """Every number, bool and None survives being written and read."""
    assert parse_value(str(value)) == value


@given(st.text())
def test_quoted_text_is_that_text(text: str) -> None:
    """Whatever stands between quotes is taken as it is."""
    assert parse_value(f'"{text}"') == text


@pytest.mark.parametrize(
    ("text", "option"),
    [("max_tokens=5", ("max_tokens", 5)), ("max-tokens=5", ("max_tokens", 5)),
     ("stop=a=b", ("stop", "a=b")), ("system=", ("system", ""))],
)  # fmt: skip
def test_options(text: str, option: tuple[str, Any]) -> None:
    """Name and value are divided at the first equals sign; a dash in a name is an underscore."""
    assert parse_option(text) == option


@pytest.mark.parametrize(
    ("text", "match"), [("model", "has no '='"), ("=5", "no name"), ("a b=5", "no name")]
)
def test_wrong_options(text: str, match: str) -> None:
    """What is no option is refused with the reason."""
    with pytest.raises(ValueError, match=match):
        parse_option(text)


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (BackendError("openai", "rate_limited", True, 429, "17", "slow down"),
         "openai: rate limited (HTTP 429), try again after 17: slow down"),
        (BackendError("local", kind="truncated"), "local: truncated"),
        (BackendStartFailed("backend openai: no key"), "backend openai: no key"),
        (BackendStartFailed(StartError("no model here")), "no model here"),
        (BackendStartFailed(BackendError("p", kind="timeout")), "p: timeout"),
        (InitFailed("error", "KeyError"), "the agent could not start: KeyError (error)"),
        (BackendFailed("because"), "the backend failed: because"),
        (CallTimeout("chat", 2.0), "no answer within 2 s"),
        (CallTimeout("chat"), "no answer in time"),
        (Interrupted(), "interrupted"),
        (ValueError("two\nlines"), "two lines"),
        (OSError(), "OSError"),
    ],
)  # fmt: skip
def test_one_line(error: BaseException, line: str) -> None:
    """An error is one clear line."""
    assert failure_line(error) == line


def test_any_error_has_a_line_and_a_code() -> None:
    """Errors without words of their own show code and fields."""
    error = AgentDown("chat", "killed")
    assert failure_line(error).startswith("agent_down: ")
    assert failure_code(error) == "agent_down"
    assert failure_code(KeyError("x")) == "KeyError"


def test_printable() -> None:
    """No answer can command a terminal; text of any language, tabs and line ends stay."""
    assert printable("a\x1b[31mred\x07\r\n\tünï 👩\u200d🚀\x9b") == "a[31mred\n\tünï 👩\u200d🚀"
