"""AgentClient in an actor that is none."""

from __future__ import annotations

from datetime import timedelta

import attrs
import pytest
from thespian.actors import WakeupMessage

from gen_agent import AgentDown, CallTimeout, SelfStop, Unpicklable
from gen_agent.agent import scoped_name
from gen_agent.client.agent_client import AgentClient
from gen_agent.client.protocol import Hello, Lookup
from gen_agent.client.whereabouts import this_caller
from gen_agent.messages import (
    Down,
    Monitor,
    Reply,
    Submit,
)
from gen_agent.values import AgentAddress, mint
from tests.actors.crew import Diary
from tests.client.books import NEW, OLD, event
from tests.client.stand import Placed, Stand


def test_made_twice_it_is_the_same_client() -> None:
    """AgentClient(actor) wraps an actor once."""
    stand = Stand()
    assert AgentClient(stand) is AgentClient(stand)
    stand.receiveMessage("hello", None)
    assert stand.seen == ["hello"]


def test_internal_messages_are_swallowed_and_the_watch_is_kept() -> None:
    """The actor sees its own messages only; its last return value is returned for the others."""
    stand = Stand()
    client = AgentClient(stand)
    assert stand.receiveMessage("own", None) == ("watch", 1)
    client.status("a")
    (hello,) = stand.outbox(Hello)
    (lookup,) = stand.outbox(Lookup)
    assert stand.receiveMessage(Reply(hello.call, None), None) == ("watch", 1)
    assert stand.receiveMessage(Reply(lookup.call, OLD), None) == ("watch", 1)
    (monitor,) = stand.outbox(Monitor)
    assert stand.receiveMessage(Reply(monitor.call, monitor.ref), None) == ("watch", 1)
    assert stand.seen == ["own"]


def test_a_late_answer_to_a_greeting_is_swallowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A supervisor that answers when it was given up and greeted anew is not heard by the actor."""
    monkeypatch.setattr("gen_agent.client.oversight.LOOK_S", 0.0)
    stand = Placed()
    client = AgentClient(stand)
    client.status("a")
    client.status("b")
    early, late = stand.outbox(Hello)
    stand.receiveMessage(Reply(early.call, None), None)
    stand.receiveMessage(Reply(late.call, this_caller()), None)
    assert stand.seen == []


def test_a_reply_arrives_once_and_only_for_its_call() -> None:
    """A call's reply is passed on; a late second one is not; a stranger's reply is none of the client's."""
    stand = Stand()
    client = AgentClient(stand)
    call = client.ask(OLD, "hello")
    reply, stranger = Reply(call, "answer"), Reply(mint.call(), "not ours")
    stand.receiveMessage(reply, None)
    stand.receiveMessage(Reply(call, "again"), None)
    stand.receiveMessage(stranger, None)
    assert stand.seen == [reply, stranger]


def test_calls_end_with_their_agent() -> None:
    """C104: the death of a called agent settles its calls, learned by a monitor nobody else sees."""
    stand = Stand()
    client = AgentClient(stand)
    call = client.ask(OLD, "hello")
    (monitor,) = stand.outbox(Monitor)
    stand.receiveMessage(
        Down(monitor.ref, OLD, "a", "shutdown", incarnation=OLD.incarnation, delivery=0), None
    )
    assert [(reply.call, reply.error) for reply in stand.seen] == [(call, AgentDown(OLD, "shutdown"))]


def test_a_timeout_arrives_as_a_reply() -> None:
    """A call with a timeout sets one wakeup; when it comes, a Reply with CallTimeout is passed on."""
    stand = Stand()
    client = AgentClient(stand)
    call = client.ask(OLD, "hello", timeout=0.0)
    (seconds, payload) = stand.wakeups[-1]
    assert seconds == 0.0
    stand.receiveMessage(WakeupMessage(timedelta(0), payload), None)
    assert [(reply.call, reply.error) for reply in stand.seen] == [(call, CallTimeout(OLD, 0.0))]


def test_wakeups_of_the_actor_are_its_own() -> None:
    """A WakeupMessage the client did not ask for is passed on."""
    stand = Stand()
    AgentClient(stand)
    own = WakeupMessage(timedelta(0), "own")
    stand.receiveMessage(own, None)
    assert stand.seen == [own]


def test_a_raise_is_offered_again_with_exactly_what_was_not_taken() -> None:
    """Thespian calls again with the same message: the actor sees what it raised at, and nothing twice."""
    stand = Stand()
    AgentClient(stand)
    one, two = event(1), event(2)
    stand.receiveMessage(two, None)
    stand.raising = 1
    with pytest.raises(ValueError):  # noqa: PT011
        stand.receiveMessage(one, None)
    stand.receiveMessage(attrs.evolve(one), None)
    assert stand.seen == [one, two]


def test_those_behind_a_message_that_is_given_up_still_come() -> None:
    """After the last attempt Thespian gives a message up; what waited behind it comes with the next
    wakeup."""
    stand = Stand()
    AgentClient(stand)
    one, two = event(1), event(2)
    stand.receiveMessage(two, None)
    stand.raising = 3
    for _ in range(3):
        with pytest.raises(ValueError):  # noqa: PT011
            stand.receiveMessage(one, None)
    (_, payload) = stand.wakeups[-1]
    stand.receiveMessage(WakeupMessage(timedelta(0), payload), None)
    assert stand.seen == [two]


def test_bad_arguments_raise_at_once() -> None:
    """C105, C116, C197: nothing is sent for an argument that can't be right."""
    stand = Stand()
    client = AgentClient(stand)
    with pytest.raises(TypeError, match="prompt"):
        client.ask("a", 42)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="ref"):
        client.poll("a", "no ref")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="on_halt"):
        client.tell_with_completion("a", "x", on_halt="never")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="stream_to"):
        client.submit_with_completion(OLD, "x", stream_to="x")
    with pytest.raises(TypeError, match="address"):
        client.submit_with_completion("a", "x")
    with pytest.raises(ValueError, match="timeout"):
        client.status("a", timeout=float("nan"))
    with pytest.raises(TypeError, match="target"):
        client.halt(None)
    with pytest.raises(Unpicklable):
        client.notify("a", lambda: None)
    with pytest.raises(TypeError, match="name"):
        client.start_agent(Diary, backend="echo")
    assert stand.sent == []


def test_an_agent_does_not_stop_itself() -> None:
    """C128: stop of oneself, by name or address, is SelfStop at once; of another one, a former holder of the
    name included, it is a call.
    """
    stand = Stand()
    client = AgentClient(stand)
    with scoped_name("a"):
        with pytest.raises(SelfStop):
            client.stop("a")
        with pytest.raises(SelfStop):
            client.stop(AgentAddress("a", NEW.incarnation, stand.myAddress))
        assert client.stop(OLD) is not None
        assert client.stop("b") is not None
    with pytest.raises(SelfStop):
        client.stop(AgentAddress(None, NEW.incarnation, stand.myAddress))


def test_submits_carry_the_actor_as_recipient() -> None:
    """C195: None as recipient means this actor; the ref is there at once."""
    stand = Stand()
    ref = AgentClient(stand).submit_with_completion(OLD, "hello")
    (submit,) = stand.outbox(Submit)
    assert (submit.ref, submit.recipient, submit.incarnation) == (ref, stand.myAddress, OLD.incarnation)
