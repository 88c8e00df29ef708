"""Envelopes: what they refuse, how they travel, what they show."""

from __future__ import annotations

import enum
import pickle
import subprocess
import sys
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gen_agent import messages
from gen_agent.agent import Agent
from gen_agent.envelopes import VERSION, Call, Cast, Envelope
from gen_agent.errors import (
    BackendFailed,
    Cancelled,
    Draining,
    GenAgentError,
    Interrupted,
    Undecodable,
    Unpicklable,
)
from gen_agent.events import Event, Response
from gen_agent.messages import (
    Admission,
    Ask,
    CancelRequest,
    Completion,
    Demonitor,
    EventBatch,
    EventMessage,
    InterruptRequest,
    Monitor,
    Notify,
    NotifyAck,
    Poll,
    Reply,
    StartAgent,
    StopAgent,
    Submit,
    Tell,
)
from gen_agent.sealed import Sealed
from gen_agent.values import AgentAddress, CallRef, Incarnation, RequestRef, Status
from gen_agent.wire import changed
from tests.strategies import VALUES, ActorAddress, Quiet, errors_of

HERE = AgentAddress("a", Incarnation("host", 1, 1, "n"), None)
REF, CALL = RequestRef("a", 1), CallRef("a", 1)
ENVELOPES = [cls for cls in vars(messages).values() if isinstance(cls, type) and issubclass(cls, Envelope)]


class Mine:
    """A value of a class that only this test's module has."""

    def __init__(self, secret: str = "secret") -> None:
        self.secret = secret

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mine) and self.secret == other.secret

    __hash__ = None  # type: ignore[assignment]


def carriers() -> list[Envelope]:
    """One message per place in which a user's value travels."""
    mine = Mine()
    return [
        Notify(mine),
        NotifyAck((mine,)),
        EventMessage("a", REF, 1, Event("text", {"mine": mine})),
        EventBatch("a", REF, 1, (Event("text", {"mine": mine}),)),
        Completion("a", REF, Response(metadata={"mine": mine})),
        Completion("a", REF, BackendFailed(mine)),
        Reply(CALL, mine),
        Reply(CALL, Status("idle", "a", 0, None, False, False, False, mine)),
        Reply(CALL, error=BackendFailed(mine)),
        Admission("a", REF, BackendFailed(mine)),
        StartAgent(Quiet, name="a", backend="echo", options={"mine": mine}),
    ]


# ---------------------------------------------------------------- arguments


@pytest.mark.parametrize("prompt", [42, None, b"x", ["x"]])
@pytest.mark.parametrize("make", [Ask, Tell, lambda prompt: Submit(prompt, HERE)])
def test_a_prompt_is_a_str(make: Any, prompt: Any) -> None:
    """C105, C197: a prompt that is no str raises in the caller."""
    with pytest.raises(TypeError, match="^prompt: a str is needed, not "):
        make(prompt)


@pytest.mark.parametrize(
    "make", [Poll, CancelRequest, InterruptRequest, lambda ref: Ask("x", ref), Demonitor]
)
@pytest.mark.parametrize("ref", ["a-1", None, 1, CALL])
def test_a_ref_is_a_ref(make: Any, ref: Any) -> None:
    """C105: a ref of another kind raises in the caller."""
    with pytest.raises(TypeError, match="^ref: "):
        make(ref)


@pytest.mark.parametrize("field", ["recipient", "stream_to"])
@pytest.mark.parametrize(
    "make", [lambda **kw: Tell("x", **kw), lambda **kw: Submit("x", **{"recipient": HERE, **kw})]
)
def test_recipients_are_addresses(make: Any, field: str) -> None:
    """C105, C116, C197: a recipient or stream_to that is no address raises in the caller and is named."""
    with pytest.raises(TypeError, match=f"^{field}: an AgentAddress or ActorAddress is needed, not str"):
        make(**{field: "coder"})
    for address in (HERE, ActorAddress("x")):
        assert getattr(make(**{field: address}), field) == address


