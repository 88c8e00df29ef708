"""A simulated agent process: the real machine and real callbacks, and a shell that performs effects in
virtual time.

Law: what the real shell does within one dispatch happens here within one dispatch, in the same order (a kill
and its end of turn, an exit and its closing steps); everything that waits for another process takes virtual
time.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

import attrs

from gen_agent.agent import Agent, scoped_name
from gen_agent.core import signals as on
from gen_agent.core.hooks import Hooks, streams
from gen_agent.core.machine import Machine
from gen_agent.core.model import State
from gen_agent.errors import GenAgentError, StartError, Unsupported, WorkerCrashed
from gen_agent.options import AgentOptions
from gen_agent.sealed import Sealed
from gen_agent.testing.simulation_worker import SimBackend, SimSession, SimTurn, SimWorker
from gen_agent.testing.simulation_world import World
from gen_agent.values import AgentAddress, Caller, Incarnation, Name


class Ears(Protocol):
    """Who hears what an agent does: its clients, and whoever checks it."""

    def before(self, agent: SimAgent, event: on.Event) -> None:
        """`event` is about to be handled."""

    def performed(self, agent: SimAgent, effect: on.Effect) -> None:
        """One effect, as it happens."""

    def told(self, agent: SimAgent, name: tuple[str, ...], told: Mapping[str, Any]) -> None:
        """Telemetry, while the step goes on."""

    def after(self, agent: SimAgent, event: on.Event) -> None:
        """The dispatch is over."""

    def gone(self, agent: SimAgent, reason: str) -> None:
        """The process is gone."""


@attrs.frozen
class SimContext:
    """What `self.context` is in a simulated agent: it can send and be woken; there are no other actors and
    clients."""

    name: Name
    address: AgentAddress
    _agent: SimAgent = attrs.field(repr=False)

    @property
    def client(self) -> Any:
        """Raises `RuntimeError`: a simulated agent has nobody to talk to."""
        raise RuntimeError("a simulated agent has no client")

    def send(self, address: Any, message: object) -> None:
        """Keep `message` in `SimAgent.sent`."""
        self._agent.sent.append((address, message))

    def create_actor(self, cls: type) -> Any:
        """Raises `RuntimeError`: there are no actors in a simulation."""
        raise RuntimeError("a simulated agent can't create actors")

    def wakeup_after(self, seconds: float, payload: object = None) -> None:
        """Deliver `payload` to `handle_info` after `seconds` of virtual time."""
        agent = self._agent
        agent.world.after(seconds, lambda: agent.receive(on.InfoArrived(payload, None, 0)))


class SimAgent:
    """One incarnation. `receive` is its mailbox; `die` is a kill."""

    def __init__(
        self,
        world: World,
        agent: type[Agent],
        options: AgentOptions,
        script: tuple[SimTurn, ...],
        ears: Ears,
        number: int,
        no_worker: float = 0.0,
    ) -> None:
        self.world, self.options, self.number, self._ears = world, options, number, ears
        self.name: Name = "simulated" if options.name is None else options.name
        self.alive, self.sent = True, list[tuple[Any, object]]()
        self.watched: dict[Caller, None] = {}
        self.worker: SimWorker | None = None
        self._wanted: on.StartTurn | None = None
        self._class, self._no_worker = agent, no_worker
        self._backend = SimBackend(script)
        self._deadlines: dict[on.Deadline, object] = {}
        self._instance = agent()
        name = self.name
        address = AgentAddress(name, Incarnation("simulation", number, number, str(number)), None)
        self._instance.context = SimContext(name, address, self)
        self._hooks = Hooks(self._instance, self._around)
        self.machine = Machine(name, options, self._hooks, self._emit, self._log, f"sim{number}")

    def boot(self, given: Mapping[str, Any]) -> None:
        """Start the agent. Raises the `StartError` of a start that fails."""
        started = self._hooks.start(given)
        if isinstance(started, StartError):
            raise started
        session = Sealed.of(self._backend.start_session(), "session")
        self.receive(on.Booted(started[1], session, streams(self._class)))

    def receive(self, event: on.Event) -> None:
        """Handle one message; a dead agent gets none."""
        if not self.alive:
            return
        self.world.note(f"agent {self.number}", f"<- {_said(event)}")
        self._ears.before(self, event)
        waiting = [event]
        while waiting and self.alive:
            for effect in self.machine.step(waiting.pop(0), self.world.now):
                self.world.note(f"agent {self.number}", f"-> {_said(effect)}")
                waiting.extend(self._perform(effect))
        self._ears.after(self, event)

    def die(self, reason: str = "killed") -> None:
        """The process is gone, and its worker with it."""
        if self.alive:
            self.alive = False
            self._kill_worker()
            self.world.note(f"agent {self.number}", f"gone: {reason}")
            self._ears.gone(self, reason)

    @property
    def state(self) -> State:
        """Where the machine is."""
        return self.machine.state

    def _perform(self, effect: on.Effect) -> tuple[on.Event, ...]:
        self._ears.performed(self, effect)
        does = _DOES.get(type(effect))
        follow_up = does(self, effect) if does is not None else None
        return () if follow_up is None else (follow_up,)

    # -------------------------------------------------------------------- the worker

    def start_turn(self, effect: on.StartTurn) -> on.Event | None:
        """A live worker has the prompt at once; a new one takes time, and may not come."""
        self._wanted = effect
        if self.worker is not None:
            self.worker.begin(effect)
            return on.TurnStarted(effect.tag)
        self.world.after(0.005 + 0.01 * self.world.random.random(), lambda: self._hire(effect))
        return None

    def _hire(self, effect: on.StartTurn) -> None:
        if not self.alive or self._wanted is not effect:
            return None
        if self.world.chance(self._no_worker):
            return self.receive(on.TurnRefused(effect.tag, "OSError"))
        on_stream = self._class.handle_stream_event if streams(self._class) else None
        self.worker = SimWorker(self.world, self._backend, self.options, on_stream, self.heard)
        self.worker.begin(effect)
        return self.receive(on.TurnStarted(effect.tag))

    def heard(self, word: on.Event) -> None:
        """A word of the worker, dead or alive."""
        if isinstance(word, on.WorkerDied):
            self.worker = None
        self.receive(word)

    def _kill_worker(self) -> None:
        self._wanted = None
        if self.worker is not None:
            self.worker.kill()
            self.worker = None

    def crash_worker(self, reason: str = "SIGSEGV") -> None:
        """The worker's process dies by itself, in a turn or between turns."""
        tag = self.worker.tag if self.worker is not None else None
        self._kill_worker()
        if tag is not None:
            self.receive(on.WorkerDied(tag, WorkerCrashed(reason)))

    def reset(self, effect: on.ResetWorkerSession) -> None:
        """The worker resets its session, after a while."""
        ended = on.ResetEnded(effect.by, *self._reset(effect.session))
        self.world.after(0.01, lambda: self.receive(ended))

    def _reset(self, session: Sealed) -> tuple[Sealed | None, GenAgentError | None]:
        held = session.open()
        if not isinstance(held, SimSession):
            return None, Unsupported()
        return Sealed.of(self._backend.reset_session(held), "session"), None

    # -------------------------------------------------------------------- time, telemetry, callbacks

    def set_deadline(self, effect: on.SetDeadline) -> None:
        """Remember and wait."""
        token = self._deadlines[effect.key] = object()

        def reached() -> None:
            if self._deadlines.get(effect.key) is token:
                del self._deadlines[effect.key]
                self.receive(on.DeadlineReached(effect.key))

        self.world.after(effect.seconds, reached)

    def clear_deadline(self, effect: on.ClearDeadline) -> None:
        """Forget."""
        self._deadlines.pop(effect.key, None)

    def _emit(self, name: tuple[str, ...], measured: Mapping[str, Any], told: Mapping[str, Any]) -> None:
        self.world.note(f"agent {self.number}", f"telemetry {'.'.join(name[1:])}")
        self._ears.told(self, name, told)

    def _log(self, level: str, text: str) -> None:
        self.world.note(f"agent {self.number}", f"{level}: {text}")

    @contextlib.contextmanager
    def _around(self, hook: str) -> Iterator[None]:
        self.world.note(f"agent {self.number}", hook)
        with scoped_name(self.name):
            yield


