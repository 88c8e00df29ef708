"""Round trips: one after the other, many at once, many agents at once."""

from __future__ import annotations

import time

from gen_agent import AgentSystem, Completion
from gen_agent.values import AgentAddress
from tests.benchmarks.floor_process import rate
from tests.benchmarks.floors import floor
from tests.benchmarks.measuring import Measure, Row, Scale, at_least, by_turns
from tests.benchmarks.ours import LONG_S, OWN, PLENTY, STOCK, crew, ours, started


def asks_of(system: AgentSystem, agent: AgentAddress, seconds: float) -> float:
    """Asks per second of one agent."""
    return rate(lambda: system.ask(agent, "hi", LONG_S), seconds)


def submitted(system: AgentSystem, agents: list[AgentAddress], count: int) -> float:
    """Requests per second, `count` to each agent, sent without waiting, until the last completion."""
    began = time.perf_counter()
    for _ in range(count):
        for agent in agents:
            system.submit_with_completion(agent, "hi")
    for _ in range(count * len(agents)):
        completion = system.receive(lambda message: isinstance(message, Completion), LONG_S)
        assert completion.result().text == "echo: hi"
    # The admissions are nobody's business here.
    while system.receive(timeout=0.0) is not None:
        pass
    return count * len(agents) / (time.perf_counter() - began)


def asks(scale: Scale) -> list[Row]:
    """One script, one agent, one ask after the other."""
    with floor() as under, ours(OWN) as own, ours(STOCK) as stock:
        mine, theirs = started(own), started(stock)
        base, ours_own, ours_stock = by_turns(
            scale.rounds,
            lambda: under.asks(scale.seconds),
            lambda: asks_of(own, mine, scale.seconds),
            lambda: asks_of(stock, theirs, scale.seconds),
        )
    return [
        Row("asks", "/s", base, ours_own, at_least(2.0)),
        Row("asks, stock base", "/s", base, ours_stock, at_least(1.5)),
    ]


def submissions(scale: Scale) -> list[Row]:
    """One script, one agent, everything sent before anything is awaited."""
    with floor() as under, ours() as own:
        agents = [started(own, **PLENTY)]
        base, mine = by_turns(
            scale.rounds,
            lambda: under.submissions(scale.submissions),
            lambda: submitted(own, agents, scale.submissions),
        )
    return [Row(f"{scale.submissions:,} submissions", "/s", base, mine, at_least(3.0))]


def crowd(scale: Scale) -> list[Row]:
    """One script, many agents, all at once."""
    with floor(scale.agents) as under, ours() as own:
        agents = crew(own, scale.agents, **PLENTY)
        base, mine = by_turns(
            scale.rounds,
            lambda: under.crowd(scale.turns),
            lambda: submitted(own, agents, scale.turns),
        )
    return [Row(f"{scale.agents} agents x {scale.turns} turns", "/s", base, mine, at_least(3.0))]


MEASURES: dict[str, Measure] = {"asks": asks, "submissions": submissions, "crowd": crowd}