def test_submit_needs_a_recipient() -> None:
    """C195: a submit without anyone to tell is no submit."""
    with pytest.raises(TypeError, match="^recipient: "):
        Submit("x", None)


@pytest.mark.parametrize(("on_halt", "error"), [("later", ValueError), (None, TypeError), (True, TypeError)])
def test_on_halt_is_queue_or_fail(on_halt: Any, error: type[Exception]) -> None:
    """C116, C197: another on_halt raises in the caller, naming what is allowed."""
    for make in (lambda: Tell("x", on_halt=on_halt), lambda: Submit("x", HERE, on_halt=on_halt)):
        with pytest.raises(error, match="^on_halt: 'queue' or 'fail' is allowed"):
            make()


class Words(str, enum.Enum):
    """Words that only this test's module has."""

    QUEUE = "queue"
    PERMANENT = "permanent"
    ECHO = "echo"


@pytest.mark.parametrize(
    "message",
    [
        Ask(Words.ECHO),
        Tell(Words.ECHO, on_halt=Words.QUEUE),
        Submit(Words.ECHO, HERE, on_halt=Words.QUEUE),
        StartAgent(Quiet, name=Words.ECHO, backend=Words.ECHO, restart=Words.PERMANENT),
    ],
)
def test_words_of_an_enum_travel_as_plain_text(message: Envelope) -> None:
    """C116: who receives a message may not have the enum that a prompt, a policy or a name was taken from."""
    assert Words.__qualname__.encode() not in pickle.dumps(message)


@pytest.mark.parametrize("make", [Monitor, StopAgent])
def test_targets_are_names_or_addresses(make: Any) -> None:
    """C011: a target is a name or an address."""
    for target in ("coder", ("a", 1), HERE, ActorAddress("x")):
        assert make(target).target == target
    with pytest.raises(TypeError, match="^name: "):
        make(1.5)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"agent": dict}, TypeError),
        ({"agent": Quiet()}, TypeError),
        ({"name": None}, TypeError),
        ({"name": 1.5}, TypeError),
        ({"backend": None}, TypeError),
        ({"options": {"watchdog_s": -1}}, ValueError),
        ({"options": {"x": lambda: None}}, Unpicklable),
        ({"restart": "always"}, ValueError),
    ],
)
def test_bad_starts_are_told_in_the_caller(change: dict[str, Any], error: type[Exception]) -> None:
    """C003, C005: what can't be started raises where the message is made."""
    arguments = {"agent": Quiet, "name": "a", "backend": "echo", **change}
    with pytest.raises(error):
        StartAgent(arguments.pop("agent"), **arguments)


def test_a_start_splits_its_options() -> None:
    """C006: the agent finds its checked options, and those of `init_agent`, in the message."""
    start = pickle.loads(
        pickle.dumps(StartAgent(Quiet, name="a", backend="echo", options={"watchdog_s": 3, "cwd": "."}))
    )
    options, forwarded = start.split()
    assert (options.name, options.backend, options.watchdog_s, forwarded) == ("a", "echo", 3.0, {"cwd": "."})
    assert start.agent is Quiet
    assert start.backend_key == "echo"
    assert StartAgent(Quiet, name=None, backend="echo", supervised=False).name is None


def test_classes_group_by_key_without_being_loaded() -> None:
    """The key of a backend class is equal for equal classes and different for others."""
    from_name = "gen_agent.backends.echo:EchoBackend"
    assert StartAgent(Quiet, name="a", backend=from_name).backend_key == from_name


# ---------------------------------------------------------------- on the wire


@given(st.sampled_from(ENVELOPES).filter(VALUES.__contains__).flatmap(VALUES.__getitem__))
def test_an_unopened_envelope_travels_on(message: Envelope) -> None:
    """What a process forwards without looking inside arrives equal, with its numbers and its version."""
    once = pickle.loads(pickle.dumps(message, 5))
    twice = pickle.loads(pickle.dumps(once, 5))
    assert twice == message
    assert twice.version == VERSION
    for name in ("sequence", "delivery", "incarnation", "call", "caller"):
        assert getattr(twice, name, None) == getattr(message, name, None)


