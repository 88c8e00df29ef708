"""The machine: what an agent does about each event, in each state. Read the table first; it is all of it.

Six states, and for each of them a rule for every event: a handler, and the states it may lead to. A handler
changes the data, lets effects gather in order, and calls the user's callbacks; it performs nothing. `step`
applies one rule, checks that the next state was declared, and gives the effects out together: a step that
raises has done nothing. Whatever arrives in STARTING waits there in order and is handled when the agent is
ready, or when it stops.

This file knows no process, message, clock or thread, and no callback either; the handlers' modules each say
one topic.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, get_args

import attrs

from gen_agent.core import signals as on
from gen_agent.core.admission import queue, queue_halted, refuse, start
from gen_agent.core.beginning import booted, ignore, later, run_began
from gen_agent.core.controls import (
    caller_died,
    cancel,
    drain,
    drain_again,
    drain_later,
    halt,
    halt_later,
    interrupt,
    interrupt_request,
    none_active,
    reset,
    reset_busy,
    reset_draining,
    reset_ended,
    resume,
    resume_later,
)
from gen_agent.core.exits import closing, crashed, crashed_again, drain_ending, end, session_closed
from gen_agent.core.hooks import Hooks
from gen_agent.core.model import Closed, Emit, Heard, Log, Model, State
from gen_agent.core.notices import deafen, defer, defer_info, informed, notified
from gen_agent.core.queries import poll, tell_snapshot, tell_status, unknown
from gen_agent.core.turn_end import concluded
from gen_agent.core.working import (
    checkpoint,
    died,
    ended,
    killed,
    no_checkpoint,
    overdue,
    paced,
    refused,
    relay,
    started,
)
from gen_agent.options import AgentOptions
from gen_agent.values import Name

Handler = Callable[[Model, Any], None]


@attrs.frozen(slots=True)
class Rule:
    """What is done about an event, and the states this may lead to."""

    handler: Handler
    to: tuple[State, ...]


def _leads_to(*states: State) -> Callable[[Handler], Rule]:
    return lambda handler: Rule(handler, states)


_begins = _leads_to(State.IDLE, State.STOPPED)
_returns = _leads_to(State.STARTING, State.IDLE, State.HALTED)
_works = _leads_to(State.IDLE, State.PROCESSING, State.HALTED)
_ends = _leads_to(State.IDLE, State.PROCESSING, State.HALTED, State.STOPPED)
_lasts = _leads_to(State.DRAINING, State.STOPPED)
_halts = _leads_to(State.HALTED)
_drains = _leads_to(State.DRAINING)
_waits = _leads_to(State.STARTING)
_stops = _leads_to(State.STOPPED)

# A bare handler stays in its state; the words around the others say where they lead.
# fmt: off
_READY: Mapping[type, tuple[Rule | Handler, ...]] = {
    #                       IDLE                 PROCESSING            HALTED              DRAINING
    on.Asked:              (_works(start),       queue,                queue_halted,       refuse),
    on.Told:               (_works(start),       queue,                queue_halted,       refuse),
    on.Submitted:          (_works(start),       queue,                queue_halted,       refuse),
    on.Polled:             (poll,                poll,                 poll,               poll),
    on.Notified:           (_works(notified),    defer,                notified,           deafen),
    on.InfoArrived:        (_works(informed),    defer_info,           informed,           ignore),
    on.InterruptAsked:     (ignore,              interrupt,            ignore,             interrupt),
    on.InterruptRequested: (none_active,         interrupt_request,    none_active,        interrupt_request),
    on.CancelRequested:    (cancel,              cancel,               cancel,             cancel),
    on.HaltAsked:          (_halts(halt),        halt_later,           ignore,             ignore),
    on.ResumeAsked:        (ignore,              resume_later,         _works(resume),     ignore),
    on.DrainAsked:         (_stops(drain),       _drains(drain_later), _stops(drain),      drain_again),
    on.ResetAsked:         (_waits(reset),       reset_busy,           _waits(reset),      reset_draining),
    on.StatusAsked:        (tell_status,         tell_status,          tell_status,        tell_status),
    on.SnapshotAsked:      (tell_snapshot,       tell_snapshot,        tell_snapshot,      tell_snapshot),
    on.UnknownAsked:       (unknown,             unknown,              unknown,            unknown),
    on.CallerDied:         (caller_died,         caller_died,          caller_died,        caller_died),
    on.StopAsked:          (_stops(end),         _stops(end),          _stops(end),        _stops(end)),
    on.Crashed:            (_stops(crashed),     _stops(crashed),      _stops(crashed),    _stops(crashed)),
    on.TurnStarted:        (ignore,              started,              ignore,             started),
    on.EventsStreamed:     (ignore,              relay,                ignore,             relay),
    on.CheckpointAsked:    (no_checkpoint,       checkpoint,           no_checkpoint,      checkpoint),
    on.TurnRefused:        (ignore,              _ends(refused),       ignore,             _lasts(refused)),
    on.TurnEnded:          (ignore,              _ends(ended),         ignore,             _lasts(ended)),
    on.Concluding:         (_works(concluded),   _ends(concluded),     concluded,          _lasts(concluded)),
    on.WorkerKilled:       (ignore,              _ends(killed),        ignore,             _lasts(killed)),
    on.WorkerDied:         (ignore,              _ends(died),          ignore,             _lasts(died)),
    on.DeadlineReached:    (_works(paced),       overdue,              ignore,             overdue),
}
# Not ready: what clients send waits, and so do deadlines.
_STARTING: Mapping[type, Rule | Handler] = {
    **dict.fromkeys(_READY, later),
    on.Booted: booted,
    on.RunBegan: _begins(run_began),
    on.ResetEnded: _returns(reset_ended),
    on.StopAsked: _stops(end),
    on.Crashed: _stops(crashed),
    on.CheckpointAsked: no_checkpoint,
    **dict.fromkeys((on.TurnStarted, on.EventsStreamed, on.TurnRefused), ignore),
    **dict.fromkeys((on.TurnEnded, on.WorkerKilled, on.WorkerDied), ignore),
}
_STOPPED: Mapping[type, Rule | Handler] = {
    on.DrainAsked: drain_ending,
    on.Crashed: crashed_again,
    on.Closing: closing,
    on.SessionClosed: session_closed,
}
# fmt: on


def _row(state: State, cells: Mapping[type, Rule | Handler]) -> dict[type, Rule]:
    # Every event has a rule in every state: what a row doesn't name changes nothing there.
    chosen = {event: cells.get(event, ignore) for event in get_args(on.Event)}
    return {event: cell if isinstance(cell, Rule) else Rule(cell, (state,)) for event, cell in chosen.items()}


def _ready(column: int) -> dict[type, Rule | Handler]:
    return {event: cells[column] for event, cells in _READY.items()}


TABLE: Mapping[State, Mapping[type, Rule]] = {
    State.STARTING: _row(State.STARTING, _STARTING),
    State.IDLE: _row(State.IDLE, _ready(0)),
    State.PROCESSING: _row(State.PROCESSING, _ready(1)),
    State.HALTED: _row(State.HALTED, _ready(2)),
    State.DRAINING: _row(State.DRAINING, _ready(3)),
    State.STOPPED: _row(State.STOPPED, _STOPPED),
}
"""`TABLE[state][event type]`: the whole machine (C051-C077)."""


class UndeclaredTransition(AssertionError):
    """A handler went where its rule doesn't lead: a defect of ours."""


