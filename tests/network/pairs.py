"""Two systems of one convention on this machine, and what is needed to look at them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
from thespian.system.messages.status import Thespian_StatusReq

from gen_agent.actors.opening import free_port
from gen_agent.actors.processes import ProcessId, descendants
from gen_agent.actors.system import AgentSystem
from gen_agent.values import AgentAddress
from tests.network.machines import write_key

GPU = {"gpu": True}
"""What the second system is capable of."""


@attrs.frozen
class Pair:
    """The leader, and a member with a capability of its own, on another loopback address."""

    home: AgentSystem
    away: AgentSystem

    def guardian(self, system: AgentSystem) -> int:
        """The process that guards a system."""
        found = system.actor_system._systemBase.ask(*_status(system))
        return int(found.capabilities["gen_agent guardian"])

    def runs_away(self, agent: AgentAddress) -> bool:
        """Whether an agent's process belongs to the member."""
        below = descendants(self.guardian(self.away))
        return ProcessId(agent.incarnation.pid, agent.incarnation.start_time) in below


def _status(system: AgentSystem) -> tuple[Any, ...]:
    return system.actor_system._systemBase.adminAddr, Thespian_StatusReq(), 5.0


@contextlib.contextmanager
def pair(folder: Path, **capabilities: Any) -> Iterator[Pair]:
    """Two systems; the member also has these capabilities."""
    key = write_key(folder / f"key{os.getpid()}")
    leader = {"Convention Address.IPv4": ("127.0.0.1", free_port())}
    member = {**leader, **GPU, **capabilities}
    with (
        AgentSystem(capabilities=leader, key_file=key) as home,
        AgentSystem(capabilities=member, bind="127.0.0.2", key_file=key) as away,
    ):
        yield Pair(home, away)