def test_a_changed_envelope_is_the_same_but_for_what_was_changed() -> None:
    """A client stamps copies: the message that was given stays as it was, all else is carried over."""
    message = Notify(Event("text", {"n": 1}), sequence=3, version=7)
    other = changed(message, sequence=4)
    assert (message.sequence, other.sequence) == (3, 4)
    assert other == message
    assert (other.event, other.version, other.incarnation) == (message.event, 7, None)


def test_the_version_is_read_first() -> None:
    """An envelope of another release still shows its version, whatever else it holds."""
    rebuild, (cls, _, *rest) = Ask("x").__reduce__()
    assert rebuild(cls, 99, *rest, "more").version == 99
    assert rebuild(cls, 99).version == 99


def test_messages_between_processes_need_no_class_of_the_user() -> None:
    """A process without the user's classes can unpickle, forward and log what carries them."""
    program = (
        "import pickle, sys\n"
        "for message in pickle.load(sys.stdin.buffer):\n"
        "    again = pickle.loads(pickle.dumps(message))\n"
        "    repr(again), str(again)\n"
        "    assert 'tests' not in sys.modules\n"
        "print('ok')\n"
    )
    data = pickle.dumps(carriers())
    done = subprocess.run(
        [sys.executable, "-c", program], input=data, capture_output=True, timeout=60, check=False
    )
    assert (done.stdout, done.stderr) == (b"ok\n", b"")


@pytest.mark.parametrize(
    "make",
    [
        Notify,
        NotifyAck,
        lambda value: EventMessage("a", REF, 1, Event("text", {"x": value})),
        lambda value: EventBatch("a", REF, 1, (Event("text", {"x": value}),)),
        lambda value: Completion("a", REF, Response(metadata={"x": value})),
        lambda value: Reply(CALL, value),
        lambda value: Reply(CALL, error=BackendFailed(value)),
        lambda value: StartAgent(Quiet, name="a", backend="echo", options={"x": value}),
    ],
)
def test_unpicklable_values_raise_before_anything_is_sent(make: Any) -> None:
    """Making the message raises `Unpicklable`; there is nothing that could be sent."""
    with pytest.raises(Unpicklable):
        make(lambda: "secret")


@pytest.mark.parametrize("message", carriers(), ids=lambda message: type(message).__name__)
def test_messages_show_their_class_only(message: Envelope) -> None:
    """C218: the `repr` and `str` of an envelope, which Thespian logs, are its class's name."""
    assert repr(message) == str(message) == f"<{type(message).__name__}>"


@pytest.mark.parametrize("cls", [cls for cls in ENVELOPES if cls in VALUES])
def test_every_envelope_is_silent_and_frozen(cls: type[Envelope]) -> None:
    """C218: every class of envelope has the silent `repr` of its base and can't be changed."""
    assert cls.__repr__ is Envelope.__repr__
    assert not hasattr(cls(**({} if not attrs.fields_dict(cls) else _smallest(cls))), "__dict__")


def _smallest(cls: type) -> dict[str, Any]:
    given_by_name = {
        "prompt": "x", "recipient": HERE, "ref": REF, "event": Event("text"), "agent": "a", "attempt": 1,
        "events": (), "outcome": Draining(), "call": CALL, "target": "a", "reason": "normal",
        "measurements": {}, "metadata": {}, "name": "a", "backend": "echo", "monitor": None,
    }  # fmt: skip
    if cls is StartAgent:
        given_by_name["agent"] = Quiet
    needed = [f.alias for f in attrs.fields(cls) if f.default is attrs.NOTHING]
    return {name: messages.Monitor("a").ref if cls is Demonitor else given_by_name[name] for name in needed}


def test_calls_number_themselves() -> None:
    """Every call has its own number, every request its own ref; casts have neither."""
    first, second = Ask("x"), Ask("x")
    assert first.call != second.call
    assert first.ref != second.ref
    assert isinstance(first, Call)
    assert isinstance(Submit("x", HERE), Cast)
    assert not hasattr(Notify("x"), "call")


