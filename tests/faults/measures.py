"""What a system holds, process by process: memory that is its own share, descriptors, children."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Sequence

import attrs

from gen_agent.actors.processes import ProcessId, children

SETTLING_LOOKS = 40


def _own_bytes(pid: int) -> int:
    """The proportional share of memory of a process, in bytes, without the pages of files.

    Pages of files are shared with whatever else runs on this machine, and no leak shows there.
    """
    with open(f"/proc/{pid}/smaps_rollup") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("Pss_Anon:"))


def _children(pid: int) -> int:
    """How many children a process has. This one adopts what loses its parent, and there are none here whose
    ends somebody below still waits for.
    """
    if pid == os.getpid():
        return sum(child.alive() for child in children(pid))
    return len(children(pid))


@attrs.frozen
class Holding:
    """What a few processes hold together."""

    bytes: tuple[int, ...]
    descriptors: int
    children: int
    objects: int

    @classmethod
    def of(cls, processes: Sequence[ProcessId]) -> Holding:
        """Look now; objects are counted in this process only."""
        gc.collect()
        pids = [one.pid for one in processes]
        return cls(
            tuple(map(_own_bytes, pids)),
            sum(len(os.listdir(f"/proc/{pid}/fd")) for pid in pids),
            sum(map(_children, pids)),
            len(gc.get_objects()),
        )


@attrs.frozen
class Growth:
    """What repeating something costs: bytes per cycle, and what is held more in the end."""

    cycles: int
    bytes_per_cycle: float
    most_per_process: float
    descriptors: int
    children: int
    objects: int

    def __str__(self) -> str:
        return (
            f"{self.cycles} cycles: {self.bytes_per_cycle:+.0f} bytes a cycle, "
            f"{self.most_per_process:+.0f} in the process that grew most, "
            f"{self.descriptors:+} descriptors, {self.children:+} children, {self.objects:+} objects here"
        )


@attrs.frozen
class Plan:
    """What is repeated, how often, whose holdings count, and what lets a moment pass in which ends are
    noticed.
    """

    cycle: Callable[[int], None]
    warm_up: int
    cycles: int
    processes: Sequence[ProcessId]
    settle: Callable[[], None]


def growth(plan: Plan) -> Growth:
    """Compare what the processes hold after the warm-up and in the end."""
    for number in range(plan.warm_up):
        plan.cycle(number)
    before = _settled(plan, None)
    for number in range(plan.warm_up, plan.warm_up + plan.cycles):
        plan.cycle(number)
    after, cycles = _settled(plan, before), plan.cycles
    grown = [late - early for early, late in zip(before.bytes, after.bytes, strict=True)]
    return Growth(
        cycles,
        sum(grown) / cycles,
        max(grown) / cycles,
        after.descriptors - before.descriptors,
        after.children - before.children,
        after.objects - before.objects,
    )


def _settled(plan: Plan, wanted: Holding | None) -> Holding:
    """What is held once what has just ended is noticed everywhere: looked at a few times, if need be."""
    found = Holding.of(plan.processes)
    for _ in range(SETTLING_LOOKS):
        plan.settle()
        last, found = found, Holding.of(plan.processes)
        # What was still ending when the warm-up was over may make it less in the end, never more.
        most = last if wanted is None else wanted
        steady = wanted is not None or found.descriptors == last.descriptors
        if steady and found.descriptors <= most.descriptors and found.children <= most.children:
            break
    return found
