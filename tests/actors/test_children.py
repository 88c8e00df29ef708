"""What is done to Thespian's own bookkeeping of children, on a stand-in for it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from gen_agent.actors.children import Child, forget_child


def test_the_other_dead_are_told_of_first() -> None:
    """C099: before a child is struck out Thespian looks at all others: it would forget them with that one."""
    told: list[str] = []
    gone, other = SimpleNamespace(childRealAddr="gone"), SimpleNamespace(childRealAddr="other")
    manager: Any = SimpleNamespace(
        _child_procs=[gone, other],
        childDied=lambda: told.append("looked"),
        _handleChildExited=told.append,
    )
    parent: Any = SimpleNamespace(_myRef=manager)
    forget_child(parent, Child("address", None, gone))
    assert told == ["looked", "gone"]
    assert manager._child_procs == [other]
