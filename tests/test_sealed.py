"""User values as opaque bytes."""

from __future__ import annotations

import pickle
import sys
import types
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gen_agent.errors import Undecodable, Unpicklable
from gen_agent.events import Event
from gen_agent.sealed import Sealed, SealedRun, dump, load
from tests.strategies import event_runs, payloads


@pytest.fixture
def lost() -> Any:
    """The pickle of an instance whose class this process can't load any more."""
    module = types.ModuleType("module_of_a_user")
    exec("class Mine:\n    pass", module.__dict__)
    sys.modules[module.__name__] = module
    try:
        return pickle.dumps(module.Mine(), 5)
    finally:
        del sys.modules[module.__name__]


@given(payloads)
def test_sealed_values_open_to_themselves(value: Any) -> None:
    """A sealed value is equal after a trip through bytes, also when it is opened twice."""
    sealed = pickle.loads(pickle.dumps(Sealed.of(value)))
    assert sealed.open() == value
    assert sealed.open() is sealed.open()
    assert sealed == Sealed.of(value)
    assert hash(sealed) == hash(Sealed.of(value))
    assert len(sealed) == len(sealed.data)


def test_what_cannot_be_pickled_is_told_in_the_sender() -> None:
    """`Unpicklable` names what it was and its class, never the value."""
    with pytest.raises(Unpicklable) as raised:
        Sealed.of({"secret": lambda: None}, "event")
    assert raised.value == Unpicklable("event", "dict")
    assert "secret" not in str(raised.value)


def test_what_cannot_be_opened_is_a_value_in_its_place(lost: bytes) -> None:
    """A class that is not here becomes `Undecodable`, and the bytes travel on unharmed."""
    sealed = pickle.loads(pickle.dumps(Sealed(lost)))
    assert sealed.data == lost
    assert sealed.open() == Undecodable("ModuleNotFoundError")
    assert load(b"nonsense") == Undecodable("UnpicklingError")


@given(st.lists(event_runs, max_size=3))
def test_runs_join_and_open_in_order(runs: list[tuple[Event, ...]]) -> None:
    """C175: runs put together hold all events, in order, and know their number without being opened."""
    joined = SealedRun(b"", 0)
    for run in runs:
        joined = joined + SealedRun.of(run)
    joined = pickle.loads(pickle.dumps(joined))
    flat = tuple(event for run in runs for event in run)
    assert len(joined) == len(flat)
    assert joined.open() == flat == tuple(joined)
    assert joined == SealedRun.of(flat)


def test_one_lost_event_does_not_lose_the_others(lost: bytes) -> None:
    """An event that can't be opened is an `Undecodable` between the others."""
    framed = SealedRun(SealedRun.HEADER.pack(len(lost), SealedRun.EVENT) + lost, 1)
    text = SealedRun.of((Event("text"),))
    run = text + framed + text
    assert run.open()[1] == Undecodable("ModuleNotFoundError")
    assert [event.kind for event in run.open()[::2]] == ["text", "text"]


def test_repr_shows_no_content() -> None:
    """C218: sealed values are logged without what is in them."""
    assert "secret" not in repr(Sealed.of("secret")) + str(Sealed.of("secret"))
    assert repr(SealedRun.of((Event.text("secret"),))) == "<SealedRun of 1>"


def test_dump_is_the_pickle() -> None:
    """`dump` and `load` are pickle, protocol 5."""
    assert dump((1,)) == pickle.dumps((1,), 5)
