"""What is done to Thespian's own bookkeeping of children, on a stand-in for it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from gen_agent.actors.children import create_child, fork_child


class Manager:
    """What Thespian does with children that are dead: it tells of them once, or never."""

    def __init__(self, *living: str) -> None:
        self._child_procs: list[Any] = []
        self._living, self.transport = set(living), None
        self.told: list[Any] = []
        self.mpcontext: Any = None

    def create(self, name: str) -> str:
        self._child_procs.append(SimpleNamespace(childAddr=name, childProc=SimpleNamespace(pid=1)))
        return name

    def _checkChildLiveness(self, info: Any) -> bool:
        return info.childAddr in self._living

    def _childExited(self, _: str) -> None:
        self._child_procs = [info for info in self._child_procs if self._checkChildLiveness(info)]

    def _handleChildExited(self, address: str) -> None:
        self._childExited(address)

    def childDied(self) -> None:
        self.told += [info.childAddr for info in self._child_procs if not self._checkChildLiveness(info)]
        Manager._childExited(self, "")


def parent_of(manager: Manager, *names: str) -> Any:
    """An actor with those children."""
    actor: Any = SimpleNamespace(_myRef=manager, createActor=lambda name, _: manager.create(name))
    for name in names:
        create_child(actor, name)  # type: ignore[arg-type]
    return actor


def test_of_each_dead_child_is_told() -> None:
    """C099: when one death is noted, those found dead beside it are told of, once, and not forgotten."""
    manager = Manager("alive")
    parent_of(manager, "told", "other", "alive")
    manager._handleChildExited("told")
    assert manager.told == ["other"]
    assert [info.childAddr for info in manager._child_procs] == ["alive"]
    manager.childDied()
    assert manager.told == ["other"]


def test_a_child_forked_for_another_end_is_nobodys() -> None:
    """C098: a child that its maker watches is never told of, and hides no other that is dead (C099); what
    makes the next child is Thespian's again.
    """
    manager = Manager()
    manager.mpcontext = usual = object()
    parent = parent_of(manager, "other")
    child = fork_child(parent, "forked", lambda: None)  # type: ignore[arg-type]
    assert child.address == "forked"
    manager.childDied()
    assert manager.told == ["other"]
    assert manager.mpcontext is usual
