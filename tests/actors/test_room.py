"""Room for calls where a loop begins."""

from __future__ import annotations

import resource
from collections.abc import Callable

import pytest

from gen_agent.actors.room import with_room

DEPTHS = range(200)
CALLS = 500


def nested(levels: int) -> int:
    """A few calls inside each other, as a handler makes."""
    return levels and nested(levels - 1)


def page_faults() -> int:
    """The page faults of many nested calls at this depth."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(CALLS):
        nested(20)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def deep(depth: int, action: Callable[[], int]) -> int:
    """What `action` returns below that many calls."""
    return deep(depth - 1, action) if depth else action()


def test_no_depth_makes_calls_dear() -> None:
    """Wherever a loop begins, its calls cost no page faults; without room some depths cost one per call."""
    if max(deep(depth, page_faults) for depth in DEPTHS) < CALLS:
        pytest.skip("this interpreter gives no memory back between calls")
    assert max(deep(depth, lambda: with_room(page_faults)) for depth in DEPTHS) < CALLS / 10


def test_what_is_called_comes_out() -> None:
    """Results and exceptions pass through."""
    assert with_room(lambda: "result") == "result"
    with pytest.raises(LookupError):
        with_room(lambda: {}["absent"])
