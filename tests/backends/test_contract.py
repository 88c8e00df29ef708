"""Every entry point keeps the contract of backends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gen_agent.backend import Backend
from gen_agent.backends import backend_names, resolve
from gen_agent.backends.scripted import reply
from gen_agent.events import Event
from gen_agent.testing.conformance import CHECKS, Case, check_name
from tests.backends.fake_openai import FakeOpenAI, says


def _echo() -> Iterator[Case]:
    yield Case(resolve("echo"))


def _scripted() -> Iterator[Case]:
    scripts = (reply("hel", "lo"),) * 4
    yield Case(lambda **options: resolve("scripted")(scripts=scripts, **options))


def _openai() -> Iterator[Case]:
    secret = "sk-of-the-contract"
    with FakeOpenAI(*(says("hel", "lo") for _ in range(4))) as server:
        fixed = {"base_url": server.base_url, "api_key": secret}
        yield Case(lambda **options: resolve("openai")(**fixed, **options), secrets=(secret,))


CASES: dict[str, Callable[[], Iterator[Case]]] = {"echo": _echo, "scripted": _scripted, "openai": _openai}
ELSEWHERE = {"local": "tests/backends/test_local.py, with the real model"}


def test_every_entry_point_is_checked() -> None:
    """A shipped backend without a case here is a gap."""
    assert {name for name in backend_names() if name not in ELSEWHERE} == set(CASES)


@pytest.mark.parametrize("check", CHECKS, ids=check_name)
@pytest.mark.parametrize("name", CASES)
def test_contract(name: str, check: Callable[[Case], None]) -> None:
    """C256: each check of the conformance suite holds for each shipped backend."""
    cases = CASES[name]()
    try:
        check(next(cases))
    finally:
        next(cases, None)


class _Bad(Backend):
    """Breaks what its class attribute says."""

    breaks = ""

    def __init__(self, **options: Any) -> None:
        if self.breaks != "unknown_option":
            super().__init__(**options)

    def start_session(self) -> list[str]:
        return ["id"]

    def prompt(self, session: list[str], prompt: str, turn: Any) -> Iterator[Event]:
        if self.breaks == "abandoned_turn":
            session.append(prompt)
        if self.breaks == "usage":
            yield Event.usage(-1, 0)
        yield Event.text(prompt if self.breaks == "secrets" else "hello")
        yield Event.result("other" if self.breaks == "text" else "hello", session_id=session[0])
        if self.breaks == "one_terminal_event":
            yield Event.result("hello")

    def update_session(self, session: list[str], result: Event) -> list[Any]:
        changed = {"session_id": "another", "values_pickle": float("nan"), "secrets": "Say hello."}
        return [changed.get(self.breaks, session[0])]


@pytest.mark.parametrize(
    "check", [check for check in CHECKS if check_name(check) not in {"other_worker", "close_twice", "reset"}],
    ids=check_name,
)  # fmt: skip
def test_checks_can_fail(check: Callable[[Case], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """A backend that breaks exactly one thing is found by the check for it, and a good one passes."""
    check(Case(_Bad))
    monkeypatch.setattr(_Bad, "breaks", check_name(check))
    with pytest.raises(AssertionError):
        check(Case(_Bad))
