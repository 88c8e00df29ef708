"""Hostile and broken input: whatever message arrives, the agent that gets it lives and answers; what can be
told of a mistake is told to whoever made it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thespian.actors import ActorAddress

from gen_agent import messages
from gen_agent.actors import internal
from gen_agent.actors.system import AgentSystem
from gen_agent.envelopes import VERSION
from gen_agent.errors import AgentDown, UnknownRequest, Unpicklable
from gen_agent.messages import GetStatus, Notify, Reply
from gen_agent.sealed import Sealed, SealedRun
from gen_agent.values import Caller, CallRef, Incarnation, RequestRef
from gen_agent.wire import restore
from tests.faults.cast import RefusesOpening, RefusesPickle
from tests.faults.scene import PATIENCE_S, Scene, scene

# What ends an agent, or keeps it from working, when it is understood: that is what it is for.
_OBEYED = (messages.StopAgent, messages.Drain, internal.StopNow, internal.Orphaned)

ENVELOPES = tuple(
    one
    for name in (*messages.__all__, *dir(internal))
    if isinstance(one := getattr(messages, name, None) or getattr(internal, name, None), type)
    and attrs.has(one)
    and one not in _OBEYED
)

_SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20), st.binary(max_size=20)
)
_REFS = st.builds(RequestRef, st.text(max_size=5), st.integers()) | st.builds(
    CallRef, st.text(max_size=5), st.integers()
)
_PROCESSES = st.builds(Caller, st.text(max_size=5), st.integers(), st.integers())
_SEALED = st.binary(max_size=20).map(Sealed) | st.just(RefusesOpening()).map(Sealed.of)
_RUNS = st.builds(SealedRun, st.binary(max_size=40), st.integers(-5, 100))
_ADDRESSES = st.one_of(
    st.none().map(ActorAddress), st.text(max_size=5).map(ActorAddress), st.integers().map(ActorAddress)
)
_INCARNATIONS = st.builds(Incarnation, st.text(max_size=5), st.integers(), st.integers(), st.text(max_size=5))
_ANY = st.recursive(
    st.one_of(_SCALARS, _REFS, _PROCESSES, _SEALED, _RUNS, _ADDRESSES, _INCARNATIONS),
    lambda inner: (
        st.tuples(inner, inner) | st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner)
    ),
    max_leaves=5,
)


@st.composite
def forged(draw: st.DrawFn) -> Any:
    """A message of ours as nobody's constructor would make it: most fields are anything at all."""
    kind = draw(st.sampled_from(ENVELOPES))
    values = []
    for field in attrs.fields(kind):
        wild = _ANY
        if field.name == "version":
            wild = st.just(VERSION) | st.integers() | _SCALARS
        elif field.name == "incarnation":
            wild = st.none() | _ANY
        elif field.name == "call":
            wild = st.builds(CallRef, st.just("forged"), st.integers()) | _ANY
        values.append(draw(wild))
    return restore(kind, *values)