def _kill(agent: SimAgent, effect: on.KillWorker) -> on.Event:
    agent._kill_worker()
    return on.WorkerKilled(effect.tag)


def _exit(agent: SimAgent, effect: on.Exit) -> on.Event:
    agent._kill_worker()
    return on.Closing()


def _checkpoint(agent: SimAgent, effect: on.AnswerCheckpoint) -> None:
    if agent.worker is not None:
        agent.worker.checkpointed(effect.tag)


_DOES: Mapping[type, Callable[[SimAgent, Any], on.Event | None]] = {
    on.AnswerStart: lambda agent, effect: on.RunBegan(),
    on.Conclude: lambda agent, effect: on.Concluding(),
    on.StartTurn: SimAgent.start_turn,
    on.KillWorker: _kill,
    on.Exit: _exit,
    on.CloseSession: lambda agent, effect: on.SessionClosed(),
    on.Quit: lambda agent, effect: agent.die(effect.reason),
    on.AnswerCheckpoint: _checkpoint,
    on.SetDeadline: SimAgent.set_deadline,
    on.ClearDeadline: SimAgent.clear_deadline,
    on.ResetWorkerSession: SimAgent.reset,
    on.WatchCaller: lambda agent, effect: agent.watched.__setitem__(effect.caller, None),
    on.UnwatchCaller: lambda agent, effect: agent.watched.pop(effect.caller, None),
}


def _said(what: object) -> str:
    """A signal in one line: its class, its request, its error; never its payload."""
    ref = getattr(what, "ref", None) or getattr(getattr(what, "tag", None), "ref", None)
    error = getattr(what, "error", None) or getattr(what, "outcome", None)
    shown = type(error).__name__ if error is not None else ""
    return " ".join(filter(None, (type(what).__name__, str(ref or ""), shown)))
