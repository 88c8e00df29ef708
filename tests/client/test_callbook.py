"""The call book: who is called, what is asked again, and how calls end."""

from __future__ import annotations

from gen_agent import AgentDown, AgentNotFound, CallTimeout
from gen_agent.client.protocol import ListNames, Lookup
from gen_agent.client.targets import TO_SUPERVISOR
from gen_agent.errors import DrainTimeout
from gen_agent.messages import (
    Ask,
    Drain,
    GetSnapshot,
    Interrupt,
    Notify,
    Reply,
)
from tests.client.books import NEW, OLD, Book


def test_messages_under_a_name_wait_for_its_look_up_in_order() -> None:
    """C239: casts and calls by name leave in order, and nothing leaves before the look-up is answered."""
    book = Book()
    book.cast("a", Notify("first"))
    book.call("a", Ask("second"), None, 0.0)
    book.cast("a", Notify("third"))
    assert [type(message) for _, message in book.outgoing] == [Lookup]
    book.found(NEW)
    sent = book.sent()
    assert [to for to, _ in sent] == [NEW.actor] * 3
    assert [type(message) for _, message in sent] == [Notify, Ask, Notify]
    assert {message.incarnation for _, message in sent} == {NEW.incarnation}


def test_a_known_name_is_not_looked_up_again_while_its_agent_lives() -> None:
    """A name is looked up once; when its agent is dead it is looked up anew before anything is sent."""
    book = Book()
    book.cast("a", Notify(1))
    book.found(OLD)
    book.sent()
    book.cast("a", Notify(2))
    assert [to for to, _ in book.sent()] == [OLD.actor]
    book.dead.add(OLD)
    book.cast("a", Notify(3))
    book.found(NEW)
    assert [(to, message.incarnation) for to, message in book.sent()] == [(NEW.actor, NEW.incarnation)]


def test_an_absent_name_is_not_found() -> None:
    """C102, C103: calls that wait under a name nobody has fail, casts are dropped, the next look-up is
    new."""
    book = Book()
    book.cast("a", Interrupt())
    book.call("a", Ask("?"), None, 0.0)
    book.found(None)
    assert book.ended() == [AgentNotFound("a")]
    assert book.sent() == []
    book.call("a", Ask("?"), None, 0.0)
    assert [type(message) for _, message in book.outgoing] == [Lookup]


def test_a_bounced_call_goes_once_to_the_current_holder() -> None:
    """What a dead incarnation refused goes to the current holder once; a second refusal is the answer."""
    book = Book()
    call = book.call("a", Ask("?"), None, 0.0)
    book.found(OLD)
    book.sent()
    book.replied(Reply(call, error=AgentDown(OLD, "noproc")))
    book.found(NEW)
    assert [(to, message.call) for to, message in book.sent()] == [(NEW.actor, call)]
    book.replied(Reply(call, error=AgentDown(NEW, "noproc")))
    assert book.ended() == [AgentDown(NEW, "noproc")]


def test_what_a_dead_holder_never_got_goes_once_to_the_current_one() -> None:
    """C239: casts and calls that were not delivered come back in order, before later ones; casts once."""
    book = Book(returning=True)
    book.cast("a", Notify("first"))
    call = book.call("a", Ask("second"), None, 0.0)
    book.cast("a", Notify("third"))
    book.found(OLD)
    tickets = [book.ticket(message) for _, message in book.sent()]
    assert tickets[1] == call
    book.delivered(tickets[0])
    book.dead.add(OLD)
    book.cast("a", Notify("fourth"))
    book.undelivered(tickets)
    book.found(NEW)
    sent = book.sent()
    assert [to for to, _ in sent] == [NEW.actor] * 3
    assert [type(message) for _, message in sent] == [Ask, Notify, Notify]
    assert [message.event for _, message in sent[1:]] == ["third", "fourth"]
    again = [book.ticket(message) for _, message in sent]
    assert again[1] is None
    book.dead.add(NEW)
    book.undelivered([ticket for ticket in again if ticket is not None])
    assert book.ended() == [AgentDown("a", "noproc")]
    book.found(None)
    assert book.sent() == []


def test_a_cast_that_came_back_to_nobody_is_dropped() -> None:
    """C103: where nobody has the name any more, nothing more is sent and nobody is told."""
    book = Book(returning=True)
    book.cast("a", Interrupt())
    book.found(OLD)
    (ticket,) = [book.ticket(message) for _, message in book.sent()]
    book.undelivered([ticket])
    book.found(None)
    assert book.sent() == []
    assert book.ended() == []


