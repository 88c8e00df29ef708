"""One agent from its start to its end: the machine, and what performs its effects.

The law: an event is stepped completely before any of its effects is performed; effects are performed strictly
in order; what they lead to is fed back in the same dispatch, after them. A step that raises has done nothing,
and ends the agent. What only processes can do is behind the seat.
"""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import attrs

from gen_agent.actors.audience import Audience
from gen_agent.actors.callers import FarCaller, FarCallers
from gen_agent.actors.courier import Courier
from gen_agent.actors.household import Household
from gen_agent.actors.identity import local_process
from gen_agent.actors.intake import Asker
from gen_agent.actors.shell import log_failure
from gen_agent.agent import scoped_name
from gen_agent.core import signals
from gen_agent.core.hooks import Hooks
from gen_agent.core.machine import Machine
from gen_agent.errors import GenAgentError, Unpicklable
from gen_agent.messages import Reply
from gen_agent.sealed import Sealed
from gen_agent.values import AgentAddress


@attrs.frozen(slots=True, eq=False)
class Post:
    """An effect of the shell's own: a message that a callback or a telemetry handler sends, in its place."""

    recipient: Any
    message: object


class Seat(Protocol):
    """Where the agent's worker sits: a process, or the agent itself."""

    def start_turn(self, effect: signals.StartTurn, listening: bool) -> None:
        """Hand a turn to a worker."""

    def kill_turn(self, tag: signals.Tag) -> None:
        """Kill the worker of that turn."""

    def answer_checkpoint(self, effect: signals.AnswerCheckpoint) -> None:
        """Let a checkpoint go on."""

    def reset(self, effect: signals.ResetWorkerSession) -> None:
        """Reset the session."""

    def shut(self) -> None:
        """End the worker for good."""


class Host(Protocol):
    """What a life needs of the actor it is in."""

    watcher: Any
    far_callers: FarCallers

    def set_deadline(self, key: Any, seconds: float) -> None:
        """Feed `DeadlineReached(key)` after that."""

    def clear_deadline(self, key: Any) -> None:
        """Do not."""

    def answer_start(self) -> None:
        """Tell the starter, then begin to run."""

    def once_sent(self, call: Callable[[], None]) -> None:
        """Do `call` when the transport has all that was sent: at once, or with a later message."""

    def close_session(self, effect: signals.CloseSession) -> str | None:
        """Run `terminate_session`, bounded; what it raised, by class."""

    def leaving(self) -> None:
        """The end has begun: its time runs."""

    def quit(self, effect: signals.Quit) -> None:
        """Say the last word and end the process."""