class Machine:
    """One agent. `hooks`, `emit` and `log` are called during a step; everything else leaves as an effect.

    `emit(name, measurements, metadata)` and `log(level, text)` must not raise; nothing is put together for
    `emit` while `heard()` is false. `nonce` makes the refs of the agent's own prompts unique.
    """

    __slots__ = ("_model", "_row", "_row_of")

    def __init__(
        self,
        name: Name,
        options: AgentOptions,
        hooks: Hooks,
        emit: Emit,
        log: Log,
        nonce: str,
        heard: Heard = lambda: True,
    ) -> None:
        self._model = Model(name, options, hooks, emit, log, nonce, heard)
        self._row_of = self._model.state
        self._row = TABLE[self._row_of]

    def step(self, event: on.Event, now: float) -> tuple[on.Effect, ...]:
        """Handle `event` at `now` (seconds, monotonic) and return what is to be done, in order.

        Raises only for a defect; then nothing is to be done but to step `Crashed`.
        """
        model = self._model
        model.now = now
        model.out = []
        self._apply(event)
        # While a worker is being killed what has waited goes on waiting: the kill ends in this very dispatch.
        while model.postponed and model.state is not State.STARTING and not model.killing:
            self._apply(model.postponed.popleft())
        effects, model.out = tuple(model.out), []
        return effects

    def _apply(self, event: on.Event) -> None:
        # What a turn's end has put off comes before anything else, what has waited included (C091).
        if self._model.rest is not None and not isinstance(event, on.Concluding):
            self._apply(on.Concluding())
        rule = self._row[type(event)]
        rule.handler(self._model, event)
        state = self._model.state
        if state not in rule.to:
            raise UndeclaredTransition(f"{type(event).__name__} in {self._row_of.name} led to {state.name}")
        if state is not self._row_of:
            self._row_of, self._row = state, TABLE[state]

    def interject(self, effect: Any) -> None:
        """Put an effect of the shell's own between the running step's: called by what a callback calls.

        So a message that a callback sends leaves in order with what the machine sends.
        """
        self._model.out.append(effect)

    @property
    def state(self) -> State:
        """Where the agent is."""
        return self._model.state

    @property
    def terminated(self) -> bool:
        """Whether `Quit` has left: nothing more will come."""
        ending = self._model.ending
        return ending is not None and ending.closed is Closed.SESSION

    @property
    def session_version(self) -> int:
        """Grows with every change of the session the agent keeps."""
        return self._model.session_version
