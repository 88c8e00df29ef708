"""AgentActor: hosts one agent. Turns messages into the machine's events, and is what its effects act on.

Before `StartAgent` or `Begin` it is nobody; what it becomes is `starting`, what it does is `life`, how it
ends is `leaving`. It never lets go of anything a callback raises, never waits for anybody, and drops what was
meant for another incarnation.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from typing import Any

import attrs
from thespian.actors import Actor, ActorExitRequest, ChildActorExited, PoisonMessage
from thespian.system.transport import TransmitIntent

from gen_agent.actors.castorder import CastOrder
from gen_agent.actors.courier import Courier
from gen_agent.actors.household import Household
from gen_agent.actors.intake import Asker, event_of_call, event_of_cast, event_of_info
from gen_agent.actors.internal import Begin, Internal, Orphaned, StopNow
from gen_agent.actors.leaving import Leaving
from gen_agent.actors.life import Life
from gen_agent.actors.localseat import LocalSeat
from gen_agent.actors.reporting import Reporter
from gen_agent.actors.seat import PATIENCE, WorkerSeat
from gen_agent.actors.shell import Shell, log_failure
from gen_agent.actors.starting import SUPERVISOR_DEATH, Starting, begin_alone
from gen_agent.actors.watching import Ready
from gen_agent.actors.workerprocess import DEATH, LINK
from gen_agent.core import signals
from gen_agent.envelopes import VERSION, Call, Cast, Envelope
from gen_agent.errors import AgentDown, AgentNotFound, AlreadyStarted, GenAgentError, UnknownRequest
from gen_agent.messages import Reply, StartAgent, StopAgent
from gen_agent.values import Caller

_CASTS = "early casts"


@attrs.frozen(slots=True, eq=False)
class _UserWakeup:
    payload: Any


class AgentActor(Shell):
    """One agent, or nobody yet."""

    starting: Starting
    life: Life
    courier: Courier
    reporter: Reporter

    def __init__(self) -> None:
        super().__init__()
        self.household: Household | None = None
        self.seat: WorkerSeat | LocalSeat | None = None
        self._begun = self._settled = self._exiting = self._given_up = False
        self._casts = CastOrder()
        self._leaving = Leaving(self)
        self._known: dict[type, Callable[[Any, Any], None]] = {
            ActorExitRequest: lambda message, sender: self._exit_now(),
            Begin: lambda message, sender: self._begin(Starting(self, message, None)),
            StopNow: lambda message, sender: self._stop(message.reason),
            Orphaned: lambda message, sender: self.supervisor_lost(),
        }

    # ---------------------------------------------------------------- messages

    def handle(self, message: Any, sender: Any) -> None:
        """Tell orders, calls, casts and ordinary messages apart."""
        known = self._known.get(type(message))
        if known is not None:
            known(message, sender)
        elif isinstance(message, Internal):
            return
        elif isinstance(message, (Call, Cast)):
            self._envelope(message, sender)
        elif self._settled and isinstance(message, Reply) and message.call == self.starting.registration:
            self.starting.registered(message)
        elif self._settled and not self._ours(message):
            self.life.feed(event_of_info(message, sender))

    def _ours(self, message: Any) -> bool:
        """Thespian's word on what became of our own: known better already, or of no interest."""
        if isinstance(message, ChildActorExited):
            return isinstance(self.seat, WorkerSeat) and message.childAddress in self.seat.addresses
        return isinstance(message, PoisonMessage) and isinstance(message.poisonMessage, (Internal, Envelope))

    def _envelope(self, message: Call | Cast, sender: Any) -> None:
        refusal = self._refusal(message)
        if refusal is not None:
            if isinstance(message, Call):
                self.transmit(sender, Reply(message.call, None, refusal), _nothing)
        elif isinstance(message, StartAgent):
            self._begin(begin_alone(self, message, sender))
        elif isinstance(message, StopAgent):
            self._leaving.stoppers.append(Asker(sender, message.call))
            self._stop("shutdown")
        elif isinstance(message, Call):
            self._call(message, sender)
        else:
            self._take_casts(self._casts.arrived(str(sender), message.sequence, message, time.monotonic()))

    def _call(self, message: Call, sender: Any) -> None:
        try:
            event = event_of_call(message, sender)
        except Exception as error:
            # An envelope that was not made by its constructor; its sender's mistake, not the agent's end.
            log_failure("reading a call", error)
            self.transmit(sender, Reply(message.call, None, UnknownRequest()), _nothing)
            return
        self.life.feed(event)

    def _refusal(self, message: Call | Cast) -> GenAgentError | None:
        if message.version != VERSION:
            return UnknownRequest()
        if isinstance(message, StartAgent):
            return AlreadyStarted(self.starting.address) if self._begun else None
        if not self._settled:
            return AgentNotFound(None)
        if message.incarnation is not None and message.incarnation != self.starting.address.incarnation:
            return AgentDown(message.incarnation, "noproc")
        return None

    def _take_casts(self, ready: list[Cast]) -> None:
        for cast in ready:
            try:
                event = event_of_cast(cast)
            except Exception as error:
                log_failure("reading a cast", error)
                continue
            if event is not None:
                self.life.feed(event)
        due = self._casts.deadline()
        if due is not None:
            self.set_deadline(_CASTS, due - time.monotonic())

    # ---------------------------------------------------------------- sending

    def send(self, targetAddr: Any, msg: Any) -> None:
        """Thespian's `send`, as a callback or a client of this agent uses it: in order with the agent's
        effects.
        """
        if self._settled:
            self.life.send(targetAddr, msg)
        else:
            Actor.send(self, targetAddr, msg)

    def transmit(self, address: Any, message: object, done: Callable[[], None]) -> None:
        """Send at once, and call `done` when it was delivered or given up."""
        if not self.has_processes:
            Actor.send(self, address, message)
            done()
            return

        def failed(result: Any, intent: Any) -> None:
            if not isinstance(message, (Envelope, Internal)):
                # A user's own message to the dead goes where Thespian sends such.
                self._myRef.actor_send_fail(result, intent)
            done()

        intent = TransmitIntent(address, message, onSuccess=lambda result, intent: done(), onError=failed)
        self._myRef._send_intent(intent)

    # ---------------------------------------------------------------- a life begins

    def _begin(self, starting: Starting) -> None:
        if not self._begun:
            self._begun = True
            self.starting = starting
            starting.run()

    def settled(self, life: Life, courier: Courier, household: Household | None, reporter: Reporter) -> None:
        """There is a machine: what arrives is fed to it."""
        self.life, self.courier, self.household, self.reporter = life, courier, household, reporter
        self._settled = True

    def seat_worker(self, seat: WorkerSeat | LocalSeat) -> None:
        """There is a place for a worker: make the first one."""
        self.seat = self.life.seat = seat
        seat.boot()

    def answer_start(self) -> None:
        """The agent is up: tell the starter."""
        self.starting.answer()

    def run_began(self) -> None:
        """The starter has its answer."""
        self.life.feed(signals.RunBegan())

    # ---------------------------------------------------------------- what happens

    def on_ready(self, ready: Ready) -> None:
        """The worker, the supervisor or a caller."""
        if ready.key in (LINK, DEATH):
            if isinstance(self.seat, WorkerSeat):
                self.seat.on_ready(ready)
        elif ready.key == SUPERVISOR_DEATH:
            self.watcher.remove(SUPERVISOR_DEATH)
            self.supervisor_lost()
        elif isinstance(ready.key, Caller):
            self.watcher.remove(ready.key)
            self.life.feed(signals.CallerDied(ready.key))

    def on_deadline(self, key: Hashable) -> None:
        """A deadline of the machine, of the worker, or of a callback."""
        if isinstance(key, signals.Deadline):
            self.life.feed(signals.DeadlineReached(key))
        elif isinstance(key, _UserWakeup):
            self.life.feed(event_of_info(key.payload, self.myAddress))
        elif key == PATIENCE and isinstance(self.seat, WorkerSeat):
            self.seat.on_deadline()
        elif key == _CASTS:
            self._take_casts(self._casts.overdue(time.monotonic()))

    def wake_user(self, seconds: float, payload: object) -> None:
        """Deliver `payload` to `handle_info` after `seconds`."""
        self.set_deadline(_UserWakeup(payload), seconds)

    def supervisor_lost(self) -> None:
        """Nobody knows this agent's name any more: end in an orderly way (C014)."""
        self._stop("registry_lost")

    def on_bug(self, error: Exception) -> None:
        """A defect outside a step: log it, and end as callback_failed rather than go on wrong."""
        super().on_bug(error)
        try:
            if self._settled:
                self.life.feed(signals.Crashed(type(error).__name__))
        finally:
            self.give_up()

    # ---------------------------------------------------------------- the end

    def _stop(self, reason: str) -> None:
        if self._settled:
            self.life.feed(signals.StopAsked(reason))
        else:
            self.give_up()

    def leaving(self) -> None:
        """The end has begun."""
        parts = self.starting.parts
        self._leaving.begin(None if parts is None else parts.options.shutdown_s)

    def close_session(self, effect: signals.CloseSession) -> str | None:
        """Run `terminate_session`."""
        return self._leaving.close_session(effect)

    def quit(self, effect: signals.Quit) -> None:
        """Say the last word and end."""
        self._leaving.say_last_word(effect)
        self.give_up()

    def give_up(self) -> None:
        """End this actor."""
        if not (self._exiting or self._given_up):
            self._given_up = True
            Actor.send(self, self.myAddress, ActorExitRequest())

    def _exit_now(self) -> None:
        self._exiting = True
        if self._settled and not self._given_up:
            lost = (
                SUPERVISOR_DEATH in self.watcher.wait_for((SUPERVISOR_DEATH,), 0.0)
                if self.has_processes
                else False
            )
            self.life.feed(signals.StopAsked("registry_lost" if lost else "shutdown"))
        self._leaving.clear_out()


def _nothing() -> None:
    """Nobody waits for this."""
