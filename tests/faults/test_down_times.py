"""However an agent ends, whoever monitors it hears of it soon, and once: a script and an actor, of agents of
the supervisor and of agents that are an actor's own.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

from gen_agent import StartError
from gen_agent.actors.system import AgentSystem
from gen_agent.messages import Down
from gen_agent.values import AgentAddress
from tests.bases import OWN
from tests.faults.cast import Hungry, NeverRuns, Unruly, Witness
from tests.faults.onlooker import Ally
from tests.faults.scene import PATIENCE_S, QUIET_S, process_of
from tests.faults.test_agent_ends import open_gate, stage_gate
from tests.faults.test_system_faults import admin, guardian

SOON_S = 5.0
"""How long a loaded machine may take for what takes 0.5 s at most."""


@attrs.frozen
class Ending:
    """One agent about to end, whose it is, and where its files are."""

    agents: AgentSystem
    address: AgentAddress
    parent: Any
    directory: Path

    def stop(self) -> None:
        """Have it stopped by whoever may."""
        self.agents.stop(self.address, self.parent, timeout=PATIENCE_S)

    def freeze_and_stop(self) -> None:
        """Have it stopped while it can do nothing for it."""
        process_of(self.address).signal(signal.SIGSTOP)
        self.stop()

    def drain(self) -> None:
        """Have it end by itself."""
        self.agents.drain(self.address, timeout=PATIENCE_S)

    def prompt(self) -> None:
        """Have a turn end, and its callback fail."""
        self.agents.tell(self.address, "hello", timeout=PATIENCE_S)

    def open_gate(self) -> None:
        """Let `pre_run` go on, and fail."""
        open_gate(self.directory)

    def kill(self) -> None:
        """As the kernel does when memory runs out."""
        process_of(self.address).signal(signal.SIGKILL)

    def terminate(self) -> None:
        """As a system does that shuts down."""
        process_of(self.address).signal(signal.SIGTERM)


@attrs.frozen
class Way:
    """How an agent ends, and with what reason."""

    name: str
    act: Callable[[Ending], None]
    reason: str
    agent: type = Witness
    options: dict[str, Any] = attrs.field(factory=dict)


WAYS = (
    Way("stop", Ending.stop, "shutdown"),
    Way("drain", Ending.drain, "normal"),
    Way("failing callback", Ending.prompt, "callback_failed", Unruly),
    Way("failing pre_run", Ending.open_gate, "pre_run_failed", NeverRuns, {"fails": StartError("no")}),
    Way("sigkill", Ending.kill, "killed"),
    Way("sigterm", Ending.terminate, "shutdown"),
    Way("sigstop, then stop", Ending.freeze_and_stop, "killed", options={"shutdown_s": 0.2}),
    Way("no memory", Ending.prompt, "callback_failed", Hungry),
)


def down(agents: AgentSystem, began: float) -> tuple[Any, str, float]:
    """The next end that the script is told: monitor, reason, and how long it took."""
    message = agents.receive(lambda message: isinstance(message, Down), timeout=PATIENCE_S)
    assert message is not None, "no Down"
    return message.monitor, message.reason, time.monotonic() - began


@pytest.mark.parametrize("parent", ["supervisor", "actor"])
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
def test_an_end_is_known_soon(way: Way, parent: str, agents: AgentSystem, tmp_path: Path) -> None:
    """C255: one Down for the script and one for the actor, within 5 s at worst."""
    options = {"forward": {}, "gate": stage_gate(tmp_path), **way.options}
    with Ally(agents) as ally:
        start = agents.start_agent if parent == "supervisor" else ally.start
        address = start(agent=way.agent, name="victim", backend="echo", **options)
        ours, theirs = agents.monitor(address), ally.do("monitor", target=address)
        ally.settle()
        began = time.monotonic()
        way.act(Ending(agents, address, None if parent == "supervisor" else ally.address, tmp_path))
        monitor, reason, took = down(agents, began)
        ((its_monitor, its_reason, at),) = ally.downs()
        print(f"{way.name}, {parent}: the script knew after {took:.3f} s, the actor after {at - began:.3f} s")
        assert (monitor, reason) == (ours, way.reason)
        assert (its_monitor, its_reason) == (theirs, way.reason)
        assert max(took, at - began) < SOON_S
        # Nothing more comes, for either: what an actor is told next comes after it.
        assert agents.receive(timeout=QUIET_S) is None
        assert ally.do("whereis", name="victim") is not None
        assert len(ally.downs()) == 1
        assert agents.whereis("victim") is None


@pytest.mark.parametrize("victim", [admin, guardian], ids=lambda victim: victim.__name__)
def test_the_end_of_a_system_is_known_soon(victim: Callable[[AgentSystem], Any], tmp_path: Path) -> None:
    """C014, C255: a script whose system loses its admin or guardian is told of every agent, once, within
    5 s at worst.
    """
    with AgentSystem(OWN) as agents:
        address = agents.start_agent(Witness, name="victim", backend="echo", forward={})
        ours = agents.monitor(address)
        target = victim(agents)
        began = time.monotonic()
        target.signal(signal.SIGKILL)
        monitor, reason, took = down(agents, began)
        print(f"{victim.__name__} lost: the script knew after {took:.3f} s")
        assert (monitor, reason) == (ours, "registry_lost")
        assert took < SOON_S