@pytest.fixture(scope="module")
def victim(agents: AgentSystem, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """One agent for all of it."""
    with scene(agents, tmp_path_factory.mktemp("hostile"), None) as there:
        # The connections that tests share are made before the first.
        lives(there)
        agents.list()
        agents._opened.system.ask(there.address.actor, GetStatus(), PATIENCE_S)
        yield there


def lives(there: Scene) -> None:
    """It answers, works, and is still the same."""
    assert there.agents.status(there.address, timeout=PATIENCE_S).name == "victim"
    there.agents.resume(there.address)
    there.agents.interrupt(there.address)
    while there.agents.runtime_snapshot(there.address, timeout=PATIENCE_S).pending_prompts:
        there.agents.interrupt(there.address)
    assert there.agents.ask(there.address, "alive", timeout=PATIENCE_S).text == "alive"


@given(st.lists(forged(), min_size=1, max_size=20))
def test_no_forged_message_ends_or_wedges_an_agent(victim: Scene, lot: list[Any]) -> None:
    """C076, C180: whatever is in their fields, our messages are refused, dropped or served; the agent goes
    on.
    """
    for message in lot:
        victim.agents._line.post(victim.address.actor, message)
    lives(victim)


@given(_ANY)
@settings(max_examples=30)
def test_no_ordinary_message_ends_an_agent(victim: Scene, message: Any) -> None:
    """C041: what is no message of ours is logged or handled, never fatal."""
    victim.agents._line.post(victim.address.actor, message)
    lives(victim)


@pytest.mark.parametrize("name", ["SupervisorActor", "MailboxActor"])
@given(st.lists(forged(), min_size=1, max_size=20))
@settings(max_examples=10)
def test_no_forged_message_ends_the_others(name: str, victim: Scene, lot: list[Any]) -> None:
    """The supervisor and a script's mailbox stand the same."""
    agents = victim.agents
    target = agents._line._find_supervisor() if name == "SupervisorActor" else agents.address
    for message in lot:
        if not isinstance(message, (messages.StartAgent, internal.Ending)):
            agents._line.post(target, message)
    assert "victim" in agents.list()
    ref = agents.tell_with_completion(victim.address, "alive")
    assert agents.completion(ref, timeout=PATIENCE_S).result().text == "alive"
    victim.rest_now()


def test_a_message_of_another_version_is_refused(victim: Scene) -> None:
    """A call in an unknown version is answered UnknownRequest, a cast is dropped."""
    line = victim.agents._line
    with pytest.raises(UnknownRequest):
        line.call(victim.address, attrs.evolve(GetStatus(), version=VERSION + 1), PATIENCE_S)
    line.post(victim.address.actor, attrs.evolve(Notify("raise"), version=VERSION + 1))
    lives(victim)


def test_a_call_to_another_incarnation_is_refused(victim: Scene) -> None:
    """C211: the address of another life of that process is answered AgentDown(noproc)."""
    other = attrs.evolve(victim.address.incarnation, nonce="another")
    system = victim.agents._opened.system
    reply = system.ask(victim.address.actor, attrs.evolve(GetStatus(), incarnation=other), PATIENCE_S)
    assert isinstance(reply, Reply)
    assert isinstance(reply.error, AgentDown)
    assert reply.error.reason == "noproc"


def test_a_huge_prompt(victim: Scene) -> None:
    """A prompt of 30 MB arrives whole; the next one is served as ever."""
    words = "x" * (30 << 20)
    assert (
        victim.agents.ask(victim.address, f"huge {words[:0]}text:{words}", timeout=PATIENCE_S).text == "huge"
    )
    lives(victim)


@pytest.mark.parametrize(
    "value", [lambda: None, RefusesPickle(), (1, [RefusesPickle()])], ids=["1", "2", "3"]
)
def test_what_can_not_be_pickled_enqueues_nothing(value: Any, victim: Scene) -> None:
    """C105: Unpicklable in the caller, naming what it was; the agent never hears of it."""
    before = victim.agents.status(victim.address).agent_state
    for send in (victim.agents.notify, victim.agents.notify_ack):
        with pytest.raises(Unpicklable):
            send(victim.address, value)
    assert victim.agents.status(victim.address).agent_state == before


def test_what_can_not_be_opened_is_told_as_such(victim: Scene) -> None:
    """An event whose class can't be loaded by the agent arrives as Undecodable, and nothing else happens."""
    victim.agents.notify_ack(victim.address, RefusesOpening(), timeout=PATIENCE_S)
    lives(victim)


@pytest.mark.parametrize("name", [1.5, None, [], ("a", 1.5), object()], ids=["1", "2", "3", "4", "5"])
def test_a_bad_name_is_refused_in_the_caller(name: Any, victim: Scene) -> None:
    """C105: names are texts, bytes, ints and tuples of these; anything else is refused unsent."""
    for use in (victim.agents.whereis, lambda it: victim.agents.ask(it, "x"), victim.agents.monitor):
        with pytest.raises(TypeError):
            use(name)
