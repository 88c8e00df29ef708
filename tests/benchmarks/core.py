"""What a step of the machine costs, in bare dispatches through a dict: `python -m tests.benchmarks.core`.

Each figure is the best of many short rounds, so that whatever else this computer does falls out. The queue
figures are taken at three lengths: they should not differ.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from gen_agent import telemetry
from gen_agent.agent import Agent, NoReply
from gen_agent.core import signals as on
from gen_agent.core.hooks import Hooks
from gen_agent.core.machine import Machine
from gen_agent.events import Response
from gen_agent.options import AgentOptions
from gen_agent.sealed import Sealed
from gen_agent.values import Caller, RequestRef

ROUNDS, STEPS = 60, 50
LENGTHS = (10, 1_000, 100_000)

RESPONSE = Response("ok")
SEALED, SESSION = Sealed.of(RESPONSE), Sealed.of("session")


class Idle(Agent):
    """Does nothing, so that only the machine is measured."""

    def init_agent(self, options: Mapping[str, Any]) -> tuple[Mapping[str, Any], Any]:
        return {}, 0

    def handle_response(self, ref: RequestRef, response: Response, state: Any) -> NoReply:
        return NoReply(state)


def machine() -> Machine:
    """An idle machine with room for everything."""
    options = AgentOptions("n", "echo", max_pending_prompts=10**7, max_pending_prompt_bytes=10**9)
    hooks = Hooks(Idle())
    made = Machine("n", options, hooks, telemetry.emit, lambda level, text: None, "bench", telemetry.heard)
    made.step(on.Booted(0, SESSION), 0.0)
    made.step(on.RunBegan(), 0.0)
    return made


def best(action: Callable[[], object], steps: int = STEPS) -> float:
    """The least time of one of `steps` steps that `action` does, in seconds."""
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        action()
        times.append(time.perf_counter() - began)
    return min(times) / steps


def dispatch() -> float:
    """A look-up by type and a call: the unit."""
    event = on.InterruptAsked()
    table: dict[type, Callable[[Any], None]] = {on.InterruptAsked: lambda event: None}

    def action() -> None:
        for _ in range(STEPS):
            table[type(event)](event)

    return best(action)


def turns() -> float:
    """One step of an ask's three: asked, started, ended; three callbacks and six telemetry events in all."""
    made, numbers = machine(), iter(range(10**9))

    def action() -> None:
        for _ in range(STEPS):
            (start, *_) = made.step(on.Asked("by", RequestRef("b", next(numbers)), "hi", 2), 1.0)
            made.step(on.TurnStarted(start.tag), 1.0)  # type: ignore[union-attr]
            made.step(on.TurnEnded(start.tag, RESPONSE, SEALED, SESSION), 1.0)  # type: ignore[union-attr]

    return best(action, 3 * STEPS)


def stepping(made: Machine, events: Iterable[on.Event]) -> float:
    """Step these, `STEPS` a round."""
    source = iter(tuple(events))

    def action() -> None:
        for _ in range(STEPS):
            made.step(next(source), 1.0)

    return best(action)


def queued(length: int) -> dict[str, float]:
    """What queueing, polling, cancelling and a caller's death cost beside `length` queued prompts."""
    made, total = machine(), ROUNDS * STEPS
    made.step(on.Asked("by", RequestRef("active", 0), "hi", 2), 1.0)
    for number in range(length):
        made.step(on.Told("by", RequestRef("old", number), "hi", 2), 1.0)
    refs = [RequestRef("new", number) for number in range(total)]
    callers = [Caller("host", number, 0) for number in range(total)]
    asks = [on.Asked("by", RequestRef("ask", number), "hi", 2, callers[number]) for number in range(total)]
    return {
        "tell": stepping(made, (on.Told("by", ref, "hi", 2) for ref in refs)),
        "poll": stepping(made, (on.Polled("by", ref) for ref in refs)),
        "cancel": stepping(made, (on.CancelRequested("by", ref) for ref in refs)),
        "ask": stepping(made, asks),
        "caller died": stepping(made, map(on.CallerDied, callers)),
        "status": stepping(made, [on.StatusAsked("by")] * total),
        "interrupt another": stepping(made, [on.InterruptRequested("by", refs[0])] * total),
        "halt or resume": stepping(made, [on.HaltAsked(), on.ResumeAsked()] * (total // 2)),
        "late event": stepping(made, [on.ResetEnded("by", None, None)] * total),
    }


def main() -> None:
    """Measure and print."""
    unit = dispatch()
    print(f"{'a bare dispatch':20} {unit * 1e9:6.0f} ns")
    print(f"{'a step of a turn':20} {turns() / unit:6.0f} dispatches")
    figures = [queued(length) for length in LENGTHS]
    print(f"{'queued:':20}", *(f"{length:>8,}" for length in LENGTHS))
    for name in figures[0]:
        print(f"{name:20}", *(f"{figure[name] / unit:8.0f}" for figure in figures))


if __name__ == "__main__":
    main()
