"""The ends of agents: stops, deaths, monitors, restarts.

The law: an agent has ended when its process is gone, and only then is anybody told; an orderly end has been
announced by then, one that was not is `killed`. Each monitor gets one `Down`, each waiting call one answer.
"""

from __future__ import annotations

from typing import Any

import attrs

from gen_agent.actors.absence import is_gone
from gen_agent.actors.births import Births, Host
from gen_agent.actors.internal import Ending, StopNow
from gen_agent.actors.legacy import Legacy, tell
from gen_agent.client.protocol import Inherit, WhyDown
from gen_agent.client.targets import actor_of, incarnation_of
from gen_agent.core.directory import Directory, Ended, Entry, Monitors, Phase, Restarts, Watch
from gen_agent.errors import InitFailed
from gen_agent.messages import Demonitor, Monitor, StartAgent
from gen_agent.values import AgentAddress, CallRef, Incarnation, mint

GRACE_S = 0.02
"""How long an ended process' announcement may still be on its way."""

FAREWELL_S = 1.0
"""How long agents on another machine may take for their last word, when what watched them there has died."""

SLACK_S = 0.25
"""What a stop allows beyond `shutdown_s`: an agent that keeps its own limits is not killed for being on time.
"""

LINGER_S = 5.0
"""How long a process that has announced its end has to be gone."""


@attrs.define
class _End:
    """What is known of the end of one agent before its process is gone."""

    announced: Ending | None = None
    waiting: list[tuple[Any, CallRef]] = attrs.field(factory=list)
    curious: list[tuple[Any, CallRef]] = attrs.field(factory=list)
    process_gone: bool = False
    unannounced: str = "killed"


