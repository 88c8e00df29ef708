"""What a response keeps of its events (C165-C168)."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gen_agent.core.capture import Capture
from gen_agent.errors import EventCaptureOverflow
from gen_agent.events import Event, EventCoverage, Omission
from gen_agent.options import AgentOptions
from gen_agent.sealed import dump

LIMITS: Any = {"max_events_per_turn": 3, "max_event_bytes_per_turn": 100}


def capture(**options: Any) -> Capture:
    return Capture(AgentOptions("n", "echo", **{**LIMITS, **options}))


def observe(kept: Capture, event: Event, size: int) -> None:
    kept.observe(event, dump(event), size)


def test_compact_keeps_a_prefix() -> None:
    """C165, C166: after the first omission nothing more is kept, even if it would fit."""
    kept = capture()
    sizes = [("text", 40), ("big", 61), ("small", 1), ("result", 1)]
    for kind, size in sizes:
        observe(kept, Event(kind), size)
    assert [event.kind for event in kept.events] == ["text"]
    assert kept.coverage == EventCoverage("compact", 4, 1, 3, 40, Omission("bytes", "big"))


def test_exact_when_all_fits() -> None:
    """C166, C168: with nothing omitted the mode is exact, in both retentions; an exact fit fits."""
    for retention in ("compact", "lossless"):
        kept = capture(event_retention=retention)
        for _ in range(2):
            assert kept.overflow(Event("text"), 50) is None
            observe(kept, Event("text"), 50)
        assert kept.coverage == EventCoverage("exact", 2, 2, 0, 100, None)


def test_count_is_checked_first() -> None:
    """C166: where both limits are exceeded, the omission is one of events."""
    kept = capture()
    for _ in range(3):
        observe(kept, Event("text"), 1)
    observe(kept, Event("result"), 1000)
    assert kept.coverage.first_omission == Omission("events", "result")


def test_lossless_overflow() -> None:
    """C167: the overflow says which limit, what was kept, and kind and size of what was not."""
    kept = capture(event_retention="lossless")
    observe(kept, Event("text"), 60)
    assert kept.overflow(Event("result"), 41) == EventCaptureOverflow("bytes", 3, 100, 1, 60, "result", 41)
    for _ in range(2):
        observe(kept, Event("text"), 1)
    assert kept.overflow(Event("text"), 1) == EventCaptureOverflow("events", 3, 100, 3, 62, "text", 1)


def test_compact_never_overflows() -> None:
    """C165: compact capture fails no turn."""
    assert capture().overflow(Event("text"), 10**9) is None


@given(st.lists(st.integers(0, 60)))
def test_coverage_adds_up(sizes: list[int]) -> None:
    """C165, C166: observed is retained plus omitted, what is kept is a prefix, and both limits hold."""
    kept, events = capture(), [Event("text", {"n": number}) for number in range(len(sizes))]
    for event, size in zip(events, sizes, strict=True):
        observe(kept, event, size)
    coverage = kept.coverage
    assert list(kept.events) == events[: len(kept.events)]
    assert coverage.observed_events == coverage.retained_events + coverage.omitted_events == len(sizes)
    assert coverage.retained_events <= 3
    assert coverage.retained_bytes == sum(sizes[: coverage.retained_events]) <= 100
    assert (coverage.first_omission is None) == (coverage.omitted_events == 0)
