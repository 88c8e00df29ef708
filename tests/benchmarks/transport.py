"""Our base and Thespian's TCP base side by side: `python -m tests.benchmarks.transport [seconds per round]`.

Rounds of both alternate, so that whatever else the machine does falls on both. Prints medians and spans.
Thespian's base slows down with every message it has queued: bursts beyond a thousand take minutes.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable

from thespian.actors import Actor, ActorAddress, ActorSystem

from tests.actors.transport_actors import Mirror, Pacer
from tests.actors.transport_system import QUIET, System, free_port, running

ROUNDS = 3
BURSTS = (100, 1000)


class Ponger(Actor):
    """Bounces a ball with a peer and tells how many times it came back within the time."""

    def receiveMessage(self, message: object, sender: ActorAddress) -> None:
        """Serve, return or count a ball."""
        match message:
            case ("play", peer, seconds):
                self.asker, self.end, self.count = sender, time.perf_counter() + seconds, 0
                self.send(peer, "ball")
            case "ball":
                self.send(sender, "back")
            case "back":
                self.count += 1
                if time.perf_counter() < self.end:
                    self.send(sender, "ball")
                else:
                    self.send(self.asker, self.count)
            case "pid":
                self.send(sender, "ready")


def asks(system: ActorSystem, seconds: float) -> float:
    """Asks of a script per second."""
    mirror = system.createActor(Mirror)
    system.ask(mirror, "pid", 10)
    begun, count = time.perf_counter(), 0
    while (spent := time.perf_counter() - begun) < seconds:
        system.ask(mirror, count, 10)
        count += 1
    return count / spent


def trips(system: ActorSystem, seconds: float) -> float:
    """Round trips between two actors per second."""
    left, right = system.createActor(Ponger), system.createActor(Ponger)
    system.ask(left, "pid", 10), system.ask(right, "pid", 10)
    return float(system.ask(left, ("play", right, seconds), 60)) / seconds


def burst(size: int) -> Callable[[ActorSystem, float], float]:
    """Messages per second of one burst between two actors, until the last one was handled."""

    def measure(system: ActorSystem, _seconds: float) -> float:
        source, target = system.createActor(Pacer), system.createActor(Pacer)
        system.ask(source, "pid", 10), system.ask(target, "pid", 10)
        begun = time.perf_counter()
        system.ask(source, ("burst", target, size), 120)
        system.ask(target, ("when", size), 120)
        return size / (time.perf_counter() - begun)

    return measure


def posts(system: System, count: int = 2000) -> None:
    """What a post costs the script."""
    target = system.create(Pacer)
    begun, spent = time.perf_counter(), time.process_time()
    for number in range(count):
        system.base.post(target, ("number", number))
    wall, cpu = time.perf_counter() - begun, time.process_time() - spent
    system.base.flush(30)
    print(f"{'post':22} {1e6 * wall / count:8.0f} us each, {1e6 * cpu / count:.0f} us of them at work")


def line(name: str, values: list[float]) -> str:
    """A row of the table."""
    return f"{name:22} {statistics.median(values):8.0f} per s   ({min(values):.0f} to {max(values):.0f})"


def compare(
    name: str, measure: Callable[[ActorSystem, float], float], ours: ActorSystem, seconds: float
) -> None:
    """Measure both bases in turns and print what came out."""
    stock = ActorSystem("multiprocTCPBase", {"Admin Port": free_port()}, QUIET, transientUnique=True)
    try:
        results: dict[str, list[float]] = {"ours": [], "stock": []}
        for _ in range(ROUNDS):
            results["ours"].append(measure(ours, seconds))
            results["stock"].append(measure(stock, seconds))
    finally:
        stock.shutdown()
    for base, values in results.items():
        print(line(f"{name}, {base}", values), flush=True)


def main() -> None:
    """Run all measurements."""
    seconds = float(sys.argv[1]) if sys.argv[1:] else 0.5
    with running() as system:
        compare("asks", asks, system.actors, seconds)
        compare("round trips", trips, system.actors, seconds)
        for size in BURSTS:
            compare(f"burst of {size}", burst(size), system.actors, seconds)
        posts(system)


if __name__ == "__main__":
    main()
