"""Many agents and many scripts at once: every request has one outcome, every agent answers, all ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import attrs
import pytest

from gen_agent.actors.processes import descendants
from gen_agent.actors.system import AgentSystem, Client
from gen_agent.backends.stage import StageAddress
from gen_agent.messages import Completion
from gen_agent.values import AgentAddress
from tests.bases import OWN
from tests.faults.cast import Faulty, Forgetful, lines
from tests.faults.loader import WANTED
from tests.faults.scene import PATIENCE_S, process_of

ROOT = Path(__file__).resolve().parent.parent.parent
LONG_S = 300.0
AT_A_TIME = 4
"""How many clients of one script start and stop agents at the same time."""


@attrs.frozen
class Load:
    """How many scripts give how many agents one prompt each, how often."""

    scripts: int
    agents: int
    rounds: int

    @property
    def turns(self) -> int:
        """How many requests that is."""
        return self.scripts * self.agents * self.rounds


def start_many(agents: AgentSystem, names: list[str], **options: Any) -> list[AgentAddress]:
    """Start agents, a few at a time."""

    def start(name: str) -> AgentAddress:
        with agents.private() as client:
            return client.start_agent(Forgetful, name=name, timeout=LONG_S, **options)

    return in_parallel(start, names)


def stop_many(agents: AgentSystem, names: list[str]) -> None:
    """Stop agents, a few at a time."""

    def stop(name: str) -> None:
        with agents.private() as client:
            client.stop(name, timeout=LONG_S)

    in_parallel(stop, names)


def in_parallel(do: Callable[[str], Any], names: list[str]) -> list[Any]:
    """Do it for every name, a few at a time; what it returned, in order."""
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        return list(pool.map(do, names))


def run_scripts(port: int, load: Load) -> Counter[str]:
    """Run the scripts at once; what all their requests came to."""
    command = [sys.executable, "-m", "tests.faults.loader", str(port)]
    size = [str(load.agents), str(load.rounds)]
    scripts = [
        subprocess.Popen([*command, f"script{number}", *size], cwd=ROOT, stdout=subprocess.PIPE, text=True)
        for number in range(load.scripts)
    ]
    found: Counter[str] = Counter()
    try:
        for script in scripts:
            said, _ = script.communicate(timeout=LONG_S)
            assert script.returncode == 0
            found.update(json.loads(said))
    finally:
        for script in scripts:
            script.kill()
            script.communicate()
    return found


@pytest.mark.parametrize(
    "load",
    [Load(2, 4, 6), pytest.param(Load(4, 50, 26), marks=[pytest.mark.faults, pytest.mark.timeout(600)])],
    ids=["some", "many"],
)
def test_scripts_that_share_agents_lose_nothing(load: Load, tmp_path: Path) -> None:
    """C111, C115, C120: attached scripts load the same agents, turns are interrupted and workers die: each
    request has the one outcome that was wanted, and ran once.
    """
    names = [f"agent{number}" for number in range(load.agents)]
    journal = tmp_path / "journal"
    forward = {"stage": StageAddress(str(tmp_path), os.getpid()), "journal": str(journal)}
    with AgentSystem(OWN) as agents:
        assert agents.admin_port is not None
        start_many(agents, names, backend=Faulty, forward=forward)
        began = time.monotonic()
        found = run_scripts(agents.admin_port, load)
        print(f"{load.turns} requests in {time.monotonic() - began:.1f} s: {dict(found)}")
        stop_many(agents, names)
        assert agents.list() == []
    assert found.keys() == set(WANTED)
    assert sum(found.values()) == load.turns
    ran = Counter(lines(str(journal)))
    assert max(ran.values()) == 1
    # A turn may be interrupted before its backend has done anything.
    assert load.turns - found["interrupted"] <= len(ran) <= load.turns


def most_descriptors() -> tuple[int, int]:
    """The largest number of descriptors of a process below this one, and what it may have at most."""
    most, limit = 0, 0
    for process in descendants(os.getpid()):
        count = len(os.listdir(f"/proc/{process.pid}/fd"))
        if count > most:
            with open(f"/proc/{process.pid}/limits") as file:
                row = next(line for line in file if line.startswith("Max open files"))
            most, limit = count, int(row.split()[3])
    return most, limit


def everybody_answers(client: Client, addresses: list[AgentAddress]) -> None:
    """Each agent answers its own prompt."""
    refs = {client.tell_with_completion(address, address.name): address.name for address in addresses}
    while refs:
        completion = client.receive(lambda message: isinstance(message, Completion), timeout=PATIENCE_S)
        assert completion is not None, f"{len(refs)} agents did not answer"
        assert completion.result().text == f"echo: {refs.pop(completion.ref)}"


@pytest.mark.parametrize(
    "count", [10, pytest.param(300, marks=[pytest.mark.faults, pytest.mark.timeout(600)])]
)
def test_many_agents_live_at_once(count: int) -> None:
    """C001, C104, C127: agents started in parallel from one script all answer, all stop, and leave nothing;
    no process comes near its limit of descriptors.
    """
    names = [f"agent{number}" for number in range(count)]
    with AgentSystem(OWN) as agents:
        began = time.monotonic()
        addresses = start_many(agents, names, backend="echo", forward={})
        started = time.monotonic()
        everybody_answers(agents, addresses)
        answered = time.monotonic()
        most, limit = most_descriptors()
        stop_many(agents, names)
        print(
            f"{count} agents: started in {started - began:.1f} s, answered in {answered - started:.1f} s, "
            f"stopped in {time.monotonic() - answered:.1f} s, at most {most} descriptors of {limit}"
        )
        assert agents.list() == []
        assert [address for address in addresses if process_of(address).alive()] == []
        assert most < limit // 2
