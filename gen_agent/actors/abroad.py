"""A supervisor beyond its own system: its outposts in others, theirs here, questions about others' agents.

The law: who has agents of its own in this system is asked to end them before the system ends; a question
about an agent that is nobody's here has come from that agent itself, and is answered and never passed on.
This module must not know starts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gen_agent.actors.internal import Beat, Evict, Gone, Lodge, Relay, Settled
from gen_agent.actors.processes import ProcessId
from gen_agent.actors.supervisor_host import SupervisorHost
from gen_agent.client.protocol import WhyDown
from gen_agent.core.directory import Directory
from gen_agent.messages import Monitor
from gen_agent.soundness import is_sound


class Abroad(SupervisorHost):
    """The part of a supervisor that looks beyond its own system."""

    _directory: Directory

    def __init__(self) -> None:
        super().__init__()
        self._lodgers: dict[int, Any] = {}
        self._evicting = False

    def _table_abroad(self) -> dict[type, Callable[[Any, Any], None]]:
        outposts, ends = self._births.outposts, self._ends
        return {
            Settled: outposts.settled,
            Beat: lambda _, sender: outposts.heard(sender),
            Gone: lambda message, _: ends.died(message.token),
            Lodge: self._lodge,
            Evict: lambda _, sender: self._evicted(sender),
            Relay: lambda message, _: self._relayed(message.message, message.sender),
        }

    # ---------------------------------------------------------------- others' outposts here

    def _lodge(self, message: Lodge, sender: Any) -> None:
        token = self._births.new_token()
        self._lodgers[token] = sender
        self.follow(token, ProcessId(message.who.pid, message.who.start_time))
        if self._evicting:
            self.send(sender, Evict())

    def _evict_all(self) -> None:
        self._evicting = True
        for lodger in self._lodgers.values():
            self.send(lodger, Evict())

    # ---------------------------------------------------------------- our outposts there

    def _evicted(self, sender: Any) -> None:
        for token in self._births.outposts.evicted(sender):
            entry = self._directory.entry(token)
            if entry is not None and entry.address is not None:
                self._ends.stop(entry, None, None)
            else:
                self.kill(token)

    # ---------------------------------------------------------------- others' questions

    def _relayed(self, message: Any, sender: Any) -> None:
        if isinstance(message, Monitor) and is_sound(message):
            self._ends.monitor(message, sender, relayed=True)
        elif isinstance(message, WhyDown) and is_sound(message):
            self._ends.why(message.whom, None, sender, message.call)
