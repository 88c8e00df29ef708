"""What users of such systems complain about, tried with many agents and many requests: lost answers."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from gen_agent import AgentSystem
from gen_agent.actors.processes import descendants
from gen_agent.messages import Admission, Completion
from gen_agent.values import AgentAddress
from tests.actors.crew import Diary, running
from tests.bases import OWN

PATIENCE_S = 60.0
MOST_BYTES = 40 << 20
"""How much memory of its own an idle agent may have, its worker included."""


def crowd(agents: AgentSystem, count: int) -> list[AgentAddress]:
    """So many agents, named by number."""
    return [
        agents.start_agent(Diary, name=number, backend="echo", timeout=PATIENCE_S) for number in range(count)
    ]


def own_bytes(agent: AgentAddress) -> int:
    """The memory that an agent and its worker share with nobody, or their part of it."""
    pids = [agent.incarnation.pid, *(one.pid for one in descendants(agent.incarnation.pid))]
    lines = [line for pid in pids for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()]
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:"))


@pytest.mark.faults
@pytest.mark.timeout(600)
def test_two_hundred_agents_answer_once_each() -> None:
    """C102, C192: each of 200 agents is found, says who it is, and takes no more memory than it may; stopped,
    none is left."""
    with running(OWN) as agents:
        started = crowd(agents, 200)
        assert [agents.status(one, timeout=PATIENCE_S).name for one in started] == list(range(200))
        assert max(own_bytes(one) for one in started[::20]) < MOST_BYTES
        for one in started:
            agents.stop(one, timeout=PATIENCE_S)
        assert agents.list() == []


@pytest.mark.parametrize(
    ("count", "burst"), [(5, 20), pytest.param(50, 40, marks=[pytest.mark.faults, pytest.mark.timeout(600)])]
)
def test_bursts_to_many_agents_lose_nothing(count: int, burst: int) -> None:
    """C112, C198, C243: of bursts to many agents at once every ref has one admission and one
    completion, in the order of each agent's requests."""
    with running(OWN) as agents:
        started = crowd(agents, count)
        refs: dict[int, list[object]] = {number: [] for number in range(count)}
        for text in map(str, range(burst)):
            for one in started:
                refs[one.name].append(agents.submit_with_completion(one, text))
        admitted: dict[int, list[object]] = {number: [] for number in range(count)}
        finished: dict[int, list[object]] = {number: [] for number in range(count)}
        for _ in range(2 * count * burst):
            message = agents.receive(timeout=PATIENCE_S)
            kept = admitted if isinstance(message, Admission) else finished
            kept[message.agent].append(message.ref)
        assert admitted == finished == refs
        assert agents.receive(timeout=0.05) is None


@pytest.mark.parametrize(
    "count", [300, pytest.param(5_000, marks=[pytest.mark.faults, pytest.mark.timeout(600)])]
)
def test_submitting_without_reading_wedges_nobody(count: int) -> None:
    """C195, C205, C243: a script that sends thousands of requests before it reads anything gets all of their
    answers, and others are served meanwhile."""
    with running(OWN) as agents, agents.private() as other:
        agent = agents.start_agent(Diary, name="a", backend="echo", max_pending_prompts=count)
        refs = [agents.submit_with_completion(agent, str(number)) for number in range(count)]
        assert other.status(agent, timeout=PATIENCE_S).name == "a"
        got = [agents.receive(timeout=PATIENCE_S) for _ in range(2 * count)]
        assert Counter(map(type, got)) == {Admission: count, Completion: count}
        assert [one.result().text for one in got if isinstance(one, Completion)] == [
            f"echo: {number}" for number in range(count)
        ]
        assert {one.ref for one in got} == set(refs)
