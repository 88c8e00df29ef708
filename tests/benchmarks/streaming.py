"""Events of a turn, to a script and to another actor."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from thespian.actors import Actor, ActorSystem

from gen_agent import AgentSystem, Completion, EventBatch, EventMessage
from gen_agent.messages import Submit
from gen_agent.values import AgentAddress
from tests.benchmarks.floors import floor
from tests.benchmarks.measuring import Measure, Row, Scale, at_least, at_most, by_turns
from tests.benchmarks.ours import LONG_S, Playing, ours, started

RELAY = {"max_relay_events": 1_000_000}


class Listener(Actor):
    """Has an agent stream to it, counts, and tells its boss what came."""

    def receiveMessage(self, message: Any, sender: Any) -> None:
        """`("listen", agent, prompt, batch)` begins; events are opened and counted; the end is reported."""
        if isinstance(message, tuple):
            self.boss, self.count = sender, 0
            _, agent, prompt, batch = message
            me = self.myAddress
            self.send(agent, Submit(prompt, me, stream_to=me, stream_batch=batch))
        elif isinstance(message, EventBatch):
            self.count += len(message.events)
        elif isinstance(message, EventMessage):
            self.count += message.event is not None
        elif isinstance(message, Completion):
            self.send(self.boss, (self.count, message.dropped_events))


def first_and_all(system: AgentSystem, agent: AgentAddress, count: int) -> tuple[float, float]:
    """How long until the first of `count` events is there, in milliseconds, and events per second."""
    began = time.perf_counter()
    with system.stream(agent, f"stream {count}", timeout=LONG_S) as stream:
        next(stream)
        first = time.perf_counter() - began
        seen = 1 + sum(1 for _ in stream)
    assert (seen, stream.dropped_events) == (count, 0)
    return 1e3 * first, count / (time.perf_counter() - began)


def to_script(scale: Scale) -> list[Row]:
    """All events of one turn, iterated over by the script; nothing may be dropped."""
    with floor() as under, ours() as own:
        agent = started(own, backend=Playing)
        first: list[float] = []

        def mine() -> float:
            began, rate = first_and_all(own, agent, scale.events)
            first.append(began)
            return rate

        singly, batched, rate = by_turns(
            scale.rounds,
            lambda: under.stream(scale.slow_events, 1),
            lambda: under.stream(scale.events, 100),
            mine,
        )
    title = f"stream of {scale.events:,} events"
    return [
        Row(title, "/s", batched, rate, at_least(200_000, "ours"), "floor: lists of 100 events"),
        Row(f"{title}, floor one by one", "/s", singly, rate, None, f"floor: {scale.slow_events:,} events"),
        Row("first event of a stream", "ms", None, sorted(first)[len(first) // 2], at_most(5.0, "ours")),
    ]


def received(system: AgentSystem, actors: ActorSystem, agent: AgentAddress, count: int, batch: bool) -> float:
    """Events per second to an actor beside the agent."""
    listener = actors.createActor(Listener)
    began = time.perf_counter()
    answer = actors.ask(listener, ("listen", agent.actor, f"stream {count}", batch), LONG_S)
    spent = time.perf_counter() - began
    assert answer == (count, 0), answer
    return count / spent


def to_actor(scale: Scale) -> list[Row]:
    """All events of one turn to another actor, one by one and in batches."""
    with floor() as under, ours() as own:
        actors = own._opened.system
        agent = started(own, backend=Playing, **RELAY)
        slow = min(scale.events, 2 * scale.slow_events)

        def streamed(count: int, batch: bool) -> Callable[[], float]:
            return lambda: received(own, actors, agent, count, batch)

        base, singly, batched = by_turns(
            scale.rounds,
            lambda: under.stream_to_actor(scale.slow_events, 1),
            streamed(slow, False),
            streamed(scale.events, True),
        )
    note = f"floor: {scale.slow_events:,} events, ours {slow:,}"
    return [
        Row("stream to an actor, one by one", "/s", base, singly, at_least(8.0), note),
        Row("stream to an actor, EventBatch", "/s", base, batched, at_least(100_000, "ours")),
    ]


MEASURES: dict[str, Measure] = {"stream": to_script, "stream-to-actor": to_actor}
