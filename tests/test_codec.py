"""To JSON and back, and the law that every public value survives every way of copying it."""

from __future__ import annotations

import collections
import copy
import enum
import json
import math
import pathlib
import pickle
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gen_agent import codec
from gen_agent.errors import BackendFailed, CodecError
from gen_agent.events import Event, Response
from gen_agent.messages import Ask, Completion, Notify, StartAgent, Tell
from gen_agent.options import child_spec
from gen_agent.values import AgentAddress, Incarnation, RequestRef
from tests.strategies import HOLD_CLASSES, VALUES, ActorAddress, Quiet, payloads

CLASSES = sorted(VALUES, key=lambda cls: cls.__name__)
CODABLE = [cls for cls in CLASSES if cls not in HOLD_CLASSES]
REF = RequestRef("a", 1)


class Number(enum.IntEnum):
    """An int that is more than an int."""

    ONE = 1


class Word(str):
    """A str that is more than a str."""

    __slots__ = ()


# ---------------------------------------------------------------- every public value


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
@given(data=st.data())
def test_every_value_survives_pickle_and_deepcopy(cls: type, data: st.DataObject) -> None:
    """Every public value and error is equal after pickle, in any protocol, and after deepcopy."""
    value = data.draw(VALUES[cls])
    for protocol in (2, 4, 5):
        assert pickle.loads(pickle.dumps(value, protocol)) == value
    copied = copy.deepcopy(value)
    assert copied == value
    assert type(copied) is cls


@pytest.mark.parametrize("cls", CODABLE, ids=lambda cls: cls.__name__)
@given(data=st.data())
def test_every_value_survives_json(cls: type, data: st.DataObject) -> None:
    """Every public value and error that holds no class is equal after a trip through JSON text."""
    value = data.draw(VALUES[cls])
    text = codec.to_json(value)
    again = codec.from_json(text)
    assert again == value
    assert type(again) is cls
    assert codec.to_json(again) == text
    assert "\n" not in text


@given(payloads)
def test_json_values_bytes_and_tuples_survive(value: Any) -> None:
    """JSON values, bytes and tuples, nested in any way, with any keys, keep value and type."""
    again = codec.from_json(codec.to_json(value))
    assert again == value
    assert repr(again) == repr(value)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=5))
def test_json_values_stay_themselves(value: Any) -> None:
    """What is JSON already is not tagged."""
    assert codec.unstructure(value) == value
    assert codec.unstructure({"a": value}) == {"a": value}


def test_values_are_tagged_by_class_name() -> None:
    """The form is an object with the class under `$` and the fields by name."""
    assert codec.unstructure(BackendFailed(("a", b"b"))) == {
        "$": "BackendFailed",
        "reason": {"$": "tuple", "items": ["a", {"$": "bytes", "base64": "Yg=="}]},
    }
    assert codec.unstructure({"$": 1}) == {"$": "dict", "items": {"$": 1}}


def test_sealed_values_are_shown_open() -> None:
    """What travels sealed in a message is plain in its JSON, and sealed again after it."""
    data = codec.unstructure(Notify({"a": (1,)}))
    assert data["event"] == {"a": {"$": "tuple", "items": [1]}}
    assert pickle.dumps(codec.structure(data)) == pickle.dumps(Notify({"a": (1,)}))


def test_the_actor_of_an_address_stays_behind() -> None:
    """An address keeps its identity in JSON; its actor belongs to the running system."""
    address = AgentAddress("a", Incarnation("h", 1, 2, "n"), ActorAddress("x"))
    again = codec.from_json(codec.to_json(address))
    assert again == address
    assert again.actor is None


# ---------------------------------------------------------------- what has no JSON


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (object(), "$"),
        ([0, (1, {"a": {1}})], "$[1][1].a"),
        ({"a": {2: 3}}, "$.a"),
        ({"a": [math.nan]}, "$.a[0]"),
        ((math.inf,), "$[0]"),
        ([1j], "$[0]"),
        ([bytearray(b"a")], "$[0]"),
        ([frozenset()], "$[0]"),
        ([Number.ONE], "$[0]"),
        ([Word("a")], "$[0]"),
        ({Word("a"): 1}, "$"),
        ([pathlib.Path("a")], "$[0]"),
        ([collections.OrderedDict()], "$[0]"),
        ([dict], "$[0]"),
        (Event("text", {"x": [{1}]}), "$.data.x[0]"),
        (Completion("a", REF, Response(metadata={"x": Number.ONE})), "$.outcome.metadata.x"),
        (BackendFailed({1}), "$.reason"),
        (Tell("x", recipient=ActorAddress("x")), "$.recipient"),
        (StartAgent(Quiet, name="a", backend="echo"), "$.agent"),
        (child_spec(Quiet, name="a", backend="echo"), "$.agent"),
        (attrs.make_class("Ask", ["prompt"])("x"), "$"),
    ],
)
def test_anything_else_is_refused_with_its_path(value: Any, path: str) -> None:
    """A value without a JSON form is a `CodecError` that says where it is, never what it is."""
    with pytest.raises(CodecError) as raised:
        codec.to_json(value)
    assert raised.value == CodecError(path)


def test_endless_values_are_refused() -> None:
    """A list that holds itself is a `CodecError`."""
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(CodecError):
        codec.to_json(endless)


@pytest.mark.parametrize(
    ("data", "path"),
    [
        ({"$": "Nothing"}, "$"),
        ({"$": 3}, "$"),
        ({"$": ["tuple"]}, "$"),
        ({"a": [{"$": "tuple"}]}, "$.a[0]"),
        ({"$": "tuple", "items": 3}, "$"),
        ({"$": "tuple", "items": [1, {"$": "x"}]}, "$[1]"),
        ({"$": "dict", "items": []}, "$"),
        ({"$": "bytes", "base64": "?"}, "$"),
        ({"$": "bytes", "base64": 3}, "$"),
        ({"$": "Pending", "value": "done"}, "$"),
        ({"$": "Ask", "prompt": 3}, "$"),
        ({"$": "Ask", "prompt": "x", "more": 1}, "$"),
        ({"$": "Ask", "prompt": "x", "ref": {"$": "RequestRef"}}, "$.ref"),
        ({"$": "BackendFailed", "other": 1}, "$"),
        ({"$": "Agent"}, "$"),
        ({"$": "GenAgentError", "code": 1}, "$"),
    ],
)
def test_json_that_is_no_value_is_refused(data: Any, path: str) -> None:
    """Unknown tags, missing or wrong fields are a `CodecError` at their place."""
    with pytest.raises(CodecError) as raised:
        codec.structure(data)
    assert raised.value == CodecError(path)


@pytest.mark.parametrize("text", ["", "{", b"\xff", "[" * 100_000])
def test_text_that_is_no_json_is_refused(text: str | bytes) -> None:
    """What can't be parsed is a `CodecError` at the root."""
    with pytest.raises(CodecError) as raised:
        codec.from_json(text)
    assert raised.value.path == "$"


def test_json_text_is_plain_json() -> None:
    """Any JSON reader reads it."""
    assert json.loads(codec.to_json(Ask("hä\ud800", REF)))["prompt"] == "hä\ud800"
