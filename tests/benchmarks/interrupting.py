"""A blocked turn is interrupted: how long until that is known, and until the agent answers again."""

from __future__ import annotations

import statistics
import time

from gen_agent import AgentSystem, Interrupted
from gen_agent.values import AgentAddress
from tests.benchmarks.floors import floor
from tests.benchmarks.measuring import Measure, Row, Scale, at_most
from tests.benchmarks.ours import LONG_S, Playing, alive, ours, started


def interrupted(system: AgentSystem, agent: AgentAddress) -> tuple[float, float]:
    """Milliseconds until a blocked turn and the tool it started are gone, and until the next answer."""
    with system.stream(agent, "block", timeout=LONG_S) as stream:
        tool = next(stream).data["pid"]
        began = time.perf_counter()
        assert system.interrupt_request(agent, stream.ref) == "accepted"
        told = time.perf_counter() - began
        assert not alive(tool)
        system.ask(agent, "hi", LONG_S)
        answered = time.perf_counter() - began
        assert _outcome(stream) == Interrupted()
    return 1e3 * told, 1e3 * answered


def _outcome(stream: object) -> object:
    try:
        list(stream)  # type: ignore[call-overload]
    except Interrupted as error:
        return error
    return None


def interrupts(scale: Scale) -> list[Row]:
    """Ours ends a tool in a session of its own as well; the floor's turn has none."""
    with floor() as under, ours() as own:
        agent = started(own, backend=Playing)
        taken = [(under.interrupt(), interrupted(own, agent)) for _ in range(2 * scale.rounds + 1)]
    (told, answered), (told_ours, answered_ours) = (
        [statistics.median(values) for values in zip(*side, strict=True)] for side in zip(*taken, strict=True)
    )
    return [
        Row("interrupt until it is known", "ms", told, told_ours, at_most(2.0), "ours with a tool"),
        Row("interrupt until the next answer", "ms", answered, answered_ours, at_most(1.0)),
    ]


MEASURES: dict[str, Measure] = {"interrupt": interrupts}
