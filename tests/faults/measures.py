"""What a system holds, process by process: memory that is not of files, descriptors, children.

Memory is counted twice. What is mapped grows when a process needs more than it ever has: a leak shows in it.
The share (PSS) grows also when a page that is shared since a fork is written to for the first time, which no
page can be twice; it is printed, for whoever wants to know what a machine must have.
"""

from __future__ import annotations

import contextlib
import gc
import os
from collections import Counter
from collections.abc import Callable, Sequence

import attrs

from gen_agent.actors.processes import ProcessId, children

SETTLING_LOOKS = 40


def _kilobytes(pid: int) -> dict[str, int]:
    with open(f"/proc/{pid}/smaps_rollup") as file:
        return {line.split()[0]: int(line.split()[1]) for line in file if line.endswith("kB\n")}


@attrs.frozen
class Memory:
    """The memory of a process in bytes, without the pages of files: those are shared with whatever else runs
    on this machine, and no leak shows there.
    """

    mapped: int
    share: int

    @classmethod
    def of(cls, pid: int) -> Memory:
        """Look now."""
        found = _kilobytes(pid)
        return cls(found["Anonymous:"] << 10, found["Pss_Anon:"] << 10)


def _children(pid: int) -> int:
    """How many children a process has. This one adopts what loses its parent, and there are none here whose
    ends somebody below still waits for.
    """
    if pid == os.getpid():
        return sum(child.alive() for child in children(pid))
    return len(children(pid))


def _kinds(pid: int) -> Counter[tuple[int, str]]:
    found: Counter[tuple[int, str]] = Counter()
    for name in os.listdir(f"/proc/{pid}/fd"):
        # The one that the listing itself was read from is closed again.
        with contextlib.suppress(FileNotFoundError):
            found[pid, os.readlink(f"/proc/{pid}/fd/{name}").partition(":[")[0]] += 1
    return found


@attrs.frozen
class Holding:
    """What a few processes hold together; `kinds` are their descriptors, by process and what they are of."""

    memory: tuple[Memory, ...]
    kinds: Counter[tuple[int, str]]
    children: int
    objects: int

    @property
    def descriptors(self) -> int:
        """How many there are."""
        return self.kinds.total()

    @classmethod
    def of(cls, processes: Sequence[ProcessId]) -> Holding:
        """Look now; objects are counted in this process only."""
        gc.collect()
        pids = [one.pid for one in processes]
        return cls(
            tuple(map(Memory.of, pids)),
            sum((_kinds(pid) for pid in pids), Counter()),
            sum(map(_children, pids)),
            len(gc.get_objects()),
        )


@attrs.frozen
class Growth:
    """What repeating something costs: bytes per cycle, and what is held more in the end."""

    cycles: int
    bytes_per_cycle: float
    most_per_process: float
    share_per_cycle: float
    kinds: Counter[tuple[int, str]]
    children: int
    objects: int

    @property
    def descriptors(self) -> int:
        """How many more descriptors there are, of whatever kind."""
        return sum(self.kinds.values())

    def __str__(self) -> str:
        return (
            f"{self.cycles} cycles: {self.bytes_per_cycle:+.0f} bytes a cycle, "
            f"{self.most_per_process:+.0f} in the process that grew most, "
            f"{self.share_per_cycle:+.0f} by their shares, "
            f"{self.descriptors:+} descriptors {dict(self.kinds)}, {self.children:+} children, "
            f"{self.objects:+} objects here"
        )


@attrs.frozen
class Plan:
    """What is repeated, how often, whose holdings count, and what lets a moment pass in which ends are
    noticed; the number of the first cycle.
    """

    cycle: Callable[[int], None]
    warm_up: int
    cycles: int
    processes: Sequence[ProcessId]
    settle: Callable[[], None]
    first: int = 0


def growth(plan: Plan) -> Growth:
    """Compare what the processes hold after the warm-up and in the end."""
    warm = plan.first + plan.warm_up
    for number in range(plan.first, warm):
        plan.cycle(number)
    before = _settled(plan, None)
    for number in range(warm, warm + plan.cycles):
        plan.cycle(number)
    after, cycles = _settled(plan, before), plan.cycles
    pairs = tuple(zip(before.memory, after.memory, strict=True))
    grown = [late.mapped - early.mapped for early, late in pairs]
    return Growth(
        cycles,
        sum(grown) / cycles,
        max(grown) / cycles,
        sum(late.share - early.share for early, late in pairs) / cycles,
        _change(before.kinds, after.kinds),
        after.children - before.children,
        after.objects - before.objects,
    )


def _change(before: Counter[tuple[int, str]], after: Counter[tuple[int, str]]) -> Counter[tuple[int, str]]:
    change = after.copy()
    change.subtract(before)
    return Counter({kind: count for kind, count in change.items() if count})


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
