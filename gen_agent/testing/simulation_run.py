"""One simulated agent with its clients: what a test of one's own agent drives by hand.

Law: it joins the parts (world, wire, agent, clients, ledger) and decides nothing; everything that leaves the
agent goes through the ledger first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from gen_agent.agent import Agent
from gen_agent.core import signals as on
from gen_agent.events import Event
from gen_agent.options import AgentOptions
from gen_agent.testing.simulation_agent import SimAgent
from gen_agent.testing.simulation_checks import Ledger
from gen_agent.testing.simulation_clients import SimClient
from gen_agent.testing.simulation_faults import NO_FAULTS, Faults
from gen_agent.testing.simulation_worker import SimTurn
from gen_agent.testing.simulation_world import Wire, World
from gen_agent.values import Name, RequestRef


class Simulation:
    """One agent, its worker and its clients. The first client is "me": it sends what the methods here send.

    `script` is one turn per item and begins anew after the last; `options` is what `init_agent` gets;
    `reserved` are the options of `start_agent`. Raises what `start_agent` would raise. Nothing happens until
    `settle`.
    """

    def __init__(
        self,
        agent: type[Agent],
        script: Iterable[SimTurn],
        seed: int = 0,
        *,
        name: Name = "simulated",
        options: Mapping[str, Any] | None = None,
        clients: int = 1,
        faults: Faults = NO_FAULTS,
        **reserved: Any,
    ) -> None:
        self.world = World(seed)
        self.wire = Wire(self.world, faults.delay_s)
        self.ledger = Ledger(self.world)
        self.faults = faults
        self._class, self._script, self._given = agent, tuple(script), dict(options or {})
        self._options, _ = AgentOptions.split(name, "scripted", **reserved)
        if not self._script:
            raise ValueError("script: at least one turn is needed")
        self.clients = tuple(SimClient(self, number) for number in range(clients))
        self._number = 0
        self.agent = self._started()

    def _started(self) -> SimAgent:
        self._number += 1
        made = SimAgent(
            self.world, self._class, self._options, self._script, self, self._number, self.faults.no_worker
        )
        self.agent = made
        made.boot(self._given)
        return made

    def start_again(self) -> None:
        """Start the agent anew, as a supervisor would, after it has ended; while it lives this does
        nothing."""
        if not self.agent.alive:
            self._started()

    # -------------------------------------------------------------------- requests of the first client

    def ask(self, prompt: str) -> RequestRef:
        """Ask; the answer is the `outcome` of the ref."""
        return self.clients[0].ask(prompt)

    def tell(self, prompt: str, *, on_halt: on.OnHalt = "queue", stream: bool = False) -> RequestRef:
        """Tell with a completion to this client, and with events too if `stream`."""
        return self.clients[0].tell_with_completion(prompt, on_halt, stream)

    def submit(self, prompt: str, *, on_halt: on.OnHalt = "queue", stream: bool = False) -> RequestRef:
        """Submit: an admission and a completion come to this client."""
        return self.clients[0].submit(prompt, on_halt, stream)

    def notify(self, event: Any) -> None:
        """Send a notification."""
        self.clients[0].notify(event)

    def inform(self, message: Any) -> None:
        """Send an ordinary message, for `handle_info`."""
        self.clients[0].inform(message)

    def cancel(self, ref: RequestRef) -> None:
        """Cancel a request that waits."""
        self.clients[0].cancel(ref)

    def interrupt(self) -> None:
        """Interrupt whatever runs."""
        self.clients[0].cast(on.InterruptAsked())

    def halt(self) -> None:
        """Halt."""
        self.clients[0].cast(on.HaltAsked())

    def resume(self) -> None:
        """Resume."""
        self.clients[0].cast(on.ResumeAsked())

    def drain(self) -> None:
        """Drain: the active turn is the last."""
        self.clients[0].drain()

    def stop(self) -> None:
        """Stop in an orderly way, at once."""
        self.agent.receive(on.StopAsked("shutdown"))

    def kill(self) -> None:
        """Kill the agent's process."""
        self.agent.die("killed")

    # -------------------------------------------------------------------- looking

    def settle(self, seconds: float | None = None) -> bool:
        """Let virtual time pass until nothing is due, or for `seconds`; whether everything came to rest."""
        return self.world.settle(seconds)

    def outcome(self, ref: RequestRef) -> Any:
        """The `Response` or the error that reached the client, or None so far."""
        return next((client.outcomes[ref] for client in self.clients if ref in client.outcomes), None)

    def events(self, ref: RequestRef) -> tuple[Event, ...]:
        """The events that reached the client of a streamed request."""
        return tuple(event for client in self.clients for event in client.events.get(ref, ()))

    @property
    def state(self) -> Any:
        """The callback state."""
        return self.agent.machine._model.agent_state

    @property
    def ended(self) -> str | None:
        """Why the agent has ended, or None."""
        return self.ledger.ends.get(self.agent.number)

    @property
    def trace(self) -> tuple[str, ...]:
        """All that happened, a line each: time, who, what; no prompts, states or results."""
        return tuple(self.world.lines)

    # -------------------------------------------------------------------- what the agent does

    def before(self, agent: SimAgent, event: on.Event) -> None:
        """Part of `Ears`."""
        self.ledger.before(agent, event)

    def told(self, agent: SimAgent, name: tuple[str, ...], told: Mapping[str, Any]) -> None:
        """Part of `Ears`."""
        self.ledger.told(agent, name, told)

    def performed(self, agent: SimAgent, effect: on.Effect) -> None:
        """Part of `Ears`: check it, then send it on its way."""
        self.ledger.performed(agent, effect)
        if isinstance(effect, on.Answer):
            effect.by.client.take(agent, effect, effect.by.ref)
        elif isinstance(effect, (on.Admit, on.Complete, on.Relay)):
            effect.recipient.take(agent, effect, effect.ref)

    def after(self, agent: SimAgent, event: on.Event) -> None:
        """Part of `Ears`."""
        self.ledger.after(agent, event)

    def gone(self, agent: SimAgent, reason: str) -> None:
        """Part of `Ears`: every client learns of the end, after all that this agent has sent to it."""
        self.ledger.ended(agent, reason)
        for client in self.clients:
            self.wire.send(f"agent {agent.number}", client.name, partial(client.hear_down, agent.number))
