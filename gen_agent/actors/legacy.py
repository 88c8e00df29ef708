"""What a supervisor knows of agents that were another one's: those of the supervisor before it (C014).

They end by themselves, with registry_lost, when their supervisor dies, and nobody is left to tell. The law: a
process that is older than this supervisor's and that it never knew was its predecessor's; who asks about one,
or monitors one, hears registry_lost once it is gone. Who may be another system's is asked to have its own
supervisor answer. Of anybody else unknown it says noproc, at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import attrs

from gen_agent.actors.identity import local_process, this_process
from gen_agent.actors.internal import Relay
from gen_agent.actors.processes import ProcessId
from gen_agent.client.protocol import WhyDown
from gen_agent.client.targets import actor_of, incarnation_of
from gen_agent.core.directory import Ended, Watch
from gen_agent.envelopes import Call
from gen_agent.errors import GenAgentError
from gen_agent.messages import Down, Monitor
from gen_agent.values import AgentAddress, CallRef, Incarnation, MonitorRef, is_address

_LOST = Ended("registry_lost")


class Host(Protocol):
    """What is needed of the supervisor."""

    @property
    def has_processes(self) -> bool:
        """Whether actors are processes here."""

    def send(self, address: Any, message: Any) -> None:
        """Send a message."""

    def answer(self, to: Any, call: CallRef, value: Any = None, error: GenAgentError | None = None) -> None:
        """Reply to a call."""

    def send_or(self, address: Any, message: Any, dead: Callable[[], None]) -> None:
        """Send a message; `dead` is called if nobody is at that address any more."""

    def follow(self, token: int, process: ProcessId) -> None:
        """Watch the process of a token; its end is reported also if it has ended already."""


@attrs.define
class _Heir:
    """An agent of the supervisor before, that still ends: who waits for it."""

    token: int
    curious: list[tuple[Any, CallRef]] = attrs.field(factory=list)
    watches: list[Watch] = attrs.field(factory=list)

    def add(self, watch: Watch) -> None:
        """Remember a monitor, once."""
        if all(other.ref != watch.ref for other in self.watches):
            self.watches.append(watch)


class Legacy:
    """The agents of earlier supervisors that somebody asked about. `new_token` numbers what is followed."""

    def __init__(self, host: Host, new_token: Callable[[], int]) -> None:
        self._host = host
        self._new_token = new_token
        self._heirs: dict[Incarnation, _Heir] = {}

    def why(self, question: WhyDown, sender: Any) -> None:
        """Answer how an unknown incarnation ended, once it has."""
        whom, call = question.whom, question.call
        if not self._is_of_before(whom):
            self._relay(question, sender, whom, question.where, lambda: self._unknown(sender, call))
        elif self._lives(whom):
            self._heir(whom, lambda heir: heir.curious.append((sender, call)))
        else:
            self._host.answer(sender, call, (_LOST.reason, _LOST.detail))

    def _unknown(self, sender: Any, call: CallRef) -> None:
        self._host.answer(sender, call, ("noproc", ()))

    def _relay(
        self, question: Call, sender: Any, whom: Incarnation, where: Any, gone: Callable[[], None]
    ) -> None:
        """Have an agent's own supervisor answer, if it may be another system's; else it is gone."""
        process = local_process(whom)
        if where is None or not self._host.has_processes or not (process is None or process.alive()):
            gone()
        else:
            self._host.send_or(actor_of(where), Relay(question, sender), gone)

    def monitor(
        self, target: Any, ref: MonitorRef, recipient: Any, reason: str, *, elsewhere: bool = False
    ) -> None:
        """Watch an unknown target: `Down` comes at once, with `reason`, unless it is an heir that still ends,
        or may be `elsewhere`, known to another system's supervisor.
        """
        known = target if isinstance(target, AgentAddress) else None
        if known is not None and self._is_of_before(known.incarnation) and self._lives(known.incarnation):
            self._heir(known.incarnation, lambda heir: heir.add(Watch(ref, recipient, known)))
        elif known is not None and elsewhere:
            question, whom = Monitor(known, ref=ref, recipient=recipient), known.incarnation
            self._relay(question, recipient, whom, known, lambda: self._down(known, ref, recipient, reason))
        else:
            self._down(target, ref, recipient, reason)

    def _down(self, target: Any, ref: MonitorRef, recipient: Any, reason: str) -> None:
        known = target if isinstance(target, AgentAddress) else None
        name = known.name if known is not None else None if is_address(target) else target
        address = target if is_address(target) else None
        down = Down(
            ref, address, name, reason, incarnation=incarnation_of(known), to=incarnation_of(recipient)
        )
        self._host.send(actor_of(recipient), down)

    def demonitor(self, ref: MonitorRef) -> None:
        """Forget a monitor."""
        for heir in self._heirs.values():
            heir.watches = [watch for watch in heir.watches if watch.ref != ref]

    def died(self, token: int) -> bool:
        """The process of a token is gone: tell everybody. False if it is not one of these."""
        whom = next((whom for whom, heir in self._heirs.items() if heir.token == token), None)
        if whom is None:
            return False
        heir = self._heirs.pop(whom)
        for watch in heir.watches:
            tell(self._host, watch, _LOST, None)
        for sender, call in heir.curious:
            self._host.answer(sender, call, (_LOST.reason, _LOST.detail))
        return True

    def _is_of_before(self, whom: Incarnation) -> bool:
        me = this_process()
        return self._host.has_processes and whom.host == me.host and whom.start_time < me.start_time

    def _lives(self, whom: Incarnation) -> bool:
        process = local_process(whom)
        return process is not None and process.alive()

    def _heir(self, whom: Incarnation, add: Callable[[_Heir], None]) -> None:
        heir = self._heirs.get(whom)
        if heir is not None:
            add(heir)
            return
        heir = self._heirs[whom] = _Heir(self._new_token())
        add(heir)
        self._host.follow(heir.token, ProcessId(whom.pid, whom.start_time))


def tell(host: Host, watch: Watch, ended: Ended, delivery: int | None) -> None:
    """Send the one message of a monitor; `delivery` is the number of the last delivery it comes after."""
    address = watch.address
    down = Down(
        watch.ref,
        address,
        address.name,
        ended.reason,
        ended.detail,
        incarnation=address.incarnation,
        delivery=delivery,
        to=incarnation_of(watch.recipient),
    )
    host.send(actor_of(watch.recipient), down)