class Ends:
    """The ends, monitors and restarts of one supervisor."""

    def __init__(self, host: Host, directory: Directory, births: Births) -> None:
        self._host = host
        self._directory = directory
        self._births = births
        self._ends: dict[int, _End] = {}
        self._monitors = Monitors(is_gone)
        self._restarts = Restarts()
        self._limits: dict[int, float | None] = {}
        self._closing = False
        self._legacy = Legacy(host, births.new_token)

    def _end(self, token: int) -> _End:
        return self._ends.setdefault(token, _End())

    # ---------------------------------------------------------------- asked for

    def limit(self, token: int, shutdown_s: float | None) -> None:
        """Remember how long this agent has to stop."""
        self._limits[token] = shutdown_s

    def stop(self, entry: Entry, sender: Any, call: CallRef | None, reason: str = "shutdown") -> None:
        """Have an agent end in an orderly way; kill it when it takes longer than it may. Answered when it is
        gone.
        """
        if call is not None:
            self._end(entry.token).waiting.append((sender, call))
        if entry.phase is Phase.STOPPING or entry.address is None:
            return
        self._directory.stopping(entry.token)
        self._restarts.forget(entry.name)
        self._host.send(entry.address.actor, StopNow(reason))
        limit = self._limits.get(entry.token, 5.0)
        if limit is not None:
            self._host.set_deadline(("kill", entry.token), limit + SLACK_S)

    def stop_restart(self, entry: Entry, sender: Any, call: CallRef) -> bool:
        """Have an agent that is being started again stay away; answered when it is gone. False for others."""
        if not self._births.give_up_restart(entry.token, sender, call):
            return False
        self._restarts.forget(entry.name)
        return True

    def kill(self, entry: Entry, sender: Any, call: CallRef) -> None:
        """End an agent at once; answered when it is gone."""
        self._end(entry.token).waiting.append((sender, call))
        self._directory.stopping(entry.token)
        self._host.kill(entry.token)

    def stop_all(self) -> None:
        """Have every agent end, starting none again."""
        self._closing = True
        for entry in self._directory:
            self.stop(entry, None, None)

    def came_up(self, token: int) -> None:
        """An agent serves now; where all are told to end it is, too."""
        entry = self._directory.entry(token)
        if self._closing and entry is not None:
            self.stop(entry, None, None)

    def why(self, whom: Incarnation, where: Any, sender: Any, call: CallRef) -> None:
        """Answer how an incarnation ended, once it has; `where` is its actor, None if it is not to be asked.
        """
        entry, ended = self._directory.incarnation(whom), self._directory.ended(whom)
        if entry is not None:
            self._end(entry.token).curious.append((sender, call))
        elif ended is not None:
            self._host.answer(sender, call, (ended.reason, ended.detail))
        else:
            self._legacy.why(WhyDown(whom, where, call=call), sender)

    # ---------------------------------------------------------------- happening

    def announced(self, ending: Ending) -> None:
        """An agent says that it ends in an orderly way."""
        entry = self._directory.incarnation(ending.incarnation)
        if entry is None:
            return
        end = self._end(entry.token)
        end.announced = ending
        end.waiting += ending.drained
        own_child = any(token == entry.token for _, token in self._births.children)
        if end.process_gone or ending.never_up or not (self._host.has_processes or own_child):
            self._conclude(entry.token)
        elif self._host.has_processes:
            self._host.set_deadline(("kill", entry.token), LINGER_S)

    def died(self, token: int) -> None:
        """The process of an agent is gone."""
        if self._births.died(token) or self._legacy.died(token):
            self._limits.pop(token, None)
            return
        end = self._end(token)
        end.process_gone = True
        if end.announced is not None or not self._host.has_processes:
            self._conclude(token)
        else:
            self._host.set_deadline(("late", token), GRACE_S)

    def lost(self, token: int, reason: str) -> None:
        """The process of an agent on another machine is not to be seen any more; `reason` unless it has said,
        or still says, how it ends.
        """
        error = InitFailed("unreachable", "the system it was to run in is not heard of any more")
        if self._births.refused(token, error):
            return
        end, entry = self._end(token), self._directory.entry(token)
        end.process_gone, end.unannounced = True, reason
        if reason == "unreachable" and entry is not None and entry.address is not None:
            self._host.give_up(entry.address.actor)
        if end.announced is not None:
            self._conclude(token)
        else:
            self._host.set_deadline(("late", token), GRACE_S if reason == "unreachable" else FAREWELL_S)

    def late(self, token: int) -> None:
        """No announcement came: the agent was killed."""
        if token in self._ends:
            self._conclude(token)

    def _conclude(self, token: int) -> None:
        end, entry = self._ends.pop(token, _End()), self._directory.entry(token)
        self._limits.pop(token, None)
        for key in ("kill", "late"):
            self._host.clear_deadline((key, token))
        if entry is None:
            return
        said = end.announced
        ended = Ended(end.unannounced) if said is None else Ended(said.reason, tuple(said.detail))
        self._directory.release(token, ended)
        self._births.left(token)
        self._tell(entry, end, ended)
        if said is not None and said.drained:  # somebody waits for its end: it is not to come back
            self._restarts.forget(entry.name)
        elif not self._closing and entry.phase is not Phase.STOPPING:
            self._restart(entry, ended)

    def _tell(self, entry: Entry, end: _End, ended: Ended) -> None:
        if entry.address is not None:
            last = None if end.announced is None else dict(end.announced.last_deliveries)
            for watch in self._monitors.take(entry.address.incarnation):
                delivery = None if last is None else last.get(str(actor_of(watch.recipient)), 0)
                tell(self._host, watch, ended, delivery)
        for sender, call in end.waiting:
            self._host.answer(sender, call)
        for sender, call in end.curious:
            self._host.answer(sender, call, (ended.reason, ended.detail))

    def _restart(self, entry: Entry, ended: Ended) -> None:
        if not isinstance(entry.start, StartAgent) or entry.name is None:
            return
        # Every restart is a start of its own: its number is new, or giving up the first one would end the
        # second.
        if self._restarts.allowed(entry.name, entry.start.restart, ended.reason, self._host.now()):
            self._births.begin(attrs.evolve(entry.start, call=mint.call()), None)

    # ---------------------------------------------------------------- monitors

    def monitor(self, message: Monitor, sender: Any, *, relayed: bool = False) -> None:
        """Watch an agent for somebody; a dead or unknown one is answered by `Down` at once, another system's
        by its own supervisor.
        """
        recipient = sender if message.recipient is None else message.recipient
        entry = self._directory.whom(message.target)
        if entry is None or entry.address is None:
            whom = incarnation_of(message.target)
            known = relayed or whom is None or self._directory.ended(whom) is not None
            self._legacy.monitor(message.target, message.ref, recipient, "noproc", elsewhere=not known)
        else:
            self._monitors.add(Watch(message.ref, recipient, entry.address))

    def inherit(self, message: Inherit) -> None:
        """Take over a monitor of the supervisor before this one; of an agent that is gone it was the end."""
        entry = self._directory.whom(message.target) if isinstance(message.target, AgentAddress) else None
        if entry is not None and entry.address is not None:
            self._monitors.add(Watch(message.ref, message.recipient, entry.address))
        else:
            self._legacy.monitor(message.target, message.ref, message.recipient, "registry_lost")

    def demonitor(self, message: Demonitor) -> None:
        """Forget a monitor: no `Down` of it is sent any more."""
        self._monitors.drop(message.ref)
        self._legacy.demonitor(message.ref)
