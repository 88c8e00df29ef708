"""What must not grow: with what is said, what was said before, what waits, and who else is there."""

from __future__ import annotations

import statistics
from typing import Any

from thespian.actors import Actor

from gen_agent import PENDING, Admission, AgentSystem
from gen_agent.messages import Submit
from gen_agent.values import AgentAddress, RequestRef
from tests.benchmarks.floor_process import milliseconds
from tests.benchmarks.floors import floor
from tests.benchmarks.measuring import Measure, Row, Scale, at_most, by_turns
from tests.benchmarks.ours import LONG_S, PLENTY, Playing, ours, started

CALLS = 40
"""How many requests at the end of a queue a round takes the mean of."""

CALLED = ("admission", "poll", "cancel")

AT_ONCE = 5_000
"""How many requests are sent before their admissions are awaited."""

ASKS = 50
"""How many asks a round takes the mean of."""


def payloads(scale: Scale) -> list[Row]:
    """A prompt and its answer, both large, against the floor's pair and against one actor that echoes."""
    rows = []
    with floor() as under, ours() as own:
        agent = started(own, backend=Playing, **PLENTY)
        for megabytes in scale.megabytes:
            size = megabytes << 20
            pair, raw, mine = by_turns(
                scale.rounds,
                lambda size=size: under.payload(size),
                lambda size=size: under.raw(size),
                lambda size=size: milliseconds(lambda: own.ask(agent, "x" * size, LONG_S)),
            )
            title = f"{megabytes} MB there and back"
            rows += [
                Row(title, "ms", pair, mine, at_most(1.5), "floor: the pair"),
                Row(f"{title}, raw", "ms", raw, mine, at_most(1.5), "floor: one actor, no worker"),
            ]
    return rows


def turn_cost(system: AgentSystem, agent: AgentAddress, count: int = ASKS) -> float:
    """Milliseconds per ask."""
    return milliseconds(lambda: [system.ask(agent, "hi", LONG_S) for _ in range(count)]) / count


def histories(scale: Scale) -> list[Row]:
    """A turn in a session of many messages, one of which changes every time."""
    with ours() as own:
        agents = [
            started(own, count, backend=Playing, history=count, max_pending_prompts=10)
            for count in scale.histories
        ]
        costs = by_turns(
            scale.rounds, *[lambda agent=agent: turn_cost(own, agent) for agent in agents]
        )
    few, some, many = scale.histories
    title = "turn in a session of {:,} against {:,} messages"
    return [
        Row(title.format(some, few), "ms", costs[0], costs[1], at_most(1.5)),
        Row(title.format(many, few), "ms", costs[0], costs[2], at_most(15.0, "difference")),
    ]


def idle(scale: Scale) -> list[Row]:
    """One agent is asked while more and more others do nothing."""
    costs: list[float] = []
    with ours() as own:
        asked = started(own, "asked")
        there = 0
        for count in scale.idle:
            for number in range(there, count):
                started(own, number)
            there = count
            costs += by_turns(scale.rounds, lambda: turn_cost(own, asked))
    few = scale.idle[0]
    return [
        Row(f"ask beside {count:,} against {few:,} idle agents", "ms", costs[0], cost, at_most(1.2))
        for count, cost in zip(scale.idle[1:], costs[1:], strict=True)
    ]


class Filler(Actor):
    """Puts requests into an agent's queue, and tells its boss when all are admitted."""

    def receiveMessage(self, message: Any, sender: Any) -> None:
        """`("fill", agent, count)` begins; what comes of the requests later is nobody's business."""
        if isinstance(message, tuple):
            _, agent, self.missing = message
            self.boss = sender
            for _ in range(self.missing):
                self.send(agent, Submit("hi", self.myAddress))
        elif isinstance(message, Admission):
            self.missing -= 1
            if not self.missing:
                self.send(self.boss, "filled")


class Line:
    """An agent whose turn blocks, with a queue of known length behind it."""

    def __init__(self, system: AgentSystem, length: int) -> None:
        self._system = system
        self._agent = started(system, ("line", length), backend=Playing, **PLENTY)
        self._stream = system.stream(self._agent, "block", timeout=None)
        next(self._stream)
        actors = system._opened.system
        filler = actors.createActor(Filler)
        for first in range(0, length, AT_ONCE):
            order = ("fill", self._agent.actor, min(AT_ONCE, length - first))
            assert actors.ask(filler, order, LONG_S) == "filled"
        assert system.status(self._agent).queued == length

    def measure(self) -> tuple[float, ...]:
        """Milliseconds of an admission, a poll and a cancel; the queue is as long afterwards as before."""
        system, agent = self._system, self._agent
        refs: list[RequestRef] = []
        answers: list[object] = []
        times = (
            milliseconds(lambda: refs.extend([system.tell(agent, "hi", LONG_S) for _ in range(CALLS)])),
            milliseconds(lambda: answers.extend([system.poll(agent, ref) for ref in refs])),
            milliseconds(lambda: answers.extend([system.cancel_request(agent, ref) for ref in refs])),
        )
        assert set(answers) == {PENDING, "cancelled"}
        return tuple(time / CALLS for time in times)


def queues(scale: Scale) -> list[Row]:
    """Calls about requests at the end of queues of different lengths."""
    with ours() as own:
        lines = [Line(own, length) for length in scale.queued]
        taken = [[line.measure() for line in lines] for _ in range(2 * scale.rounds)]
    # For each length and each call, the median of what was taken by turns.
    costs = [
        [statistics.median(values) for values in zip(*rounds, strict=True)]
        for rounds in zip(*taken, strict=True)
    ]
    few = scale.queued[0]
    return [
        Row(f"{call} beside {length:,} against {few:,} queued", "ms", few_cost, cost, at_most(1.2))
        for length, of_length in zip(scale.queued[1:], costs[1:], strict=True)
        for call, few_cost, cost in zip(CALLED, costs[0], of_length, strict=True)
    ]


MEASURES: dict[str, Measure] = {
    "payloads": payloads,
    "histories": histories,
    "queues": queues,
    "idle": idle,
}
