"""Child actors as processes: Thespian knows only their addresses, and tells of a death late, twice or never.

Everything that reaches into Thespian's own bookkeeping of children is here. On a base without processes a
child has no process. This module must not know agents.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from typing import Any

import attrs
from thespian.actors import Actor
from thespian.system.transport import SendStatus, TransmitIntent

from gen_agent.actors.processes import ProcessId

_REAP_S = 1.0


class CannotCreate(RuntimeError):
    """No child process could be made."""


@attrs.frozen(slots=True, eq=False)
class Child:
    """A child actor just created: its address, its process, and what Thespian keeps of it."""

    address: Any
    process: ProcessId | None = None
    _info: Any = None

    def exit_code(self) -> int | None:
        """Reap the process, which has ended, and return its exit status, negative for a signal; None if
        unknown.
        """
        if self._info is None:
            return None
        self._info.childProc.join(_REAP_S)
        return self._info.childProc.exitcode  # type: ignore[no-any-return]


def create_child(parent: Actor, cls: type[Actor], requirements: Any = None) -> Child:
    """Create a child actor of `parent`.

    Raises `CannotCreate` where Thespian would only log that it could not fork. With `requirements` the child
    may be on another machine: then it has no process here.
    """
    _hear_of_each(parent._myRef)
    known = len(_infos(parent))
    address = parent.createActor(cls, requirements)
    if not hasattr(parent._myRef, "transport"):
        return Child(address)
    infos = _infos(parent)
    if len(infos) > known:
        return Child(address, _identity(infos[-1]), infos[-1])
    if requirements:
        return Child(address)
    raise CannotCreate(cls.__name__)


def fork_child(parent: Actor, cls: type[Actor], body: Callable[[], None]) -> Child:
    """Create a child actor of `parent` whose process does `body` and nothing else: no transport, no loop.

    Nobody can send it anything, and Thespian takes no notice of its end: whoever made it does. Raises
    `CannotCreate`.
    """
    manager = parent._myRef
    usual = manager.mpcontext
    manager.mpcontext = _Forks(body)
    try:
        child = create_child(parent, cls)
    finally:
        manager.mpcontext = usual
    manager._child_procs = [info for info in _infos(parent) if info is not child._info]
    return child


@attrs.frozen(eq=False)
class _Forks:
    """What Thespian makes processes with, for one that does `body`."""

    body: Callable[[], None]

    def Process(self, name: str, **_: Any) -> Any:
        """A process that is not to do what Thespian would have it do."""
        return multiprocessing.get_context("fork").Process(target=self.body, name=name)


def _hear_of_each(manager: Any) -> None:
    """Have Thespian tell of each death (C099): with one that was told it forgets all who are dead by then."""
    if not hasattr(manager, "childDied") or "_childExited" in vars(manager):
        return

    def forget(address: Any) -> None:
        manager._child_procs = [
            info
            for info in getattr(manager, "_child_procs", ())
            if not _is_at(info, address) or manager._checkChildLiveness(info)
        ]
        manager.childDied()

    manager._childExited = forget


def _is_at(info: Any, address: Any) -> bool:
    return address in (info.childAddr, getattr(info, "childRealAddr", None))


def _infos(actor: Actor) -> list[Any]:
    return getattr(actor._myRef, "_child_procs", None) or []


def _identity(info: Any) -> ProcessId:
    pid = info.childProc.pid
    try:
        return ProcessId.of(pid)
    except ProcessLookupError:
        # Dead and reaped by Thespian's signal handler already: an identity that is never alive.
        return ProcessId(pid, 0)


def forget_address(parent: Actor, address: Any) -> None:
    """Have Thespian let go of the address of a child that has ended: it keeps all there ever were.

    For parents that send nothing to a child of which they know that it has ended: it would wait for ever.
    """
    strike_out(getattr(parent._myRef, "_addrManager", None), address)


def strike_out(book: Any, address: Any) -> None:
    """Have Thespian's book of addresses let go of one."""
    known: list[Any] = getattr(book, "_managed", [])
    for place in reversed(range(len(known))):
        if known[place] is not None and known[place] == address:
            known[place] = None
            return


def disown(parent: Actor, child: Child) -> None:
    """Have Thespian not wait for a child on another machine when its parent exits: there may be no answer."""
    manager = parent._myRef
    book = getattr(manager, "_addrManager", None)
    if book is not None and child.process is None:
        manager._children = [other for other in manager._children if other != child.address]


def give_up(sender: Actor, address: Any) -> None:
    """Drop what waits to be sent to an actor on a machine that is not to be reached: nobody exits before."""
    manager = sender._myRef
    book = getattr(manager, "_addrManager", None)
    if book is not None:
        manager.transport.deadAddress(book, book.sendToAddress(address))


def send_or(sender: Actor, address: Any, message: object, dead: Callable[[], None]) -> None:
    """Send; `dead` is called if nobody is at that address any more, which a machine that is not to be reached
    does not say.
    """

    def failed(result: Any, intent: Any) -> None:
        if result == SendStatus.DeadTarget:
            dead()

    sender._myRef._send_intent(TransmitIntent(address, message, onError=failed))


def living_children(parent: Actor) -> tuple[ProcessId, ...]:
    """The processes of the children Thespian knows of."""
    return tuple(_identity(info) for info in _infos(parent))


def transport_descriptors(actor: Actor) -> tuple[int, ...]:
    """The descriptors that Thespian's transport of this process uses."""
    transport = getattr(actor._myRef, "transport", None)
    if transport is None:
        return ()
    return (*transport.protectedFileNumList(), *transport.childResetFileNumList())
