"""Who may speak to an agent, and what of it is fed to the machine: calls, casts, ordinary messages.

A message for another incarnation or in another version is refused, a cast that came early waits for those
before it, and an envelope that can't be read is its sender's mistake. Decides nothing about the agent itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from thespian.actors import PoisonMessage

from gen_agent.actors.castorder import CastOrder
from gen_agent.actors.inner import Internal
from gen_agent.actors.intake import event_of_call, event_of_cast, event_of_info
from gen_agent.actors.shell import log_failure
from gen_agent.core import signals
from gen_agent.envelopes import VERSION, Call, Cast, Delivery, Envelope
from gen_agent.errors import AgentDown, AgentNotFound, AlreadyStarted, GenAgentError, UnknownRequest
from gen_agent.messages import StartAgent
from gen_agent.soundness import is_sound

if TYPE_CHECKING:
    from gen_agent.actors.agent import AgentActor

CASTS = "early casts"


class Reception:
    """The door of one agent actor."""

    def __init__(self, actor: AgentActor) -> None:
        self._actor = actor
        self._casts = CastOrder()

    def refusal(self, message: Call | Cast) -> GenAgentError | None:
        """Why `message` is not for this agent, or not now; None if it is."""
        actor = self._actor
        if message.version != VERSION or not is_sound(message):
            return UnknownRequest()
        if isinstance(message, StartAgent):
            return AlreadyStarted(actor.starting.address) if actor.begun else None
        if not actor.has_life:
            return AgentNotFound(None)
        if message.incarnation is not None and message.incarnation != actor.starting.address.incarnation:
            return AgentDown(message.incarnation, "noproc")
        return None

    def call(self, message: Call, sender: Any) -> None:
        """Feed a call."""
        event = _read(lambda: event_of_call(message, sender))
        if event is None:
            self._actor.answer(sender, message.call, UnknownRequest())
        else:
            self._actor.life.feed(event)

    def cast(self, message: Cast, sender: Any) -> None:
        """Feed a cast, and those that waited for it."""
        self._feed(self._casts.arrived(str(sender), message.sequence, message, time.monotonic()))

    def overdue(self) -> None:
        """Feed the casts that have waited long enough."""
        self._feed(self._casts.overdue(time.monotonic()))

    def _feed(self, ready: list[Cast]) -> None:
        for cast in ready:
            event = _read(lambda cast=cast: event_of_cast(cast))  # type: ignore[misc]
            if event is not None:
                self._actor.life.feed(event)
        due = self._casts.deadline()
        if due is not None:
            self._actor.set_deadline(CASTS, due - time.monotonic())

    def info(self, message: Any, sender: Any) -> None:
        """Feed an ordinary message, unless it is Thespian's word on what became of our own, or was delivered
        to the wrong one: ports are used again.
        """
        if isinstance(message, Delivery):
            if message.to not in (None, self._actor.starting.address.incarnation):
                return
        elif isinstance(message, PoisonMessage) and isinstance(message.poisonMessage, (Internal, Envelope)):
            return
        self._actor.life.feed(event_of_info(message, sender))


def _read(make: Callable[[], signals.Event | None]) -> signals.Event | None:
    try:
        return make()
    except Exception as error:
        # An envelope that was not made by its constructor.
        log_failure("reading an envelope", error)
        return None
