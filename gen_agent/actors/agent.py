"""AgentActor: hosts one agent. Turns messages into the machine's events, and is what its effects act on.

Before `StartAgent` or `Begin` it is nobody; who may speak to it is `reception`, what it becomes is
`starting`, what it does is `life`, how it ends is `leaving`. It never lets go of anything a callback raises
and never waits for anybody.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

import attrs
from thespian.actors import Actor, ActorExitRequest

from gen_agent.actors.callers import FarCaller, FarCallers
from gen_agent.actors.convention import meets
from gen_agent.actors.courier import Courier
from gen_agent.actors.household import Household
from gen_agent.actors.inner import Internal
from gen_agent.actors.intake import Asker, event_of_info
from gen_agent.actors.internal import Begin, Orphaned, Relay, StopNow
from gen_agent.actors.leaving import Leaving
from gen_agent.actors.letters import Letter
from gen_agent.actors.life import Life
from gen_agent.actors.localseat import LocalSeat
from gen_agent.actors.parcels import Fate
from gen_agent.actors.reception import CASTS, Reception
from gen_agent.actors.reporting import Reporter
from gen_agent.actors.seat import WorkerSeat
from gen_agent.actors.shell import Shell
from gen_agent.actors.starting import SUPERVISOR_DEATH, Starting, begin_alone
from gen_agent.actors.watching import Ready
from gen_agent.actors.workerprocess import DEATH, LINK, PATIENCE, STREAM
from gen_agent.core import signals
from gen_agent.envelopes import Call, Cast, Envelope
from gen_agent.errors import GenAgentError
from gen_agent.messages import Reply, StartAgent, StopAgent
from gen_agent.soundness import sound_call
from gen_agent.values import Caller, CallRef

SENDS = "sends under way"
LEAVE_S = 0.1
"""How long the rest of a turn's end waits at most for what was given out: a recipient may be stuck."""


@attrs.frozen(slots=True, eq=False)
class _UserWakeup:
    payload: Any


class Sending(Shell):
    """An actor whose own sends keep their place among its agent's effects, once it has a life."""

    life: Life
    courier: Courier
    has_life = False

    def __init__(self) -> None:
        super().__init__()
        self._fates: dict[int, Fate] = {}

    def send(self, targetAddr: Any, msg: Any) -> None:
        """Thespian's `send`, as a callback or a client of this agent uses it."""
        if self.has_life:
            self.life.send(targetAddr, msg)
        elif id(msg) in self._fates:
            self.transmit(targetAddr, msg, lambda: None)
        else:
            Actor.send(self, targetAddr, msg)

    def parcel(self, address: Any, message: object, fate: Fate) -> None:
        """`send` a message of this agent's client, and tell what became of it."""
        self._fates[id(message)] = fate
        self.send(address, message)

    def transmit(self, address: Any, message: object, done: Callable[[], None]) -> None:
        """Send at once, and call `done` when it was delivered or given up."""
        if not self.has_processes:
            Actor.send(self, address, message)
            done()
            return
        fate = self._fates.pop(id(message), None)

        def arrived(result: Any, intent: Any) -> None:
            if fate is not None:
                fate.arrived()
            done()

        def failed(result: Any, intent: Any) -> None:
            if fate is not None:
                self._are_lost(address, fate)
            elif not isinstance(message, (Envelope, Internal)):
                # A user's own message to the dead goes where Thespian sends such.
                self._myRef.actor_send_fail(result, intent)
            done()

        self.post_letter(Letter(address, message, onSuccess=arrived, onError=failed))

    def _are_lost(self, address: Any, first: Fate) -> None:
        # What waits behind it is lost as well, and is to be known before anything else is sent instead.
        behind = self.courier.take_back(address, lambda message: id(message) in self._fates)
        for fate in (first, *[self._fates.pop(id(message)) for message in behind]):
            fate.lost()

    def answer(self, sender: Any, call: CallRef, error: GenAgentError) -> None:
        """Refuse a call."""
        self.transmit(sender, Reply(call, None, error), lambda: None)

    def wake_user(self, seconds: float, payload: object) -> None:
        """Deliver `payload` to `handle_info` after `seconds`."""
        self.set_deadline(_UserWakeup(payload), seconds)


