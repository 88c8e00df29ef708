"""How our values travel: by words, in tuples, and never mistaken for what a user wrote."""

from __future__ import annotations

import copy
import pickle
import pickletools
import subprocess
import sys
from typing import Any

import attrs
import pytest
from hypothesis import given

from gen_agent.actors import orders
from gen_agent.actors.places import address_at, packed
from gen_agent.core.signals import Tag
from gen_agent.messages import Admission, Ask, Completion, Down, Reply, Submit
from gen_agent.sealed import Sealed
from gen_agent.values import Caller, CallRef, Incarnation, RequestRef, mint
from gen_agent.wire import Wire, rebuild
from tests import strategies

HERE = Incarnation("host", 1, 2, "nonce")
REF, CALL = mint.request(), mint.call()
UNREADABLE = (ImportError, AttributeError, TypeError, LookupError, pickle.UnpicklingError)


def travelled(value: Any) -> Any:
    """What arrives of it."""
    return pickle.loads(pickle.dumps(value, 5))


def named(value: object) -> list[Any]:
    """What has to be looked up to unpickle `value`."""
    read = list(pickletools.genops(pickle.dumps(value, 5)))
    return [operation.name for operation, _, _ in read if "GLOBAL" in operation.name]


@pytest.mark.parametrize(
    "message",
    [
        Ask("hi", caller=Caller("host", 1, 2), incarnation=HERE),
        Reply(CALL, {"any": "thing"}),
        Completion(("a", 1), REF, strategies.events.Response("x")),
        orders.RunTurn(Tag(REF, 1, 2), "hi", Sealed.of(1), None, None, True, None),
    ],
    ids=lambda message: type(message).__name__,
)
def test_one_name_is_looked_up_for_a_message(message: Any) -> None:
    """All classes in a message are words but for what reads them: looking up each cost most of its time."""
    assert len(named(message)) == 1
    assert travelled(message) == message
    assert type(travelled(message)) is type(message)


@pytest.mark.parametrize(
    "name",
    [("CallRef", "issuer", 1), ("", "x"), ("Sealed", b"no pickle"), ("tuple",), (("Tag",),), ("nothing", 1)],
    ids=repr,
)
def test_a_name_is_never_taken_for_one_of_our_values(name: Any) -> None:
    """C011: a tuple of a user's arrives as that tuple, whatever its first word is."""
    arrived = travelled(Admission(name, REF, None))
    assert (arrived.agent, arrived.ref) == (name, REF)
    assert type(arrived.agent) is tuple


@given(strategies.names)
def test_every_name_arrives_as_it_was(name: Any) -> None:
    """C011: names keep their type and their value on the way."""
    arrived = travelled(Down(mint.monitor(), None, name, "killed", ("a", "b")))
    assert (arrived.name, type(arrived.name), arrived.detail) == (name, type(name), ("a", "b"))


def test_values_arrive_as_what_they_were() -> None:
    """Each kind of number is still of its kind: a call's is no request's."""
    message = travelled(Ask("hi", ref=RequestRef("a", 1), call=CallRef("a", 1), caller=Caller("h", 1, 2)))
    assert [type(one) for one in (message.ref, message.call, message.caller)] == [RequestRef, CallRef, Caller]
    assert (message.ref, message.call) == (RequestRef("a", 1), CallRef("a", 1))
    assert message.ref != message.call


@pytest.mark.parametrize(
    ("word", "values"),
    [
        ("messages.Nobody", (1,)),
        ("nowhere.Ask", (1,)),
        ("events.Event", ("text", {}, 0.0)),
        ("messages.attrs", ()),
        ("messages", ()),
        (dict, ()),
        ([], ()),
        (None, ()),
        ("messages.Reply", (1, ("Nobody", 1))),
        ("messages.Reply", (1, ("CallRef", "a"))),
        ("messages.Reply", (1, ())),
        ("messages.Reply", (1, (None, 2))),
    ],
    ids=repr,
)
def test_what_means_nothing_here_is_unreadable(word: Any, values: tuple[Any, ...]) -> None:
    """A word, a class or a value that is none of ours makes nothing: the pickle can't be read."""
    with pytest.raises(UNREADABLE):
        rebuild(word, *values)


@attrs.frozen(slots=True, getstate_setstate=False)
class Mine(Wire):
    """What somebody outside the package may make."""

    first: Any
    second: Any = None


def test_the_class_of_somebody_else_travels_as_itself() -> None:
    """Words are for our own classes: another's is found, or not found, where pickle finds it."""
    assert travelled(Mine((1, 2), REF)) == Mine((1, 2), REF)
    assert len(named(Mine(1))) == 2


def test_a_message_is_copied_through_the_same_door() -> None:
    """Copies are equal, and what is in a deep one is a copy too."""
    message = Completion(("a", 1), REF, strategies.events.Response("x"))
    assert copy.copy(message) == message
    deep = copy.deepcopy(message)
    assert deep == message
    assert deep.ref is not message.ref


def test_an_address_is_read_where_nobody_has_seen_one() -> None:
    """A process that has imported nothing of ours learns from a message what it needs to read it."""
    data = pickle.dumps(Submit("hi", address_at(packed(("127.0.0.1", 7777)))))
    assert b"actors.places" in data
    program = (
        "import pickle, sys\n"
        "message = pickle.load(sys.stdin.buffer)\n"
        "print(type(message).__name__, message.recipient, type(message.ref).__name__)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=data,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout, done.stderr) == (b"Submit ActorAddr-(T|:7777) RequestRef\n", b"")
