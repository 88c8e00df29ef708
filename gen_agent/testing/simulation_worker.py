"""A simulated worker: plays scripts in virtual time, through the very code that real workers run.

A turn is worked out at once and then played: what a backend does in a turn doesn't depend on when its agent
hears of it. Scripts are those of the scripted backend, and three steps more that take or end time: `Pause`,
`Hang`, `Die`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import attrs

from gen_agent.backend import Backend, Turn
from gen_agent.backends.scripted import Checkpoint, Crash, Fail
from gen_agent.core import signals as on
from gen_agent.core.turn import Ports, TurnJob, TurnReport, run_turn
from gen_agent.errors import GenAgentError, WorkerCrashed
from gen_agent.events import Event
from gen_agent.options import AgentOptions
from gen_agent.sealed import Sealed, SealedRun, load
from gen_agent.testing.simulation_world import World


@attrs.frozen
class Pause:
    """A step that takes `seconds` of virtual time."""

    seconds: float


@attrs.frozen
class Hang:
    """A step that never ends: only an interrupt, a watchdog or a stop gets the worker out of it."""


@attrs.frozen
class Die:
    """A step at which the worker's process dies, for `reason`."""

    reason: str = "SIGKILL"


SimStep = Event | Crash | Checkpoint | Pause | Hang | Die
SimTurn = SimStep | Fail | Iterable[SimStep] | Callable[[str], Any]
"""One turn: a step, several, a `Fail`, or a function of the prompt that gives one of these."""


class _Cut(BaseException):
    """Nothing of this turn happens after this."""


@attrs.frozen
class SimSession:
    """The session of a simulated agent: how many turns ended with a result, and the id it was given."""

    turns: int = 0
    session_id: str | None = None


class SimBackend(Backend):
    """Plays the turns of a script one after another and begins anew after the last."""

    def __init__(self, script: tuple[SimTurn, ...]) -> None:
        super().__init__()
        self._script = script
        self._played = 0
        self.notes: list[tuple[str, Any]] = []

    def start_session(self) -> SimSession:
        """An empty one."""
        return SimSession()

    def prompt(self, session: SimSession, prompt: str, turn: Turn) -> Iterator[Event]:
        """The next turn of the script."""
        steps: Any = self._script[self._played % len(self._script)]
        self._played += 1
        steps = steps(prompt) if callable(steps) else steps
        if isinstance(steps, Fail):
            raise steps.error
        single = not isinstance(steps, (list, tuple, Iterator))
        for step in (steps,) if single else steps:
            yield from self._play(step, turn)

    def _play(self, step: Any, turn: Turn) -> Iterator[Event]:
        if isinstance(step, (Pause, Hang, Die)):
            self.notes.append(("step", step))
            if not isinstance(step, Pause):
                raise _Cut
        elif isinstance(step, Crash):
            raise step.exception
        elif isinstance(step, Checkpoint):
            turn.checkpoint(step.session_id)
        else:
            yield step

    def update_session(self, session: SimSession, result: Event) -> SimSession:
        """Count the turn."""
        return attrs.evolve(session, turns=session.turns + 1)

    def checkpoint_session(self, session: SimSession, session_id: str) -> SimSession:
        """Keep the id."""
        return attrs.evolve(session, session_id=session_id)

    def reset_session(self, session: SimSession) -> SimSession:
        """Forget everything."""
        return SimSession()


class SimWorker:
    """One worker process. `tell` takes its words to the agent; a dead worker says nothing more."""

    def __init__(
        self,
        world: World,
        backend: SimBackend,
        options: AgentOptions,
        on_stream: Callable[[Event, Any], Any] | None,
        tell: Callable[[on.Event], None],
    ) -> None:
        self._world, self._backend, self._options = world, backend, options
        self._on_stream, self._tell = on_stream, tell
        self.tag: on.Tag | None = None
        self._left: list[tuple[str, Any]] = []
        self._pause_s = 0.0

    def begin(self, start: on.StartTurn) -> None:
        """Run one attempt; its words come one by one, each a while after the one before."""
        if self.tag is not None:
            raise self._world.broken("a worker was given a second turn")
        self.tag = start.tag
        notes: list[tuple[str, Any]] = []
        self._backend.notes = notes
        job = TurnJob(start.tag.ref, start.tag.attempt, start.prompt, start.session, _opened(start.state))
        ports = Ports(self._clock(notes), self._noting(notes), self._offering(notes), _log, self._on_stream)
        report = run_turn(self._backend, job, self._options, ports)
        cut = any(kind == "step" and not isinstance(what, Pause) for kind, what in notes)
        self._left = notes if cut else [*notes, ("end", report)]
        self._next()

    def kill(self) -> None:
        """Gone in this instant."""
        self.tag, self._left = None, []

    def checkpointed(self, tag: on.Tag) -> None:
        """The agent has answered: the backend goes on."""
        if self.tag is not None and tag == self.tag:
            self._next()

    def _next(self) -> None:
        if not self._left:
            return
        kind, what = self._left.pop(0)
        pause = what.seconds if isinstance(what, Pause) else 0.001 + 0.01 * self._world.random.random()
        tag = self.tag
        self._world.after(pause, lambda: self._do(kind, what) if self.tag is tag else None)

    def _do(self, kind: str, what: Any) -> None:
        tag = self.tag
        if tag is None or isinstance(what, Hang):
            return
        if kind == "event":
            self._tell(on.EventsStreamed(tag, _run_of(what)))
        elif kind == "offer":
            self._tell(on.CheckpointAsked(tag, *what))
        elif kind == "end" or isinstance(what, Die):
            self.tag = None
            self._tell(_ended(tag, what))
        if self.tag is tag and kind != "offer":  # an offer is waited for
            self._next()

    def _clock(self, notes: list[tuple[str, Any]]) -> Callable[[], float]:
        return lambda: self._world.now + sum(what.seconds for _, what in notes if isinstance(what, Pause))

    @staticmethod
    def _noting(notes: list[tuple[str, Any]]) -> Callable[[bytes], None]:
        return lambda body: notes.append(("event", body))

    @staticmethod
    def _offering(notes: list[tuple[str, Any]]) -> Callable[[Any, bool, Sealed | None], GenAgentError | None]:
        return lambda *offer: notes.append(("offer", offer))


def _ended(tag: on.Tag, what: TurnReport | Die) -> on.Event:
    if isinstance(what, Die):
        return on.WorkerDied(tag, WorkerCrashed(what.reason))
    return on.TurnEnded(tag, what.outcome, what.sealed, what.session, what.state, what.duration_s)


def _run_of(body: bytes) -> SealedRun:
    return SealedRun.of((load(body),))


def _opened(state: Sealed | None) -> Any:
    return None if state is None else load(state.data)


def _log(level: str, text: str) -> None:
    """What a backend stumbled over is in its turn's outcome already."""