def test_what_a_dead_supervisor_never_got_is_asked_of_the_next() -> None:
    """Undelivered or not yet sent, a question is not lost with its supervisor; one it may have got is."""
    book = Book()
    undelivered = book.call(TO_SUPERVISOR, ListNames(), None, 0.0, asked="undelivered")
    book.call(TO_SUPERVISOR, ListNames(), None, 0.0, asked="sent")
    book.sent()
    book.undelivered([undelivered])
    book.call(TO_SUPERVISOR, ListNames(), None, 0.0, asked="unsent")
    book.supervisor_lost()
    assert book.ended() == [AgentDown("sent", "registry_lost")]
    assert [message.call for _, message in book.sent()][0] == undelivered
    book.undelivered([undelivered])
    assert book.ended() == [AgentDown("undelivered", "registry_lost")]


def test_a_call_to_an_address_is_never_sent_elsewhere() -> None:
    """C211: a refused call by address is AgentDown, whoever has the name now."""
    book = Book()
    call = book.call(OLD, Ask("?"), None, 0.0)
    book.sent()
    book.replied(Reply(call, error=AgentDown(OLD, "noproc")))
    assert book.ended() == [AgentDown(OLD, "noproc")]
    assert book.sent() == []


def test_death_settles_exactly_the_calls_of_that_incarnation() -> None:
    """C104: calls to a dead agent end with its reason; what it may have taken is not sent again."""
    book = Book()
    book.call("a", Ask("by name"), None, 0.0)
    book.found(OLD)
    book.call(OLD, Ask("by address"), None, 0.0)
    book.call(NEW, Ask("another"), None, 0.0)
    book.sent()
    book.down(OLD.incarnation, "killed")
    assert book.ended() == [AgentDown("a", "killed"), AgentDown(OLD, "killed")]
    assert book.sent() == []
    assert book.holders() == {NEW.incarnation}


def test_every_called_agent_is_watched() -> None:
    """Whoever a call waits for is watched before the call leaves; casts watch nobody."""
    book = Book()
    book.cast(OLD, Interrupt())
    assert book.watching == []
    book.call(OLD, Ask("?"), None, 0.0)
    assert book.watching == [OLD]


def test_deadlines_end_calls_and_late_replies_are_dropped() -> None:
    """C107: CallTimeout names target and limit; the reply that comes later is nobody's."""
    book = Book()
    call = book.call(OLD, Ask("?"), 5.0, 100.0)
    assert book.deadline() == 105.0
    book.expire(104.9)
    assert book.ended() == []
    book.expire(105.0)
    assert book.ended() == [CallTimeout(OLD, 5.0)]
    assert not book.replied(Reply(call, "late"))
    assert book.deadline() is None


def test_a_drain_knows_whether_it_was_taken() -> None:
    """C213: DrainTimeout once a later call was answered, CallTimeout before; an orderly end is no error."""
    book = Book()
    taken, lost = book.call(OLD, Drain(), 1.0, 0.0), book.call(NEW, Drain(), 1.0, 0.0)
    probes = [message for _, message in book.sent() if isinstance(message, GetSnapshot)]
    book.replied(Reply(probes[0].call, "snapshot"))
    book.expire(1.0)
    assert {one.reply.call: type(one.reply.error) for one in book.settled} == {
        taken: DrainTimeout,
        lost: CallTimeout,
    }
    book.settled.clear()
    book.call(OLD, Drain(), None, 0.0)
    book.down(OLD.incarnation, "normal")
    assert book.ended() == [None]
    book.call(OLD, Drain(), None, 0.0)
    book.down(OLD.incarnation, "killed")
    assert book.ended() == [AgentDown(OLD, "killed")]


def test_a_lost_supervisor_is_asked_again_only_what_may_be_asked_twice() -> None:
    """Look-ups go to the next supervisor; everything else it was asked fails with registry_lost."""
    book = Book()
    book.call("a", Ask("?"), None, 0.0)
    book.call(TO_SUPERVISOR, ListNames(), None, 0.0, asked="list")
    book.sent()
    book.supervisor_lost()
    assert [type(message) for _, message in book.outgoing] == [Lookup]
    assert book.ended() == [AgentDown("list", "registry_lost")]
    book.found(NEW)
    assert [type(message) for _, message in book.sent()] == [Ask]


def test_casts_are_numbered_per_incarnation_where_the_base_reorders() -> None:
    """On a base that loses the order casts carry 1, 2, 3 per incarnation; elsewhere no number."""
    book, plain = Book(numbered=True), Book()
    for number in range(3):
        book.cast(OLD, Notify(number))
    book.cast(NEW, Interrupt())
    assert [message.sequence for _, message in book.sent()] == [1, 2, 3, 1]
    plain.cast(OLD, Interrupt())
    assert plain.sent()[0][1].sequence is None
