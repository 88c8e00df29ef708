"""Which messages are let in: all that a constructor makes, and none whose fields are something else."""

from __future__ import annotations

import pickle
from typing import Any

import attrs
import pytest

from gen_agent import AgentAddress, Interrupted, messages
from gen_agent.agent import Agent
from gen_agent.envelopes import Envelope
from gen_agent.soundness import is_sound, sound_call
from gen_agent.values import Caller, Incarnation, mint
from gen_agent.wire import restore


class ActorAddress:
    """What an address looks like."""

    addressDetails = "details"


INCARNATION = Incarnation("host", 1, 2, "nonce")
SOMEBODY = AgentAddress("name", INCARNATION, ActorAddress())
REF, CALL = mint.request(), mint.call()
CALLER = Caller("host", 1, 2)

SOUND: tuple[Envelope, ...] = (
    messages.Ask("x", caller=CALLER, incarnation=INCARNATION),
    messages.Tell("x", recipient=SOMEBODY, stream_to=ActorAddress(), stream_batch=True),
    messages.Submit("x", SOMEBODY, on_halt="fail", sequence=3),
    messages.Poll(REF),
    messages.NotifyAck({"any": "thing"}),
    messages.Notify(None),
    messages.Interrupt(incarnation=INCARNATION),
    messages.StopAgent(SOMEBODY),
    messages.StopAgent(),
    messages.Monitor(("a", 1), recipient=ActorAddress()),
    messages.Demonitor(mint.monitor()),
    messages.StartAgent(Agent, name="a", backend="echo", options={"x": 1}, script=b""),
    messages.Admission("a", REF, None, incarnation=INCARNATION, delivery=1),
    messages.EventBatch("a", REF, 1, ()),
    messages.Completion(None, REF, Interrupted()),
    messages.Reply(CALL, 1),
    messages.Reply(CALL, None, Interrupted()),
    messages.Down(mint.monitor(), SOMEBODY, "a", "killed"),
    messages.TelemetryMessage(("turn", "start"), {}, {}),
)


@pytest.mark.parametrize("message", SOUND, ids=lambda message: type(message).__name__)
def test_what_a_constructor_makes_is_let_in(message: Envelope) -> None:
    """C105: nothing that was made as it should be is refused, before and after a journey."""
    assert is_sound(message)
    if not any(
        isinstance(getattr(message, field.name), AgentAddress) for field in attrs.fields(type(message))
    ):
        assert is_sound(pickle.loads(pickle.dumps(message)))


WRONG: dict[str, tuple[Any, ...]] = {
    "call": (None, [], "call", REF),
    "caller": (1, [], INCARNATION, Caller("host", [], 2)),
    "incarnation": (1, (), CALLER, Incarnation("host", 1, 2, [])),
    "sequence": ("1", 1.5, True),
    "delivery": ("1", []),
    "prompt": (None, 1, b"x"),
    "ref": (None, [], CALL),
    "recipient": (
        1,
        "somebody",
        AgentAddress([], INCARNATION, ActorAddress()),
        AgentAddress("a", None, None),
    ),
    "stream_to": (1, []),
    "on_halt": (None, [], "drop"),
    "stream_batch": (None, 1),
    "target": (1.5, []),
    "attempt": (None, "1"),
    "detail": (None, "words", (1,)),
    "_error": (1, "error"),
    "_outcome": (None, 1),
    "_events": (None, ()),
}
CASES = [
    (message, field.name, value)
    for message in SOUND
    for field in attrs.fields(type(message))
    for value in WRONG.get(field.name, ())
]


@pytest.mark.parametrize(
    ("message", "field", "value"), CASES, ids=[f"{type(one).__name__}-{name}" for one, name, _ in CASES]
)
def test_a_wrong_field_is_noticed(message: Envelope, field: str, value: Any) -> None:
    """C105: one field that is not what it is declared to be is enough; a call with a number is answered."""
    cls: Any = type(message)
    values = [value if one.name == field else getattr(message, one.name) for one in attrs.fields(cls)]
    forged = restore(cls, *values)
    assert not is_sound(forged)
    if isinstance(message, messages.Call) and field != "call":
        assert sound_call(forged) == message.call
    else:
        assert sound_call(forged) is None


def test_a_message_with_fewer_fields_is_noticed() -> None:
    """A peer that wrote only the version and a number is answered, and its message is not looked into."""
    half = restore(messages.Ask, 1, CALL)
    assert not is_sound(half)
    assert sound_call(half) == CALL
    assert sound_call(restore(messages.Ask, 1)) is None
