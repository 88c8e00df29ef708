"""What clients remember of agents that are gone is bounded, whatever they do and however long they live."""

from __future__ import annotations

import pytest

from gen_agent.actors.children import strike_out
from gen_agent.actors.system import AgentSystem
from gen_agent.client import ordering
from gen_agent.client.ordering import GAP_WAIT_S, Ordering
from gen_agent.envelopes import Call
from gen_agent.messages import GetStatus, Reply
from gen_agent.values import AgentAddress, Incarnation
from tests.bases import OWN
from tests.client.books import NEW, Book, event
from tests.faults.cast import Witness

NAMES = 500


def agent(number: int) -> AgentAddress:
    """One of many agents."""
    return AgentAddress(f"agent {number}", Incarnation("nowhere", number, 1, f"nonce {number}"), "an actor")


def answered(book: Book, address: AgentAddress) -> None:
    """A call under that agent's name, answered by it."""
    book.call(address.name, GetStatus(), None, 0.0)
    book.found(address)
    ((_, message),) = book.sent()
    assert isinstance(message, Call)
    assert book.replied(Reply(message.call, "idle"))
    assert book.ended() == ["idle"]


def test_names_of_the_dead_are_forgotten() -> None:
    """A client that asks ever new agents by name knows a bounded number of names, and all of the living."""
    book = Book()
    answered(book, NEW)
    for number in range(NAMES):
        answered(book, agent(number))
        book.dead.add(agent(number))
    assert len(book._lanes) < NAMES / 5
    book.call(NEW.name, GetStatus(), None, 0.0)
    ((target, message),) = book.sent()
    assert (target, type(message)) == (NEW.actor, GetStatus), "it was looked up anew"


def test_a_name_that_something_waits_under_is_kept() -> None:
    """However many names there are: what waits for a look-up is sent when that is answered."""
    book = Book()
    book.call("slow", GetStatus(), None, 0.0)
    (question,) = [item for _, item in book.sent()]
    for number in range(NAMES):
        answered(book, agent(number))
        book.dead.add(agent(number))
    assert book.replied(Reply(question.call, NEW))
    ((target, message),) = book.sent()
    assert (target, type(message)) == (NEW.actor, GetStatus)


def test_agents_that_nobody_monitors_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """C129: of more agents than are remembered the oldest goes; if it lives, its next delivery comes late."""
    monkeypatch.setattr(ordering, "REMEMBERED", 3)
    order = Ordering()
    for number in range(5):
        first = event(1, agent(number))
        assert order.arrived(first, 0.0) == [first]
    assert len(order._sources) == 3
    second, late = event(2, agent(4)), event(2, agent(0))
    assert order.arrived(second, 0.0) == [second]
    assert order.arrived(late, 0.0) == []
    assert order.due(GAP_WAIT_S) == [late]


def test_what_was_answered_is_followed_no_more() -> None:
    """Calls, look-ups and questions about ends leave nothing behind in a script's endpoint."""
    with AgentSystem(OWN) as agents:
        for number in range(3):
            name = f"agent{number}"
            agents.start_agent(Witness, name=name, backend="echo", forward={})
            ref = agents.tell_with_completion(name, "hello")
            assert agents.completion(ref, timeout=30).result().text == "echo: hello"
            agents.stop(name, timeout=30)
        # That the last one has ended was not fetched yet, or how is being asked.
        assert len(agents._line.endpoint._tracks) <= 1
        assert len(agents._pickup._watched) <= 1


def test_an_address_is_struck_out_once() -> None:
    """What Thespian keeps of a child that has ended is its place, and nobody else's."""

    class Addresses:
        _managed = ["first", None, "second", "first"]

    strike_out(Addresses, "first")
    assert Addresses._managed == ["first", None, "second", None]
    strike_out(Addresses, "unknown")
    strike_out(None, "first")
    assert Addresses._managed == ["first", None, "second", None]
