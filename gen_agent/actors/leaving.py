"""How an agent actor ends: the session closed within its time, the last word to the registrar, nothing left
behind.

All of it is done by hand and at once, because an actor that is exiting gets no message, no deadline and no
watch any more from Thespian (C047-C049).
"""

from __future__ import annotations

import os
import signal
import time
from types import FrameType
from typing import TYPE_CHECKING, Any

from gen_agent.actors.children import living_children
from gen_agent.actors.farewell import end_session
from gen_agent.actors.internal import Ending
from gen_agent.actors.processes import children, kill_children, kill_tree
from gen_agent.actors.settling import bound_exit, say_it_ends
from gen_agent.core import signals
from gen_agent.messages import Reply

if TYPE_CHECKING:
    from gen_agent.actors.agent import AgentActor

LINGER_S = 5.0
"""How long the last messages of an agent may take to leave."""


class Leaving:
    """The end of one agent actor."""

    def __init__(self, actor: AgentActor) -> None:
        self._actor = actor
        self._due: float | None = None
        self._begun = False
        self.stoppers: list[Any] = []

    def begin(self, shutdown_s: float | None) -> None:
        """From now on the end has `shutdown_s`. The alarm of a termination signal gives way to it."""
        self._begun = True
        self._due = None if shutdown_s is None else time.monotonic() + shutdown_s
        if self._actor.has_processes:
            bound_exit(None if shutdown_s is None else shutdown_s + LINGER_S)
            say_it_ends()

    def _left(self) -> float | None:
        return None if self._due is None else max(0.0, self._due - time.monotonic())

    def close_session(self, effect: signals.CloseSession) -> str | None:
        """Run `terminate_session` in the worker or, where there is none, in a child; what it raised, by
        class.
        """
        actor, seed = self._actor, self._actor.starting.seed
        if actor.seat is None or seed is None:
            return None
        result = actor.seat.close_session(effect.session, self._left())
        if result is None and actor.has_processes:
            result = end_session(seed, effect.session, self._left(), actor.starting.keep)
        if result is None:
            return None
        done, error_class = result
        return error_class if done else "TimeoutError"

    def say_last_word(self, effect: signals.Quit) -> None:
        """Hand over what still waits, then announce the end: the registrar tells everybody once the process
        is gone.
        """
        actor = self._actor
        actor.courier.flush()
        drained = tuple((by.sender, by.call) for by in (*effect.drained, *self.stoppers))
        registrar = actor.starting.registrar
        if registrar is None:
            for sender, call in drained:
                actor.transmit(sender, Reply(call), _nothing)
            return
        word = Ending(
            actor.starting.address.incarnation,
            effect.reason,
            effect.detail,
            actor.courier.last_numbers(),
            drained,
        )
        actor.transmit(registrar, word, _nothing)

    def clear_out(self) -> None:
        """End everything below this process but the actors that callbacks made: those end as Thespian's
        children do.

        They are waited for as long as the agent's own end may still take, then they are killed.
        """
        actor = self._actor
        if actor.seat is not None:
            actor.seat.shut()
        if not actor.has_processes:
            return
        actors = living_children(actor)
        kill_children(keep=actors, deadline_s=1.0)
        if not actors:
            bound_exit(LINGER_S)
        elif self._left() is not None:
            _kill_children_after(max(0.05, self._left() or 0.0))


def _kill_children_after(seconds: float) -> None:
    def on_alarm(number: int, frame: FrameType | None) -> None:
        for child in children(os.getpid()):
            kill_tree(child)
        bound_exit(LINGER_S)

    signal.signal(signal.SIGALRM, on_alarm)
    signal.setitimer(signal.ITIMER_REAL, seconds)


def _nothing() -> None:
    """Nobody waits for this."""
