"""The call book, the order of deliveries, and AgentClient in an actor that is none and in real ones."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import attrs
import pytest
from thespian.actors import ActorAddress, WakeupMessage

from gen_agent import AgentDown, AgentNotFound, CallTimeout, Event, SelfStop, Unpicklable
from gen_agent.agent import scoped_name
from gen_agent.client.agent_client import AgentClient
from gen_agent.client.callbook import CallBook
from gen_agent.client.ordering import DOWN_WAIT_S, GAP_WAIT_S, KILLED_WAIT_S, Ordering
from gen_agent.client.protocol import Hello, ListNames, Lookup
from gen_agent.client.targets import TO_SUPERVISOR
from gen_agent.envelopes import Call
from gen_agent.errors import DrainTimeout
from gen_agent.messages import (
    Ask,
    Completion,
    Down,
    Drain,
    EventMessage,
    GetSnapshot,
    Interrupt,
    Monitor,
    Notify,
    Reply,
    Submit,
)
from gen_agent.values import AgentAddress, Incarnation, mint
from tests.actors.crew import ALL, BASES, Clumsy, Customer, Diary, kill, running

OLD = AgentAddress("a", Incarnation("nowhere", 1, 1, "old"), "old actor")
NEW = AgentAddress("a", Incarnation("nowhere", 2, 2, "new"), "new actor")


class Book(CallBook):
    """A book whose agents are alive unless said otherwise, and that shows what it would send."""

    def __init__(self, **keywords: Any) -> None:
        self.dead: set[AgentAddress] = set()
        self.watching: list[AgentAddress] = []
        super().__init__(None, lambda who: who not in self.dead, self.watching.append, **keywords)

    def sent(self) -> list[tuple[Any, Any]]:
        """What is to be sent now; it is taken out."""
        items = list(self.outgoing)
        self.outgoing.clear()
        return items

    def found(self, address: AgentAddress | None) -> None:
        """Answer the one look-up that is under way."""
        (question,) = [item for _, item in self.sent() if isinstance(item, Lookup)]
        assert self.replied(Reply(question.call, address))

    def ended(self) -> list[Any]:
        """The values and errors of the calls settled since."""
        settled = [one.reply.error or one.reply.value for one in self.settled]
        self.settled.clear()
        return settled


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
    assert [(to, type(message)) for to, message in sent] == [
        (NEW.actor, Ask),
        (NEW.actor, Notify),
        (NEW.actor, Notify),
    ]
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
    assert book.ended() == [AgentDown("undelivered", "noproc")]


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


# ---------------------------------------------------------------- the order of deliveries


def event(number: int, who: AgentAddress = OLD) -> EventMessage:
    """The delivery of that number."""
    return EventMessage("a", REF, 1, Event.text(str(number)), incarnation=who.incarnation, delivery=number)


def down(last: int | None, reason: str = "normal") -> Down:
    """The end of the old agent."""
    return Down(mint.monitor(), OLD, "a", reason, incarnation=OLD.incarnation, delivery=last)


REF = mint.request()


def test_deliveries_are_handed_over_by_number() -> None:
    """C243: early deliveries wait for those before them; each comes once."""
    order = Ordering()
    one, two, three = event(1), event(2), event(3)
    assert order.arrived(two, 0.0) == []
    assert order.arrived(three, 0.0) == []
    assert order.arrived(one, 0.0) == [one, two, three]
    assert order.arrived(two, 0.0) == []


def test_a_gap_is_given_up_and_what_was_missing_still_comes() -> None:
    """A lost delivery holds up the rest for a bounded time; one that was only late is handed over late."""
    order = Ordering()
    late, two = event(1), event(2)
    order.arrived(two, 10.0)
    assert order.deadline() == 10.0 + GAP_WAIT_S
    assert order.due(10.0 + GAP_WAIT_S) == [two]
    assert order.arrived(late, 20.0) == [late]
    assert order.arrived(late, 20.0) == []


def test_down_waits_for_the_announced_deliveries() -> None:
    """Down comes with the last announced delivery, or after 0.3 s; nothing comes after it."""
    order = Ordering()
    end, one = down(1), event(1)
    assert order.arrived(end, 0.0) == []
    assert order.deadline() == DOWN_WAIT_S
    assert order.arrived(one, 0.1) == [one, end]
    assert order.arrived(event(2), 0.2) == []
    assert order.deadline() is None


def test_down_of_a_killed_agent_leaves_time_for_what_was_under_way() -> None:
    """Where nothing was announced Down waits a moment; all monitors get theirs then."""
    order = Ordering()
    ends = [down(None, "killed"), down(None, "killed")]
    assert [order.arrived(end, 0.0) for end in ends] == [[], []]
    one = event(1)
    assert order.arrived(one, 0.01) == [one]
    assert order.due(KILLED_WAIT_S) == ends


def test_down_of_nobody_comes_at_once() -> None:
    """C255: Down(noproc) does not wait."""
    end = down(None, "noproc")
    assert Ordering().arrived(end, 0.0) == [end]


def test_agents_do_not_wait_for_each_other() -> None:
    """C250: a gap of one agent holds up nobody else."""
    order = Ordering()
    order.arrived(event(2), 0.0)
    other = event(1, NEW)
    assert order.arrived(other, 0.0) == [other]


# ---------------------------------------------------------------- AgentClient outside any system


class Stand:
    """What AgentClient needs of an actor: everything is kept, nothing happens."""

    def __init__(self) -> None:
        self.myAddress = ActorAddress("me")
        self.sent: list[tuple[Any, Any]] = []
        self.seen: list[Any] = []
        self.wakeups: list[tuple[float, Any]] = []
        self.raising = 0

    def send(self, address: Any, message: Any) -> None:
        """Keep it."""
        self.sent.append((address, message))

    def createActor(self, actor: Any, requirements: Any = None, globalName: str | None = None) -> Any:
        """An address by its name."""
        return ActorAddress(globalName or "child")

    def wakeupAfter(self, period: timedelta, payload: Any = None) -> None:
        """Keep it."""
        self.wakeups.append((period.total_seconds(), payload))

    def receiveMessage(self, message: Any, sender: Any) -> Any:
        """The actor's own: raises as often as it is told to."""
        if self.raising:
            self.raising -= 1
            raise ValueError
        self.seen.append(message)
        return ("watch", len(self.seen))

    def outbox(self, kind: type) -> list[Any]:
        """The messages of one class that were sent."""
        return [message for _, message in self.sent if isinstance(message, kind)]


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


