"""What a script waits for in its mailbox: completions, streams, ends of agents.

The law: the death of an agent whose completion somebody waits for is learned by a monitor of our own, so that
it comes after everything that agent sent. This module must not know how messages travel.
"""

from __future__ import annotations

import time
from collections import deque
from typing import Any

from thespian.actors import ActorExitRequest

from gen_agent.actors.fetching import is_last
from gen_agent.actors.streamqueues import StreamQueues
from gen_agent.client.protocol import Inherit, Lookup, WhyDown
from gen_agent.client.targets import ADDRESS_TIMEOUT_S, TO_SUPERVISOR, incarnation_of
from gen_agent.errors import AgentDown, GenAgentError, RequestNotFound
from gen_agent.messages import Admission, Completion, Demonitor, Down, Monitor
from gen_agent.values import AgentAddress, MonitorRef, RequestRef, is_address, mint


class Pickup(StreamQueues):
    """What a script waits for in its mailbox: completions, streams, ends of agents."""

    def is_mine(self, recipient: Any) -> bool:
        """Whether that recipient is this script; None is."""
        return recipient is None or (self._mailbox is not None and recipient == self._mailbox)

    def expect(self, ref: RequestRef, agent: Any) -> None:
        """This script is the recipient of that request's completion."""
        self._open[ref] = agent

    def forget(self, ref: RequestRef) -> None:
        """Nobody will ask for that completion."""
        self._open.pop(ref, None)

    def completion(self, ref: RequestRef, timeout: float | None) -> Completion | None:
        """The completion of a request, taken out; None if it does not come within `timeout`.

        Raises the admission's error, `RequestNotFound`, or `AgentDown` when the agent ended without a
        completion.
        """
        end = None if timeout is None else time.monotonic() + timeout
        self.fetch_all()
        if ref in self._open:
            self.watch(self._open[ref])
        while True:
            found = self._find_last(ref)
            if found is not None:
                return found
            if ref not in self._open:
                raise RequestNotFound(ref)
            self.raise_if_ended(self._open[ref], ref)
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                return None
            if not self.fetch(left) and not self.can_wait:
                return None

    def _find_last(self, ref: RequestRef) -> Completion | None:
        for index, message in enumerate(self._box):
            if isinstance(message, (Completion, Admission)) and message.ref == ref and is_last(message):
                if isinstance(message, Admission):
                    raise _fresh(message.error)
                del self._box[index]
                self._open.pop(ref, None)
                return message
        return None

    # ---------------------------------------------------------------- deaths

    def watch(self, agent: Any) -> None:
        """Learn of an agent's end, after everything it sent to this script. Nothing for a plain address."""
        if not isinstance(agent, AgentAddress):
            return
        if agent.incarnation in self._watched or agent.incarnation in self._ended:
            return
        monitor = Monitor(agent, mint.monitor(), self.address)
        self._own[monitor.ref] = agent
        self._watched.add(agent.incarnation)
        self._line.ask_supervisor(monitor)

    def raise_if_ended(self, agent: Any, ref: RequestRef) -> None:
        """Raise `AgentDown` if that agent's end has been learned, or that nobody got that request."""
        self._line.unheard.raise_if(ref)
        self.watch(agent)
        ended = self._ended.get(agent.incarnation) if isinstance(agent, AgentAddress) else None
        if ended is not None:
            reason, detail = ended
            if reason == "noproc":
                reason, detail = self._line.ask_supervisor(WhyDown(agent.incarnation))
            raise AgentDown(agent, reason, tuple(detail))

    def monitor(self, target: Any) -> MonitorRef:
        """Have one `Down` come when `target` is gone."""
        # Whom the name means now is asked first, for the next supervisor would not know any more.
        agent = target if is_address(target) else self._line.ask_supervisor(Lookup(target))
        monitor = Monitor(target if agent is None else agent, mint.monitor(), self.address)
        self._monitors[monitor.ref] = monitor.target
        self._line.ask_supervisor(monitor)
        return monitor.ref

    def demonitor(self, ref: MonitorRef) -> None:
        """Have no `Down` of that monitor come any more, one that is here already included."""
        self._monitors.pop(ref, None)
        self._box = deque(
            message for message in self._box if not (isinstance(message, Down) and message.monitor == ref)
        )
        self._line.ask_supervisor(Demonitor(ref))

    def _mailbox_replaced(self, mailbox: Any) -> None:
        # Outcomes can be polled; of an end nothing but its monitor tells.
        for ref, target in (*self._monitors.items(), *self._own.items()):
            for message in (Demonitor(ref), Monitor(target, ref, mailbox)):
                self._line.order_of_nobody(TO_SUPERVISOR, message, ADDRESS_TIMEOUT_S)
        self._open.clear()
        self._queues.clear()

    def _supervisor_lost(self) -> None:
        # Its agents all end with it; who monitors them then is the next one, so that `Down` still comes last.
        if self._mailbox is None:
            self._no_supervisor()
            return
        for ref, target in (*self._monitors.items(), *self._own.items()):
            self._line.tell_next_supervisor(Inherit(target, ref, self._mailbox))

    def _no_supervisor(self) -> None:
        # The whole system ends: the monitors are ours to answer.
        asked = [agent for agent in self._open.values() if isinstance(agent, AgentAddress)]
        for agent in (*self._own.values(), *asked):
            if agent.incarnation not in self._ended:
                self._has_ended(agent.incarnation, "registry_lost", ())
        self._own.clear()
        for ref, target in self._monitors.items():
            known = isinstance(target, AgentAddress)
            name = target.name if known else target
            self._box.append(
                Down(
                    ref, target if known else None, name, "registry_lost", incarnation=incarnation_of(target)
                )
            )
        self._monitors.clear()

    def close(self, *, system_ends: bool) -> None:
        """End the mailbox; take back the monitors of a system that lives on."""
        for ref in () if system_ends else (*self._monitors, *self._own):
            self._line.tell_supervisor(Demonitor(ref))
        self._monitors.clear()
        self._own.clear()
        if self._mailbox is not None:
            self._line.post(self._mailbox, ActorExitRequest())
            self._mailbox = None


def _fresh(error: GenAgentError | None) -> GenAgentError:
    assert error is not None
    return error.fresh()
