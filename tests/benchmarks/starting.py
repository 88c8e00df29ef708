"""Many agents: how long they take to start, what they weigh."""

from __future__ import annotations

import time
from typing import Any

from tests.benchmarks.floors import floor
from tests.benchmarks.measuring import Measure, Row, Scale, at_most, by_turns
from tests.benchmarks.ours import crew, ours, processes, pss_megabytes, started

SDK: dict[str, Any] = {
    "backend": "openai",
    "model": "none",
    "api_key": "none",
    "base_url": "http://127.0.0.1:9/v1",
}
"""Options of an agent whose backend has a provider's SDK loaded and asks nobody."""


def _floor_start(count: int) -> float:
    with floor(agents=0) as under:
        return float(under.start(count))


def _start(count: int, **options: Any) -> float:
    with ours() as own:
        began = time.perf_counter()
        crew(own, count, **options)
        return time.perf_counter() - began


def _start_with_sdk(count: int) -> float:
    with ours() as own:
        started(own, "first", **SDK)
        began = time.perf_counter()
        crew(own, count, **SDK)
        return time.perf_counter() - began


def _first_with_sdk() -> float:
    with ours() as own:
        began = time.perf_counter()
        started(own, **SDK)
        return time.perf_counter() - began


def starts(scale: Scale) -> list[Row]:
    """Agent and worker up, one after the other, in a system that has just begun."""
    base, plain, sdk, first = by_turns(
        scale.rounds,
        lambda: _floor_start(scale.agents),
        lambda: _start(scale.agents),
        lambda: _start_with_sdk(scale.agents),
        _first_with_sdk,
    )
    title, note = f"start of {scale.agents} agents", "after one, which imports it"
    return [
        Row(title, "s", base, plain, at_most(1.0)),
        Row(f"{title}, SDK", "s", base, sdk, at_most(1.0), note),
        Row("start of the first agent, SDK", "s", None, first, None, "imports the SDK"),
    ]


def _floor_memory(count: int) -> float:
    with floor(count) as under:
        under.asks(0.05)
        return pss_megabytes(under.pids()) / count


def _memory(count: int, **options: Any) -> float:
    with ours() as own:
        return pss_megabytes(processes(crew(own, count, **options))) / count


def memory(scale: Scale) -> list[Row]:
    """Memory of one idle agent with its worker among many, shared pages by their share."""
    base, plain, sdk = by_turns(
        1,
        lambda: _floor_memory(scale.agents),
        lambda: _memory(scale.agents),
        lambda: _memory(scale.agents, **SDK),
    )
    return [
        Row("memory per idle agent", "MB", base, plain, at_most(1.25)),
        Row("memory per idle agent, SDK", "MB", base, sdk, at_most(1.25)),
    ]


MEASURES: dict[str, Measure] = {"start": starts, "memory": memory}