# ---------------------------------------------------------------- AgentClient in real actors


class Boss:
    """A script that tells a `Customer` what to do."""

    def __init__(self, agents: Any, kind: type = Customer) -> None:
        self.agents = agents
        self.endpoint = agents._line.endpoint
        self.customer = self.endpoint.create(kind)
        self.kept: list[Any] = []

    def do(self, method: str, *arguments: Any, **keywords: Any) -> Any:
        """The result of a method of its client."""
        self.endpoint.post(self.customer, ("do", method, arguments, keywords))
        return self._next("done")

    def got(self) -> Any:
        """The next message it got."""
        return self._next("got")

    def _next(self, kind: str) -> Any:
        for index, (what, value) in enumerate(self.kept):
            if what == kind:
                del self.kept[index]
                return value
        for _ in range(200):
            found = self.endpoint.receive(0.5, self.agents._line._watcher.fileno())
            if isinstance(found, tuple):
                if found[0] == kind:
                    return found[1]
                self.kept.append(found)
        raise AssertionError(f"nothing {kind}")


@pytest.mark.parametrize("base", ALL)
def test_an_actor_uses_agents(base: str) -> None:
    """Start, ask, submit and stop from an actor: calls answer by Reply, deliveries arrive in order."""
    with running(base) as agents:
        boss = Boss(agents)
        call = boss.do("start_agent", Diary, name="a", backend="echo")
        started = boss.got()
        address = started.result()
        assert (started.call, address.name) == (call, "a")
        call = boss.do("ask", "a", "hello")
        answer = boss.got()
        assert (answer.call, answer.result().text) == (call, "echo: hello")
        ref = boss.do("submit_with_completion", address, "again")
        admission, completion = boss.got(), boss.got()
        assert (admission.ref, completion.ref) == (ref, ref)
        assert isinstance(completion, Completion)
        monitor = boss.do("monitor", "a")
        call = boss.do("stop", "a")
        last = [boss.got(), boss.got()]
        (reply,) = [message for message in last if isinstance(message, Reply)]
        (end,) = [message for message in last if isinstance(message, Down)]
        assert (reply.call, reply.result(), end.monitor, end.reason) == (call, None, monitor, "shutdown")


@pytest.mark.parametrize("base", BASES)
def test_an_actor_learns_that_its_agent_was_killed(base: str) -> None:
    """C104: a call of an actor ends with AgentDown(killed); a later one by name with AgentNotFound."""
    with running(base) as agents:
        boss = Boss(agents)
        address = agents.start_agent(Diary, name="a", backend="scripted")
        monitor = boss.do("monitor", address)
        kill(address)
        assert boss.got().monitor == monitor
        boss.do("ask", "a", "anybody?")
        assert isinstance(boss.got().error, AgentNotFound)
        boss.do("ask", address, "you?")
        error = boss.got().error
        assert isinstance(error, AgentDown)
        assert boss.do("notify", address, "x") == "not_alive"


@pytest.mark.parametrize("base", ALL)
def test_an_actor_that_raises_is_offered_its_reply_again(base: str) -> None:
    """The repeated call of Thespian brings the reply the actor raised at, once."""
    with running(base) as agents:
        boss = Boss(agents, Clumsy)
        call = boss.do("list")
        again = boss.got()
        assert (again.call, again.result()) == (call, [])


def test_every_call_of_the_client_is_a_call() -> None:
    """What is answered by a Reply is a Call, so that whoever does not know it can say so."""
    assert all(issubclass(kind, Call) for kind in (Hello, Lookup, ListNames, Monitor))


@pytest.mark.parametrize("base", ALL)
def test_an_actor_has_agents_of_its_own(base: str) -> None:
    """C127: an agent started unsupervised is its actor's child: found by name, stopped through its parent
    only."""
    with running(base) as agents, agents.private() as line:
        boss = Boss(line)
        boss.do("start_agent", Diary, name="kid", backend="echo", supervised=False)
        address = boss.got().result()
        assert agents.whereis("kid") == address
        assert agents.ask("kid", "hello").text == "echo: hello"
        with pytest.raises(AgentNotFound):
            agents.stop("kid")
        assert agents.status("kid").state == "idle"
        monitor = agents.monitor("kid")
        agents.stop("kid", boss.customer, timeout=20)
        down = agents.receive(timeout=20)
        assert (down.monitor, down.reason) == (monitor, "shutdown")
        assert type(boss.got()).__name__ == "ChildActorExited"
        assert agents.whereis("kid") is None
