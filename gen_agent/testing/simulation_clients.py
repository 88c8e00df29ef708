"""Simulated clients: processes that send requests, keep what comes back, and may die.

Law: a client sends in order over one wire to the agent; what comes from one agent arrives in the order it
left. What a dead client would have received is lost, and an agent that watched it hears of its death.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gen_agent.core import signals as on
from gen_agent.testing.simulation_checks import Call
from gen_agent.values import Caller, RequestRef, payload_size

if TYPE_CHECKING:
    from gen_agent.testing.simulation_agent import SimAgent
    from gen_agent.testing.simulation_run import Simulation


class SimClient:
    """One client. After a crash it goes on as a new process that knows nothing of the old one's requests."""

    def __init__(self, simulation: Simulation, number: int) -> None:
        self._simulation = simulation
        self.name = f"client {number}"
        self._number, self._life, self._minted = number, 1, 0
        self.outcomes: dict[RequestRef, Any] = {}
        self.events: dict[RequestRef, list[Any]] = {}
        self.admissions: dict[RequestRef, Any] = {}
        self.dropped: dict[RequestRef, int] = {}
        self.refs: list[RequestRef] = []
        self.downs: list[int] = []

    @property
    def caller(self) -> Caller:
        """The process that a queued ask dies with."""
        return Caller("simulation", self._number, self._life)

    # -------------------------------------------------------------------- sending

    def cast(self, event: on.Event) -> None:
        """Send one message to the agent of this moment; a dead one never gets it."""
        simulation, agent = self._simulation, self._simulation.agent
        simulation.wire.send(self.name, f"agent {agent.number}", lambda: agent.receive(event))

    def call(self, kind: str, make: Callable[[Call], on.Event], ref: RequestRef | None = None) -> Call:
        """Send a call."""
        ledger = self._simulation.ledger
        call = Call(self, len(ledger.calls) + 1, kind, ref, self._simulation.agent.number)
        ledger.calls.append(call)
        self.cast(make(call))
        return call

    def _mint(self) -> RequestRef:
        self._minted += 1
        ref = RequestRef(f"client{self._number}", self._minted)
        self.refs.append(ref)
        return ref

    def ask(self, prompt: str) -> RequestRef:
        """An ask."""
        ref, caller = self._mint(), self.caller
        self.call("ask", lambda by: on.Asked(by, ref, prompt, payload_size(prompt), caller), ref)
        return ref

    def tell(self, prompt: str) -> RequestRef:
        """A tell whose outcome can only be polled."""
        ref = self._mint()
        self.call("tell", lambda by: on.Told(by, ref, prompt, payload_size(prompt)), ref)
        return ref

    def tell_with_completion(
        self, prompt: str, on_halt: on.OnHalt = "queue", stream: bool = False
    ) -> RequestRef:
        """A tell with a completion to this client."""
        ref, to = self._mint(), self if stream else None
        size = payload_size(prompt)
        self.call("tell_with_completion", lambda by: on.Told(by, ref, prompt, size, self, on_halt, to), ref)
        return ref

    def submit(self, prompt: str, on_halt: on.OnHalt = "queue", stream: bool = False) -> RequestRef:
        """A submit."""
        ref, to = self._mint(), self if stream else None
        self.cast(on.Submitted(ref, prompt, payload_size(prompt), self, on_halt, to))
        return ref

    def notify(self, event: Any, acknowledged: bool = False) -> None:
        """A notification, or a call that waits until it is handled or kept."""
        size = payload_size(event)
        if acknowledged:
            self.call("notify_ack", lambda by: on.Notified(event, size, by))
        else:
            self.cast(on.Notified(event, size))

    def inform(self, message: Any) -> None:
        """An ordinary message."""
        self.cast(on.InfoArrived(message, None, payload_size(message)))

    def cancel(self, ref: RequestRef) -> None:
        """`cancel_request`."""
        self.call("cancel", lambda by: on.CancelRequested(by, ref), ref)

    def interrupt_request(self, ref: RequestRef) -> None:
        """`interrupt_request`."""
        self.call("interrupt", lambda by: on.InterruptRequested(by, ref), ref)

    def poll(self, ref: RequestRef) -> None:
        """`poll`."""
        self.call("poll", lambda by: on.Polled(by, ref), ref)

    def drain(self) -> None:
        """`drain`."""
        self.call("drain", on.DrainAsked)

    def inquire(self, number: int) -> None:
        """`status`, `runtime_snapshot`, `reset_session`, or what no agent knows."""
        questions = (on.StatusAsked, on.SnapshotAsked, on.ResetAsked, on.UnknownAsked)
        question = questions[number % len(questions)]
        self.call(question.__name__, question)

    # -------------------------------------------------------------------- hearing

    def take(self, agent: SimAgent, effect: on.Effect, ref: RequestRef | None) -> None:
        """Something leaves the agent for this client. Only relayed events may get lost, and the completion
        tells."""
        simulation, life = self._simulation, self._life
        if isinstance(effect, on.Relay) and simulation.world.chance(simulation.faults.lost_events):
            self.dropped[effect.ref] = self.dropped.get(effect.ref, 0) + len(effect.run)
            return

        def arrive() -> None:
            if self._life == life:
                self._hear(effect, ref)

        simulation.wire.send(f"agent {agent.number}", self.name, arrive)

    def _hear(self, effect: on.Effect, ref: RequestRef | None) -> None:
        self._simulation.world.note(self.name, f"hears {type(effect).__name__} {ref or ''}")
        if isinstance(effect, on.Relay):
            self.events.setdefault(effect.ref, []).extend(effect.run)
        elif isinstance(effect, on.Admit):
            self.admissions[effect.ref] = effect.error
        elif isinstance(effect, on.Complete):
            self.outcomes[effect.ref] = effect.outcome
        elif isinstance(effect, on.Answer) and ref is not None:
            self._answered(effect, ref)

    def _answered(self, effect: on.Answer, ref: RequestRef) -> None:
        # An ask's answer is its outcome, and so is the refusal of a tell; other answers say nothing final.
        if effect.by.kind == "ask":
            self.outcomes[ref] = effect.error if effect.error is not None else effect.value
        elif effect.by.kind.startswith("tell") and effect.error is not None:
            self.outcomes[ref] = effect.error

    def hear_down(self, agent: int) -> None:
        """An agent has ended: nothing more comes from it."""
        self._simulation.world.note(self.name, f"hears that agent {agent} is down")
        self.downs.append(agent)

    def crash(self) -> None:
        """This process dies; agents that watched it hear so after a while."""
        simulation, caller = self._simulation, self.caller
        simulation.world.note(self.name, "crashes")
        self._life += 1

        def noticed() -> None:
            if caller in simulation.agent.watched:
                simulation.agent.receive(on.CallerDied(caller))

        simulation.world.after(0.01 * simulation.world.random.random(), noticed)