class AgentActor(Sending):
    """One agent, or nobody yet."""

    starting: Starting
    reporter: Reporter

    def __init__(self) -> None:
        super().__init__()
        self.household: Household | None = None
        self.seat: WorkerSeat | LocalSeat | None = None
        self.begun = self._exiting = self._given_up = False
        self._after_sends: Callable[[], None] | None = None
        self.far_callers = FarCallers(self, lambda caller: self.life.feed(signals.CallerDied(caller)))
        self._reception = Reception(self)
        self._leaving = Leaving(self)
        self._known: dict[type, Callable[[Any, Any], None]] = {
            ActorExitRequest: lambda message, sender: self._exit_now(),
            Begin: lambda message, sender: self._begin(lambda: Starting(self, message, None)),
            StopNow: lambda message, sender: self._stop(message.reason),
            Orphaned: lambda message, sender: self.supervisor_lost(),
            Relay: lambda message, sender: self._relay(message),
        }

    @staticmethod
    def actorSystemCapabilityCheck(capabilities: Mapping[str, Any], requirements: Mapping[str, Any]) -> bool:
        """Thespian's question whether a system may have this actor."""
        return meets(capabilities, requirements)

    @property
    def own_supervisor(self) -> Any:
        """The supervisor of an agent that another system has here; None where it is found by its name."""
        return self.starting.registrar if self.begun and self.starting.away else None

    def handle(self, message: Any, sender: Any) -> None:
        """Tell orders, calls, casts and ordinary messages apart."""
        known = self._known.get(type(message))
        if known is not None:
            known(message, sender)
        elif isinstance(message, (Call, Cast)):
            self._envelope(message, sender)
        elif not self.has_life or isinstance(message, Internal):
            return
        elif isinstance(message, Reply) and message.call == self.starting.registration:
            self.starting.registered(message)
        else:
            self._reception.info(message, sender)

    def _envelope(self, message: Call | Cast, sender: Any) -> None:
        refusal = self._reception.refusal(message)
        if refusal is not None:
            call = sound_call(message)
            if call is not None:
                self.answer(sender, call, refusal)
        elif isinstance(message, StartAgent):
            self._begin(lambda: begin_alone(self, message, sender))
        elif isinstance(message, StopAgent):
            self._leaving.stoppers.append(Asker(sender, message.call))
            self._stop("shutdown")
        elif isinstance(message, Call):
            self._reception.call(message, sender)
        else:
            self._reception.cast(message, sender)

    def _relay(self, message: Relay) -> None:
        if self.begun and self.starting.registrar is not None:
            self.transmit(self.starting.registrar, message, lambda: None)

    # ---------------------------------------------------------------- a life begins

    def _begin(self, make: Callable[[], Starting]) -> None:
        if not self.begun:
            self.begun = True
            self.starting = make()
            self.starting.run()

    def settled(self, life: Life, courier: Courier, household: Household | None, reporter: Reporter) -> None:
        """There is a machine: what arrives is fed to it."""
        self.life, self.courier, self.household, self.reporter = life, courier, household, reporter
        self.has_life = True

    def seat_worker(self, seat: WorkerSeat | LocalSeat) -> None:
        """There is a place for a worker: make the first one."""
        self.seat = self.life.seat = seat
        seat.boot()

    def answer_start(self) -> None:
        """The agent is up: tell the starter."""
        self.starting.answer()

    def once_sent(self, call: Callable[[], None]) -> None:
        """Do `call` when what was sent has left, at latest after `LEAVE_S`."""
        if self.sends_at_once and self.courier.idle:
            call()
            return
        self._after_sends = call
        self.set_deadline(SENDS, LEAVE_S)
        self.courier.once_empty(lambda: self.soon(self._all_sent))

    def _all_sent(self) -> None:
        call, self._after_sends = self._after_sends, None
        self.clear_deadline(SENDS)
        if call is not None:
            call()

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
        elif isinstance(ready.key, FarCaller):
            self.far_callers.over(ready.key)
        elif isinstance(ready.key, Caller):
            self.watcher.remove(ready.key)
            self.life.feed(signals.CallerDied(ready.key))

    def on_deadline(self, key: Hashable) -> None:
        """A deadline of the machine, of the worker, or of a callback."""
        if isinstance(key, signals.Deadline):
            self.life.feed(signals.DeadlineReached(key))
        elif isinstance(key, _UserWakeup):
            self.life.feed(event_of_info(key.payload, self.myAddress))
        elif key in (PATIENCE, STREAM) and isinstance(self.seat, WorkerSeat):
            self.seat.on_deadline(key)
        elif isinstance(key, FarCaller):
            self.far_callers.call(key)
        elif key == CASTS:
            self._reception.overdue()
        elif key == SENDS:
            self._all_sent()

    def supervisor_lost(self) -> None:
        """Nobody knows this agent's name any more: end in an orderly way (C014)."""
        self._stop("registry_lost")

    def on_bug(self, error: Exception) -> None:
        """A defect outside a step: log it, and end as callback_failed rather than go on wrong."""
        super().on_bug(error)
        try:
            if self.has_life:
                self.life.feed(signals.Crashed(type(error).__name__))
        finally:
            self.give_up()

    # ---------------------------------------------------------------- the end

    def _stop(self, reason: str) -> None:
        if self.has_life:
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
        if self.has_life and not self._given_up:
            lost = self.has_processes and self.watcher.wait_for((SUPERVISOR_DEATH,), 0.0)
            self.life.feed(signals.StopAsked("registry_lost" if lost else "shutdown"))
        self._leaving.clear_out()
