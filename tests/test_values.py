"""Names, refs, addresses, sizes."""

from __future__ import annotations

import os
import pickle
from typing import Any

import attrs
import pytest
from hypothesis import given

from gen_agent.errors import Unpicklable
from gen_agent.sealed import Sealed
from gen_agent.values import (
    PENDING,
    AgentAddress,
    Incarnation,
    Mint,
    RequestRef,
    RuntimeSnapshot,
    Status,
    checked_name,
    is_address,
    mint,
    name_key,
    payload_size,
)
from tests.strategies import ActorAddress, addresses, names, payloads

HERE = Incarnation("host", 7, 70, "a")


@given(names)
def test_names_are_kept_as_they_are(name: Any) -> None:
    """C011: a str, bytes, int or tuple of these is a name."""
    assert checked_name(name) == name
    hash(name_key(name))


@pytest.mark.parametrize(
    "name",
    [None, True, 1.0, (), ("a", None), ["a"], object(), AgentAddress("a", HERE, None), ActorAddress("x")],
)
def test_what_is_no_name(name: object) -> None:
    """C011: anything else, an address above all, is a `TypeError` that names the class only."""
    with pytest.raises(TypeError, match="^name: "):
        checked_name(name)


def test_names_compare_with_their_type() -> None:
    """C011: 1, "1", b"1", ("1",) and (1,) are five names."""
    assert len({name_key(name) for name in (1, "1", b"1", ("1",), (1,))}) == 5


def test_refs_are_never_minted_twice() -> None:
    """C111: two mints, and a mint after a fork, never issue the same ref."""
    mints = (Mint(), Mint())
    refs = {each.request() for each in mints for _ in range(100)}
    assert len(refs) == 200
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, pickle.dumps(mints[0].request()))
        os._exit(0)
    os.close(writing)
    with open(reading, "rb") as pipe:
        theirs = pickle.loads(pipe.read())
    os.waitpid(child, 0)
    assert theirs not in refs
    assert theirs != mints[0].request()


def test_kinds_of_refs_differ() -> None:
    """A call's number is no request's, whatever the numbers."""
    assert RequestRef("a", 1) == RequestRef("a", 1)
    assert len({type(ref) for ref in (mint.request(), mint.call(), mint.monitor())}) == 3
    assert str(RequestRef("a", 1)) == "a-1"


def test_an_address_is_its_name_and_incarnation() -> None:
    """C211: an address is equal by name and incarnation, whatever its actor."""
    first = AgentAddress("a", HERE, ActorAddress("x"))
    assert first == AgentAddress("a", HERE, ActorAddress("y"))
    assert hash(first) == hash(AgentAddress("a", HERE, None))
    assert first != AgentAddress("a", attrs.evolve(HERE, start_time=71), first.actor)
    assert first != AgentAddress(b"a", HERE, first.actor)
    assert AgentAddress(1, HERE, None) != AgentAddress("1", HERE, None)


@given(addresses)
def test_addresses_travel(address: AgentAddress) -> None:
    """An address keeps its actor on the wire."""
    whole = attrs.evolve(address, actor=ActorAddress("x"))
    copied = pickle.loads(pickle.dumps(whole))
    assert copied == whole
    assert copied.actor == whole.actor


def test_addresses_are_told_by_their_shape() -> None:
    """C105: an AgentAddress and a Thespian address are addresses, a look-alike is none."""
    assert is_address(AgentAddress("a", HERE, None))
    assert is_address(ActorAddress("x"))
    assert not any(map(is_address, ("a", 1, None, object(), ("a",))))
    assert not is_address(type("ActorAddress", (), {})())


@pytest.mark.parametrize(
    ("value", "size"),
    [("", 0), ("abc", 3), ("ä€", 5), ("\ud800", 3), (b"abc", 3), (bytearray(4), 4), (memoryview(b"ab"), 2)],
)
def test_sizes_of_texts_and_bytes(value: Any, size: int) -> None:
    """C149: the size of a str is its UTF-8 length, that of bytes their length, without overhead."""
    assert payload_size(value) == size


@given(payloads)
def test_other_sizes_are_those_of_the_pickle(value: Any) -> None:
    """C156: the size of any other value is that of its pickle, also when it is sealed already."""
    if not isinstance(value, (str, bytes)):
        assert payload_size(value) == len(pickle.dumps(value, 5))
    assert payload_size(Sealed.of(value)) == payload_size(value)


def test_no_size_of_what_cannot_be_sent() -> None:
    """A value without a pickle has no size."""
    with pytest.raises(Unpicklable):
        payload_size(lambda: None)


def test_pending_is_one() -> None:
    """C117: `poll` answers the one PENDING, also across processes."""
    assert pickle.loads(pickle.dumps(PENDING)) is PENDING
    assert repr(PENDING) == "PENDING"


def test_the_fields_of_status_and_snapshot() -> None:
    """C192, C193: status and snapshot have exactly these fields; a status does not show state."""
    assert [field.name for field in attrs.fields(Status)] == [
        "state", "name", "queued", "current_request", "halted", "halt_pending", "draining", "agent_state",
    ]  # fmt: skip
    assert [field.name for field in attrs.fields(RuntimeSnapshot)] == [
        "phase", "halted", "halt_pending", "draining", "pending_prompts", "pending_notifications",
        "self_chain_pending", "current_request",
    ]  # fmt: skip
    status = Status("idle", "a", 0, None, False, False, False, "secret")
    assert "secret" not in repr(status)
    assert status.agent_state == "secret"
