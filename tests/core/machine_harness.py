"""Drives a real machine as its shell does, and says what it did in the words of the contract's model.

Law: it performs only what must happen in the same dispatch (a killed worker, the steps of the end);
everything else, the worker's words included, is left to who uses it. Comparing is strict but for two things:
refs that the agent mints itself are compared one to one, whatever their numbers, and there is no order
between different recipients (C250).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from gen_agent.core import signals as on
from gen_agent.core.hooks import Hooks
from gen_agent.core.machine import Machine
from gen_agent.errors import GenAgentError
from gen_agent.options import AgentOptions
from gen_agent.values import Caller, RequestRef
from tests.core.planned_agent import PlannedAgent

Said = tuple[Any, ...]


class Harness:
    """One machine and its shell. `said`, `told` and `agent.trace` grow until they are taken."""

    def __init__(self, name: str, options: AgentOptions, agent: PlannedAgent) -> None:
        self.agent = agent
        self.now = 100.0
        self.said: list[Said] = []
        self.told: list[Said] = []
        self.phase: str | None = None
        self.tag: on.Tag | None = None
        self.watched: set[Caller] = set()
        self.deadlines: dict[on.Deadline, float] = {}
        self.reset: on.ResetWorkerSession | None = None
        self.machine = Machine(name, options, Hooks(agent), self._emit, lambda level, text: None, "test")

    def dispatch(self, event: on.Event) -> None:
        """One message as the shell handles it: the step, its effects, and the steps that belong to the same
        dispatch."""
        self.now += 0.125
        waiting: list[on.Event] = [event]
        while waiting:
            for effect in self.machine.step(waiting.pop(0), self.now):
                follow_up = self._perform(effect)
                if follow_up is not None:
                    waiting.append(follow_up)

    def _perform(self, effect: on.Effect) -> on.Event | None:
        said = _SAYS.get(type(effect))
        if said is not None:
            self.said.append(said(effect))
        does = _DOES.get(type(effect))
        return does(self, effect) if does is not None else None

    def _emit(self, name: tuple[str, ...], measured: Mapping[str, Any], told: Mapping[str, Any]) -> None:
        short = ".".join(name[1:])
        if short == "state.changed":
            assert told["from"] == self.phase
            self.phase = told["to"]
        else:
            self.told.append((short, *_TELLS[short](measured, told)))

    def started(self, effect: on.StartTurn) -> None:
        """Remember the turn that a worker is to run."""
        self.tag = effect.tag

    def watch(self, effect: on.WatchCaller) -> None:
        """A caller is watched once."""
        assert effect.caller not in self.watched
        self.watched.add(effect.caller)

    def unwatch(self, effect: on.UnwatchCaller) -> None:
        """Forget a caller."""
        self.watched.discard(effect.caller)


def _keep_reset(harness: Harness, effect: on.ResetWorkerSession) -> None:
    harness.reset = effect


def _set_deadline(harness: Harness, effect: on.SetDeadline) -> None:
    harness.deadlines[effect.key] = effect.seconds


def _clear_deadline(harness: Harness, effect: on.ClearDeadline) -> None:
    harness.deadlines.pop(effect.key, None)


_DOES: Mapping[type, Callable[[Harness, Any], on.Event | None]] = {
    on.AnswerStart: lambda harness, effect: on.RunBegan(),
    on.Conclude: lambda harness, effect: on.Concluding(),
    on.KillWorker: lambda harness, effect: on.WorkerKilled(effect.tag),
    on.Exit: lambda harness, effect: on.Closing(),
    on.CloseSession: lambda harness, effect: on.SessionClosed(),
    on.StartTurn: Harness.started,
    on.WatchCaller: Harness.watch,
    on.UnwatchCaller: Harness.unwatch,
    on.SetDeadline: _set_deadline,
    on.ClearDeadline: _clear_deadline,
    on.ResetWorkerSession: _keep_reset,
}

_SAYS: Mapping[type, Callable[[Any], Said]] = {
    on.AnswerStart: lambda e: ("up",),
    on.Answer: lambda e: ("answer", e.by, e.error if e.error is not None else e.value),
    on.Admit: lambda e: ("admit", e.recipient, e.ref, e.error),
    on.Complete: lambda e: ("complete", e.recipient, e.ref, e.outcome),
    on.Relay: lambda e: ("relay", e.recipient, e.ref, e.attempt, e.run),
    on.StartTurn: lambda e: ("start", e.tag.ref, e.tag.attempt, e.prompt, e.session),
    on.KillWorker: lambda e: ("kill", e.tag.ref, e.tag.attempt),
    on.AnswerCheckpoint: lambda e: ("checkpoint", e.error),
    on.Exit: lambda e: ("exit", e.reason),
    on.CloseSession: lambda e: ("close", e.session),
    on.Quit: lambda e: ("quit", e.reason, e.drained),
}


def _turn(measured: Mapping[str, Any], told: Mapping[str, Any]) -> Said:
    kind = (told["reason_kind"],) if "reason_kind" in told else ()
    return (told["ref"], told["attempt"], told["origin"], *kind)


_TELLS: Mapping[str, Callable[[Mapping[str, Any], Mapping[str, Any]], Said]] = {
    "turn.start": _turn,
    "turn.stop": _turn,
    "turn.error": _turn,
    "turn.rejected": _turn,
    "turn.cancelled": _turn,
    "prompt.start": lambda m, t: (t["ref"], t["attempt"], t["prompt"], t["rewritten"]),
    "prompt.stop": lambda m, t: (t["ref"], t["attempt"], t["agent_state"]),
    "prompt.error": lambda m, t: (t["ref"], t["attempt"], t["reason"], "duration_s" in m),
    "event.received": lambda m, t: (t["event"],),
    "mailbox.queued": lambda m, t: (m["depth"],),
    "input.rejected": lambda m, t: (t["reason"],),
    "halted": lambda m, t: (t["agent_state"],),
    "terminated": lambda m, t: (t["reason"],),
}


class Likeness:
    """Compares what was expected with what happened; remembers which own ref is which."""

    def __init__(self) -> None:
        self._actual: dict[RequestRef, RequestRef] = {}

    def check(self, channel: str, expected: Iterable[Any], actual: Iterable[Any]) -> None:
        """Raise `AssertionError` showing both sides unless they are alike."""
        wanted, got = list(expected), list(actual)
        same = len(wanted) == len(got) and all(map(self.alike, wanted, got))
        assert same, f"{channel}:\n expected {wanted}\n happened {got}"

    def alike(self, expected: Any, actual: Any) -> bool:
        """Equal, item by item in tuples; None where a ref stands means any ref."""
        if isinstance(expected, tuple) and isinstance(actual, tuple):
            return len(expected) == len(actual) and all(map(self.alike, expected, actual))
        if isinstance(expected, RequestRef) and expected.issuer == "own":
            known = self._actual.setdefault(expected, actual)
            return known == actual and list(self._actual.values()).count(actual) == 1
        if expected is None and isinstance(actual, RequestRef):
            return True
        if isinstance(expected, GenAgentError):
            return bool(expected == actual)
        return bool(expected is actual or expected == actual)


def by_channel(said: Iterable[Said]) -> dict[Any, list[Said]]:
    """What was said, apart by who hears it; the agent's own life is one more channel."""
    channels: dict[Any, list[Said]] = defaultdict(list)
    for what in said:
        heard = what[0] in ("answer", "admit", "complete", "relay")
        channels[what[1] if heard else "life"].append(what)
    return dict(channels)


def by_name(told: Iterable[Said]) -> dict[str, list[Said]]:
    """Telemetry, apart by name."""
    names: dict[str, list[Said]] = defaultdict(list)
    for what in told:
        names[what[0]].append(what)
    return dict(names)