class Life:
    """One agent. `feed` is the way in for everything that happens."""

    seat: Seat

    def __init__(
        self, host: Host, address: AgentAddress, courier: Courier, household: Household | None
    ) -> None:
        self._host, self._address, self._courier, self._household = host, address, courier, household
        self._machine: Machine | None = None
        self._todo: deque[signals.Event | Callable[[], None]] = deque()
        self._running = self._stepping = False
        self._audience = Audience(0)
        self._perform: dict[type, Callable[[Any], None]] = {
            Post: lambda effect: self._courier.send(effect.recipient, effect.message),
            signals.AnswerStart: lambda effect: self._host.answer_start(),
            signals.StartTurn: self._start_turn,
            signals.KillWorker: self._kill_worker,
            signals.Answer: self._answer,
            signals.Admit: self._admit,
            signals.Complete: self._complete,
            signals.Conclude: lambda effect: self._host.once_sent(self._conclude),
            signals.Relay: self._relay,
            signals.AnswerCheckpoint: lambda effect: self.seat.answer_checkpoint(effect),
            signals.SetDeadline: lambda effect: self._host.set_deadline(effect.key, effect.seconds),
            signals.ClearDeadline: lambda effect: self._host.clear_deadline(effect.key),
            signals.WatchCaller: self._watch_caller,
            signals.UnwatchCaller: self._unwatch_caller,
            signals.ResetWorkerSession: lambda effect: self.seat.reset(effect),
            signals.Exit: self._exit,
            signals.CloseSession: self._close_session,
            signals.Quit: lambda effect: self._host.quit(effect),
        }

    def begin(self, machine: Machine, most_requests: int) -> None:
        """Take the machine; what happens from now on is stepped."""
        self._machine = machine
        self._audience = Audience(most_requests)

    @property
    def stepping(self) -> bool:
        """Whether a step is running: what callbacks send then is an effect of it."""
        return self._stepping

    @property
    def over(self) -> bool:
        """Whether nothing more will come."""
        return self._machine is not None and self._machine.terminated

    def send(self, recipient: Any, message: object) -> None:
        """Send a message: among the effects of the running step, else now."""
        if self._stepping and self._machine is not None:
            self._machine.interject(Post(recipient, message))
        else:
            self._courier.send(recipient, message)

    # ---------------------------------------------------------------- events

    def feed(self, event: signals.Event) -> None:
        """Step `event`, now, or after the effects that are being performed."""
        self._todo.append(event)
        self._go_on()

    def later(self, call: Callable[[], None]) -> None:
        """Do `call` after the effects that are being performed."""
        self._todo.append(call)
        self._go_on()

    def _go_on(self) -> None:
        if self._running:
            return
        self._running = True
        try:
            while self._todo:
                item = self._todo.popleft()
                if callable(item):
                    item()
                else:
                    self.step(item)
        finally:
            self._running = False

    def step(self, event: signals.Event) -> None:
        """Step one event and perform its effects at once."""
        if isinstance(event, (signals.Told, signals.Submitted)) and event.stream_to is not None:
            self._audience.add(event.ref)
        for effect in self._effects(event):
            self._perform[type(effect)](effect)

    def _effects(self, event: signals.Event) -> tuple[Any, ...]:
        machine = self._machine
        if machine is None:
            return ()
        self._stepping = True
        try:
            return machine.step(event, time.monotonic())
        except Exception as error:
            log_failure("a step", error)
            return machine.step(signals.Crashed(type(error).__name__), time.monotonic())
        finally:
            self._stepping = False
            if self._household is not None:
                self._household.leave()

    @contextlib.contextmanager
    def around(self, hook: str) -> Iterator[None]:
        """What every callback runs inside: the agent's name, and children counted as the callback's."""
        if self._household is not None:
            self._household.enter()
        with scoped_name(self._address.name):
            yield

    def hooks(self, agent: Any) -> Hooks:
        """The callbacks of `agent`, each inside `around`."""
        return Hooks(agent, self.around)

    # ---------------------------------------------------------------- effects

    def _start_turn(self, effect: signals.StartTurn) -> None:
        self.seat.start_turn(effect, self._audience.listens_to(effect.tag.ref))

    def _kill_worker(self, effect: signals.KillWorker) -> None:
        self.seat.kill_turn(effect.tag)
        self._todo.append(signals.WorkerKilled(effect.tag))

    def _answer(self, effect: signals.Answer) -> None:
        self._courier.send(effect.by.sender, _reply(effect))

    def _admit(self, effect: signals.Admit) -> None:
        if effect.error is not None:
            self._audience.gone(effect.ref)
        self._courier.admit(effect.recipient, effect.ref, effect.error)

    def _complete(self, effect: signals.Complete) -> None:
        self._audience.gone(effect.ref)
        outcome: Any = effect.outcome if effect.sealed is None else effect.sealed
        self._courier.complete(effect.recipient, effect.ref, _sendable(outcome))

    def _conclude(self) -> None:
        self.feed(signals.Concluding())

    def _relay(self, effect: signals.Relay) -> None:
        if effect.run.count:
            self._courier.relay(effect.recipient, effect.ref, effect.attempt, effect.run, effect.batch)

    def _watch_caller(self, effect: signals.WatchCaller) -> None:
        if isinstance(effect.caller, FarCaller):
            self._host.far_callers.call(effect.caller)
            return
        process = local_process(effect.caller)
        if process is None or effect.caller in self._host.watcher:
            return
        if not self._host.watcher.add_process(process, effect.caller):
            self._todo.append(signals.CallerDied(effect.caller))

    def _unwatch_caller(self, effect: signals.UnwatchCaller) -> None:
        if isinstance(effect.caller, FarCaller):
            self._host.far_callers.forget(effect.caller)
        else:
            self._host.watcher.remove(effect.caller)

    def _exit(self, effect: signals.Exit) -> None:
        self._host.leaving()
        if effect.active is not None:
            self.seat.shut()
        self._todo.append(signals.Closing())

    def _close_session(self, effect: signals.CloseSession) -> None:
        self._todo.append(signals.SessionClosed(self._host.close_session(effect)))


def _reply(effect: signals.Answer) -> Reply:
    by: Asker = effect.by
    try:
        return Reply(by.call, effect.value if effect.sealed is None else effect.sealed, effect.error)
    except Unpicklable as error:
        return Reply(by.call, None, error.fresh())


def _sendable(outcome: Any) -> Any:
    if isinstance(outcome, GenAgentError):
        try:
            return Sealed.of(outcome, "error")
        except Unpicklable as error:
            return error.fresh()
    return outcome
