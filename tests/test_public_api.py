"""The door: what `gen_agent` promises, and that it is documented, typed and silent."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from typing import Any

import attrs
import pytest

import gen_agent
from gen_agent import codec, errors, messages
from gen_agent.envelopes import Call, Cast, Delivery, Envelope
from tests.strategies import ERRORS, VALUES

PUBLIC = sorted(gen_agent.__all__)
CONTRACTS = (
    "agent", "answers", "backend", "codec", "envelopes", "errors", "failure", "events", "messages", "options",
    "sealed", "telemetry", "values", "wire",
)  # fmt: skip
PROMISED = {
    "AgentSystem", "AgentClient", "Agent", "Backend", "Turn", "Event", "Response", "NoReply", "Prompt",
    "Halt", "Proceed", "Skip", "current_name", "payload_size", "child_spec", "ChildSpec", "AgentOptions",
    "PENDING",
    "AgentAddress", "RequestRef", "Status", "RuntimeSnapshot", "Admission", "EventMessage", "EventBatch",
    "Completion", "Reply", "Down",
}  # fmt: skip
ENVELOPES = {
    "StartAgent", "Ask", "Tell", "Submit", "Poll", "Notify", "NotifyAck", "Interrupt",
    "InterruptRequest", "CancelRequest", "HaltAgent", "ResumeAgent", "Drain", "ResetSession",
    "GetStatus", "GetSnapshot", "StopAgent", "Monitor", "Demonitor",
}  # fmt: skip


def documented(value: object) -> bool:
    return bool((getattr(value, "__doc__", None) or "").strip())


def members(cls: type) -> list[tuple[str, Any]]:
    return [
        (name, member)
        for name, member in vars(cls).items()
        if not name.startswith("_")
        and (inspect.isfunction(member) or isinstance(member, (property, classmethod)))
    ]


def test_the_names_are_those_promised() -> None:
    """Every promised name and every error is at the door, and no name is there twice."""
    assert not PROMISED - set(PUBLIC)
    assert not {cls.__name__ for cls in ERRORS} - set(PUBLIC)
    assert len(set(PUBLIC)) == len(PUBLIC)


def test_every_name_is_there() -> None:
    """Each name of `__all__` can be had, and `dir` shows it."""
    for name in PUBLIC:
        assert getattr(gen_agent, name) is not None
    assert not set(PUBLIC) - set(dir(gen_agent))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        gen_agent.nothing  # noqa: B018


def test_the_envelopes_are_in_messages() -> None:
    """Every envelope is in `gen_agent.messages` and nowhere at the door; what comes back is in both."""
    assert not ENVELOPES - set(messages.__all__)
    assert not ENVELOPES & set(PUBLIC)
    for name in (
        "Admission",
        "EventMessage",
        "EventBatch",
        "Completion",
        "Reply",
        "Down",
        "TelemetryMessage",
    ):
        assert getattr(gen_agent, name) is getattr(messages, name)


def test_every_value_has_a_strategy() -> None:
    """No public value escapes the properties: all that the codec knows has a strategy, and no more."""
    bases = {Envelope, Call, Cast, Delivery}
    assert set(codec.CLASSES.values()) - bases == set(VALUES)


@pytest.mark.parametrize("module", CONTRACTS)
def test_everything_public_is_documented(module: str) -> None:
    """Every module, class, function and method of the contracts says what it is."""
    loaded = importlib.import_module(f"gen_agent.{module}")
    assert documented(loaded)
    own = [
        (name, value)
        for name, value in vars(loaded).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == loaded.__name__
    ]
    silent = [name for name, value in own if inspect.isroutine(value) and not documented(value)]
    for name, value in own:
        if isinstance(value, type):
            silent += [name] * (not documented(value))
            silent += [f"{name}.{inner}" for inner, member in members(value) if not documented(member)]
    assert silent == []


@pytest.mark.parametrize("cls", sorted(VALUES, key=lambda cls: cls.__name__), ids=lambda cls: cls.__name__)
def test_values_are_frozen_and_have_no_dict(cls: type) -> None:
    """Every public value but the errors is a frozen attrs class with slots."""
    if not issubclass(cls, errors.GenAgentError):
        assert attrs.has(cls)
        assert cls.__setattr__ is not object.__setattr__
        assert "__slots__" in vars(cls)


def test_modules_import_alone() -> None:
    """Every module of the package says what it is and can be found."""
    found = [module.name for module in pkgutil.iter_modules(gen_agent.__path__)]
    assert set(CONTRACTS) <= set(found)
