"""Random load on a simulated agent: every kind of request, from several clients, with faults in between.

Law: what is done next depends on the seed and on nothing else, so that a failing seed can be run again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import attrs

from gen_agent.agent import Agent
from gen_agent.core import signals as on
from gen_agent.testing.simulation_clients import SimClient
from gen_agent.testing.simulation_faults import Faults
from gen_agent.testing.simulation_run import Simulation
from gen_agent.testing.simulation_worker import SimTurn
from gen_agent.values import RequestRef


@attrs.frozen
class SimReport:
    """What a run came to: its trace, the outcomes that clients got, why each incarnation ended, how many
    turns began."""

    trace: tuple[str, ...] = attrs.field(repr=False)
    outcomes: Mapping[RequestRef, Any] = attrs.field(repr=False)
    ends: tuple[str, ...]
    turns: int

    @property
    def digest(self) -> str:
        """A short name of the trace: equal for equal traces."""
        return hashlib.blake2b("\n".join(self.trace).encode(), digest_size=8).hexdigest()


@attrs.frozen
class Load:
    """What clients send: how many `requests` in all, which prompts, notifications and ordinary messages."""

    requests: int = 200
    clients: int = 3
    prompts: tuple[str, ...] = ("one", "two", "three")
    events: tuple[Any, ...] = ()
    messages: tuple[Any, ...] = ()
    pause_s: float = 0.05


def simulate(
    agent: type[Agent],
    script: Iterable[SimTurn],
    seed: int = 0,
    *,
    load: Load | None = None,
    faults: Faults | None = None,
    options: Mapping[str, Any] | None = None,
    **reserved: Any,
) -> SimReport:
    """Run `agent` under random load and faults in virtual time, drain it at the end, and check what must
    hold.

    Raises `InvariantBroken` with the end of the trace, and what `start_agent` would raise. `script`,
    `options` and `reserved` are as for `Simulation`.
    """
    load = load or Load()
    faults = faults or Faults()
    sim = Simulation(agent, script, seed, options=options, clients=load.clients, faults=faults, **reserved)
    _Driver(sim, load).begin()
    sim.world.settle()
    _wind_up(sim)
    sim.ledger.settled()
    outcomes = {ref: fate.outcome for ref, fate in sim.ledger.fates.items() if fate.outcomes}
    return SimReport(sim.trace, outcomes, tuple(sim.ledger.ends.values()), len(sim.ledger.turns))


def _wind_up(sim: Simulation) -> None:
    # What hangs without a watchdog is interrupted; draining, it can't begin again.
    for act in (sim.start_again, sim.resume, sim.drain, sim.interrupt):
        act()
        sim.world.settle(steps=20_000)
    sim.ledger.require(not sim.agent.alive, "the agent did not end although it was drained and interrupted")


class _Driver:
    """Does one random thing after another."""

    def __init__(self, sim: Simulation, load: Load) -> None:
        self._sim, self._load, self._left = sim, load, load.requests
        self._random = sim.world.random
        faults = sim.faults
        self._faults: tuple[tuple[float, Callable[[], None]], ...] = (
            (faults.worker_crash, lambda: sim.agent.crash_worker()),
            (faults.client_crash, lambda: self._client().crash()),
            (faults.agent_crash, sim.kill),
            (faults.agent_stop, sim.stop),
        )
        actions = _ACTIONS if load.messages else tuple(pair for pair in _ACTIONS if pair[1] is not _inform)
        actions = actions if load.events else tuple(pair for pair in actions if pair[1] is not _notify)
        self._weights = tuple(weight for weight, _ in actions)
        self._actions = tuple(action for _, action in actions)

    def begin(self) -> None:
        """Schedule the first step; each schedules the next."""
        self._sim.world.after(self._load.pause_s * self._random.random(), self._step)

    def _client(self) -> SimClient:
        return self._random.choice(self._sim.clients)

    def _step(self) -> None:
        self._sim.start_again()
        for probability, happen in self._faults:
            if self._sim.world.chance(probability):
                happen()
                break
        else:
            (action,) = self._random.choices(self._actions, self._weights)
            action(self, self._client())
        self._left -= 1
        if self._left > 0:
            self.begin()

    def prompt(self) -> str:
        """One of the prompts."""
        return self._random.choice(self._load.prompts)

    def one_of(self, values: tuple[Any, ...]) -> Any:
        """One of `values`."""
        return self._random.choice(values)

    def ref(self) -> RequestRef:
        """One of the newest requests of anybody, or one that never was."""
        refs = [ref for client in self._sim.clients for ref in client.refs[-4:]]
        return self._random.choice((*refs, RequestRef("nobody", 1)))

    def flip(self) -> bool:
        """Heads or tails."""
        return self._random.random() < 0.5

    @property
    def load(self) -> Load:
        """What is sent."""
        return self._load


def _on_halt(driver: _Driver) -> on.OnHalt:
    return "fail" if driver.flip() else "queue"


def _notify(driver: _Driver, client: SimClient) -> None:
    client.notify(driver.one_of(driver.load.events), driver.flip())


def _inform(driver: _Driver, client: SimClient) -> None:
    client.inform(driver.one_of(driver.load.messages))


_ACTIONS: tuple[tuple[int, Callable[[_Driver, SimClient], object]], ...] = (
    (10, lambda driver, client: client.ask(driver.prompt())),
    (6, lambda driver, client: client.tell(driver.prompt())),
    (
        10,
        lambda driver, client: client.tell_with_completion(driver.prompt(), _on_halt(driver), driver.flip()),
    ),
    (10, lambda driver, client: client.submit(driver.prompt(), _on_halt(driver), driver.flip())),
    (8, _notify),
    (6, _inform),
    (6, lambda driver, client: client.poll(driver.ref())),
    (6, lambda driver, client: client.cancel(driver.ref())),
    (5, lambda driver, client: client.interrupt_request(driver.ref())),
    (3, lambda driver, client: client.cast(on.InterruptAsked())),
    (4, lambda driver, client: client.cast(on.HaltAsked())),
    (8, lambda driver, client: client.cast(on.ResumeAsked())),
    (6, lambda driver, client: client.inquire(driver.one_of((0, 1, 2, 3)))),
    (1, lambda driver, client: client.drain()),
)
