"""Your agent in virtual time: its callbacks and the real machine, scripted workers, no process, no waiting.

By hand, as a unit test of an `Agent` class:

    sim = Simulation(Coder, [reply("hello"), fail(BackendError("x")), Hang()], options={"cwd": "."})
    ref = sim.ask("hi")
    sim.settle()
    assert sim.outcome(ref).text == "hello"

Under random load, faults and crashes, with what the contract promises checked after each step:

    for seed in range(100):
        simulate(Coder, [reply("hello"), Die(), Hang()], seed, options={"cwd": "."}, watchdog_s=5.0)

A failing seed raises `InvariantBroken` with the end of its trace; the same seed gives the same trace to the
letter, as long as the callbacks depend on nothing but their arguments. What a simulation can't show: other
actors, real processes, real backends (a script stands in for them), and the time that callbacks take.
"""

from __future__ import annotations

from gen_agent.backends.scripted import checkpoint, crash, fail, reply
from gen_agent.testing.simulation_faults import NO_FAULTS, Faults
from gen_agent.testing.simulation_load import Load, SimReport, simulate
from gen_agent.testing.simulation_run import Simulation
from gen_agent.testing.simulation_worker import Die, Hang, Pause
from gen_agent.testing.simulation_world import InvariantBroken

__all__ = [
    # running
    "Simulation",
    "simulate",
    "SimReport",
    "InvariantBroken",
    # scripts
    "reply",
    "fail",
    "crash",
    "checkpoint",
    "Pause",
    "Hang",
    "Die",
    # load and faults
    "Load",
    "Faults",
    "NO_FAULTS",
]
