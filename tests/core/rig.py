"""A machine on a bench: it plays the shell, and keeps one trace of callbacks, telemetry and effects in true
order.

Callbacks and telemetry mark the trace from inside the step (`Machine.interject`), so that what a step does
and what it says can be compared. The rig performs only what a shell does in the same dispatch: a started
worker is there at once unless `worker` says otherwise, a killed one is gone, an exiting agent closes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gen_agent.agent import Halt, NoReply
from gen_agent.core import signals as on
from gen_agent.core.hooks import Hooks, streams
from gen_agent.core.machine import Machine
from gen_agent.core.model import State
from gen_agent.errors import GenAgentError
from gen_agent.events import Response
from gen_agent.options import AgentOptions
from gen_agent.sealed import Sealed
from gen_agent.values import Caller, RequestRef, RuntimeSnapshot, Status, payload_size
from tests.core.rig_agents import DEFAULTS, Called, Endless, RigAgent, Told, as_function

_FOLLOWS: Mapping[type, Callable[[], on.Event]] = {
    on.AnswerStart: on.RunBegan,
    on.Exit: on.Closing,
    on.Conclude: on.Concluding,
}


class Trace:
    """Callbacks, telemetry and effects in order, and what to ask of them."""

    def __init__(self) -> None:
        self.trace: list[Any] = []

    def all(self, kind: type) -> list[Any]:
        return [entry for entry in self.trace if isinstance(entry, kind)]

    def called(self, hook: str) -> list[tuple[Any, ...]]:
        return [entry.args for entry in self.all(Called) if entry.hook == hook]

    def told(self, name: str) -> list[Told]:
        return [entry for entry in self.all(Told) if entry.name == name]

    def answer(self, by: Any) -> Any:
        found = [entry for entry in self.all(on.Answer) if entry.by == by]
        assert len(found) <= 1, "answered twice"
        if not found:
            return None
        return found[0].error if found[0].error is not None else found[0].value

    def asked(self, ref: RequestRef) -> Any:
        """The answer to an ask or a tell."""
        kinds = [
            entry.by[0] for entry in self.all(on.Answer) if isinstance(entry.by, tuple) and entry.by[1] == ref
        ]
        return self.answer((kinds[0], ref)) if kinds else None

    def completions(self, ref: RequestRef) -> list[Any]:
        return [entry.outcome for entry in self.all(on.Complete) if entry.ref == ref]

    def admissions(self, ref: RequestRef) -> list[Any]:
        return [entry.error for entry in self.all(on.Admit) if entry.ref == ref]

    def started(self) -> list[str]:
        return [entry.prompt for entry in self.all(on.StartTurn)]


class Rig(Trace):
    """One booted machine, unless `boot=False`. Options as of `start_agent`."""

    def __init__(self, agent: type[RigAgent] = RigAgent, *, boot: bool = True, **options: Any) -> None:
        super().__init__()
        self.logged: list[tuple[str, str]] = []
        self.plans: dict[str, list[Callable[..., Any]]] = {}
        self.now = 0.0
        self.worker = True
        self.agent = agent(self)
        self.options = AgentOptions("n", "echo", **options)
        self.heard = True
        ports = (self._emit, self._log, "nonce", lambda: self.heard)
        self.machine = Machine("n", self.options, Hooks(self.agent), *ports)
        self.refs = 0
        self.active = RequestRef("client", 0)
        self.tag: on.Tag | None = None
        if boot:
            self.boot()

    # ---------------------------------------------------------------- plans

    def plan(self, hook: str, *replies: Any) -> Rig:
        """Let the next calls of `hook` do this: a function of its arguments, an exception, or a decision
        class.
        """
        self.plans.setdefault(hook, []).extend(map(as_function, replies))
        return self

    def always(self, hook: str, reply: Any) -> Rig:
        """Let every call of `hook` do this."""
        self.plans[hook] = Endless(as_function(reply))
        return self

    def play(self, hook: str, *args: Any) -> Any:
        self.machine.interject(Called(hook, args))
        planned = self.plans.get(hook)
        return planned.pop(0)(*args) if planned else DEFAULTS[hook](*args)

    def _emit(self, name: tuple[str, ...], measured: Mapping[str, Any], about: Mapping[str, Any]) -> None:
        self.machine.interject(Told(".".join(name[1:]), measured, about))

    def _log(self, level: str, text: str) -> None:
        self.logged.append((level, text))

    # ---------------------------------------------------------------- the shell

    def boot(self) -> None:
        streaming = streams(type(self.agent))
        self.feed(on.Booted((), Sealed.of("session 0"), streaming))

    def feed(self, event: on.Event) -> tuple[Any, ...]:
        """Step `event` and what follows in the same dispatch; returns this part of the trace."""
        self.now += 1.0
        begin, waiting = len(self.trace), [event]
        while waiting:
            effects = self.machine.step(waiting.pop(0), self.now)
            self.trace.extend(effects)
            for effect in effects:
                waiting.extend(self._perform(effect))
        return tuple(self.trace[begin:])

    def _perform(self, effect: Any) -> tuple[on.Event, ...]:
        if isinstance(effect, on.StartTurn):
            self.tag = effect.tag
            return (on.TurnStarted(effect.tag),) if self.worker else ()
        if isinstance(effect, on.KillWorker):
            return (on.WorkerKilled(effect.tag),)
        if isinstance(effect, on.CloseSession):
            return (on.SessionClosed(),)
        follow = _FOLLOWS.get(type(effect))
        return () if follow is None else (follow(),)

    # ---------------------------------------------------------------- what clients do

    def ref(self) -> RequestRef:
        self.refs += 1
        return RequestRef("client", self.refs)

    def ask(self, prompt: str = "ask", by: Any = None, caller: Caller | None = None) -> RequestRef:
        ref = self.ref()
        self.feed(on.Asked(by or ("ask", ref), ref, prompt, payload_size(prompt), caller))
        return ref

    def tell(self, prompt: str = "tell", to: Any = None, **more: Any) -> RequestRef:
        ref = self.ref()
        self.feed(on.Told(("tell", ref), ref, prompt, payload_size(prompt), to, **more))
        return ref

    def submit(self, prompt: str = "submit", to: Any = "to", **more: Any) -> RequestRef:
        ref = self.ref()
        self.feed(on.Submitted(ref, prompt, payload_size(prompt), to, **more))
        return ref

    def notify(self, event: Any, by: Any = None) -> tuple[Any, ...]:
        return self.feed(on.Notified(event, payload_size(event), by))

    def info(self, message: Any) -> tuple[Any, ...]:
        return self.feed(on.InfoArrived(message, "sender", payload_size(message)))

    def call(self, event: Callable[..., on.Event], *args: Any) -> Any:
        """A call of an own caller: its value or error, or None while it has no answer."""
        by = object()
        self.feed(event(by, *args))
        return self.answer(by)

    def status(self) -> Status:
        value: Status = self.call(on.StatusAsked)
        return value

    def snapshot(self) -> RuntimeSnapshot:
        value: RuntimeSnapshot = self.call(on.SnapshotAsked)
        return value

    def poll(self, ref: RequestRef) -> Any:
        return self.call(on.Polled, ref)

    # ---------------------------------------------------------------- what the worker does

    def end(self, outcome: Any = "ok", **more: Any) -> tuple[Any, ...]:
        """The active turn ends by the worker's word: a text, or an error."""
        assert self.tag is not None
        if isinstance(outcome, GenAgentError):
            return self.feed(on.TurnEnded(self.tag, outcome, duration_s=0.5, **more))
        response = Response(outcome, prompt="?")
        return self.feed(on.TurnEnded(self.tag, response, Sealed.of(response), duration_s=0.5, **more))

    @property
    def state(self) -> State:
        return self.machine.state

    def model(self) -> Any:
        """The machine's data, for the few facts nobody can ask for."""
        return self.machine._model


COLUMNS = ("I", "P", "PH", "H", "D")


def rig_in(column: str, agent: type[RigAgent] = RigAgent, *, stream_to: Any = None, **options: Any) -> Rig:
    """A rig in one of the contract's five columns; P, PH and D run a tell whose completion goes to
    "owner".
    """
    rig = Rig(agent, **options)
    if column in ("P", "PH", "D"):
        rig.active = rig.tell("active", "owner", stream_to=stream_to)
    if column in ("PH", "H"):
        rig.feed(on.HaltAsked())
    if column == "D":
        rig.feed(on.DrainAsked("drainer"))
    rig.trace.clear()
    return rig


def halts(text: str = "halt") -> Callable[[Any, Any], Any]:
    """A `handle_event` that halts on `text` and else notes the event."""
    return lambda event, state: (Halt if event == text else NoReply)((*state, str(event)))