# ---------------------------------------------------------------- what comes back


def test_a_completion_returns_or_raises_fresh_copies() -> None:
    """C112: `result` returns the response, or raises a copy of the error each time."""
    response = Response(text="hello")
    assert Completion("a", REF, response).result() == response
    failed = Completion("a", REF, Interrupted())
    raised = []
    for _ in range(2):
        with pytest.raises(Interrupted) as caught:
            failed.result()
        raised.append(caught.value)
    assert raised[0] == raised[1] == failed.outcome
    assert raised[0] is not raised[1]
    assert failed.outcome is not raised[0]
    with pytest.raises(TypeError, match="^outcome: "):
        Completion("a", REF, "hello")


def test_a_sealed_outcome_is_not_pickled_again() -> None:
    """An outcome that left the worker sealed stays those bytes, and equals the open one."""
    sealed = Sealed(pickle.dumps(Response(text="hello"), 5))
    completion = Completion("a", REF, sealed)
    assert completion == Completion("a", REF, Response(text="hello"))
    assert sealed.data in pickle.dumps(completion, 5)
    assert completion.outcome is completion.outcome


@given(errors_of(BackendFailed))
def test_a_reply_returns_or_raises(error: GenAgentError) -> None:
    """A reply's `result` is its value, or a raised copy of its error."""
    assert Reply(CALL, ("a", b"b")).result() == ("a", b"b")
    assert Reply(CALL).result() is None
    with pytest.raises(BackendFailed) as raised:
        pickle.loads(pickle.dumps(Reply(CALL, error=error))).result()
    assert raised.value == error
    with pytest.raises(TypeError, match="^error: "):
        Reply(CALL, error="late")


def test_what_cannot_be_opened_arrives_in_its_place() -> None:
    """A value whose class is not here is an `Undecodable` in its place, and raised by `result`."""
    lost = Sealed(b"\x80\x05cno_such_module\nThing\n.")
    what = Undecodable("ModuleNotFoundError")
    assert Notify(lost).event == what
    assert EventMessage("a", REF, 1, lost).event == what
    assert Reply(CALL, lost).value == what
    assert Completion("a", REF, lost).outcome == what
    for message in (Reply(CALL, lost), Completion("a", REF, lost)):
        with pytest.raises(Undecodable):
            message.result()


def test_an_admission_says_whether_a_completion_follows() -> None:
    """C198, C199: accepted without an error, refused with one."""
    assert Admission("a", REF).accepted
    refused = Admission("a", REF, Cancelled())
    assert (refused.accepted, refused.error) == (False, Cancelled())


def test_a_batch_holds_its_events_in_order() -> None:
    """C175: a batch opens to the events it was made of, as often as it is asked."""
    run = (Event.text("a"), Event.text("b"), Event.result())
    batch = pickle.loads(pickle.dumps(EventBatch("a", REF, 2, run)))
    assert batch.events == run
    assert batch.events is batch.events
    assert len(batch) == 3


def test_delivery_numbers_do_not_make_a_difference() -> None:
    """Numbering is the transport's matter: two deliveries differ by what they say."""
    assert Admission("a", REF, delivery=1) == Admission("a", REF, delivery=2)
    assert Notify("x", sequence=1) == Notify("x", sequence=2)
    assert Notify("x") != Notify("y")


def test_a_notification_knows_its_size() -> None:
    """C156: what counts against the limits is the size of the event alone."""
    assert Notify("äb").size == 3
    assert Notify(b"abc").size == 3
    assert NotifyAck({"a": 1}).size == len(pickle.dumps({"a": 1}, 5))


def test_an_agent_class_from_elsewhere_is_still_a_class() -> None:
    """The agent in a start is opened where it is built, and only there."""
    start = StartAgent(Quiet, name="a", backend="echo")
    assert issubclass(start.agent, Agent)
