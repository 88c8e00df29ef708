"""The actors of gen_agent, and the system base they prefer.

Importing this package makes the name `genAgentTCPBase` known to `ActorSystem`; Thespian itself is loaded when
that name, or an actor of this package, is used.
"""

from __future__ import annotations

import importlib
import sys
import types
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gen_agent.actors.agent import AgentActor as AgentActor
    from gen_agent.actors.mailbox import MailboxActor as MailboxActor
    from gen_agent.actors.supervisor import SupervisorActor as SupervisorActor
    from gen_agent.actors.worker import WorkerActor as WorkerActor

_ACTORS = {
    "AgentActor": "gen_agent.actors.agent",
    "MailboxActor": "gen_agent.actors.mailbox",
    "SupervisorActor": "gen_agent.actors.supervisor",
    "WorkerActor": "gen_agent.actors.worker",
}
__all__ = ["AgentActor", "MailboxActor", "SupervisorActor", "WorkerActor"]  # noqa: F822

_BASE_MODULE = "thespian.system.genAgentTCPBase"


class _LazyBase(types.ModuleType):
    def __getattr__(self, name: str) -> object:
        if name != "ActorSystemBase":
            raise AttributeError(name)
        return importlib.import_module("gen_agent.actors.base").ActorSystemBase


sys.modules.setdefault(_BASE_MODULE, _LazyBase(_BASE_MODULE))


def __getattr__(name: str) -> object:
    if name not in _ACTORS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_ACTORS[name]), name)
