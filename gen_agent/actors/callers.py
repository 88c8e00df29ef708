"""Callers on other machines whose asks wait here: whether there is still somebody who waits for the answer.

No notice comes when a process on another machine ends, but its kernel knows. The law: to each place where
such a caller listens one silent connection is held, which ends with its process at the latest; who refuses
the next one is gone, as is a machine that twice in a row can't be reached; who is stopped or busy is there.
This module must not know Thespian or requests.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable, Hashable
from typing import Any, Protocol

import attrs

from gen_agent.actors.identity import local_process
from gen_agent.actors.sockets import Key, tune
from gen_agent.actors.watching import Watcher
from gen_agent.values import Caller

AGAIN_S = 1.0
"""How long after the end of one connection the next is made, in seconds."""

# A machine that does not answer is noticed after ten seconds, or seven while a connection is being made.
_PATIENCE = (
    (socket.TCP_KEEPIDLE, 5),
    (socket.TCP_KEEPINTVL, 1),
    (socket.TCP_KEEPCNT, 5),
    (socket.TCP_SYNCNT, 2),
)
_ANSWERED = (0, errno.ECONNRESET, errno.EPIPE)
"""How a connection ends whose other side was there."""


@attrs.frozen
class FarCaller(Caller):
    """A caller on another machine, and where it listens: a process may have several such places."""

    place: Key


class Host(Protocol):
    """What is needed of the actor."""

    @property
    def watcher(self) -> Watcher:
        """What it watches."""

    def set_deadline(self, key: Hashable, seconds: float) -> None:
        """Come back after `seconds`."""

    def clear_deadline(self, key: Hashable) -> None:
        """Do not."""


def watchable(caller: Caller | None, sender: Any) -> Caller | None:
    """The caller as one that can be watched from here; `sender` is where its answer goes."""
    if caller is None or local_process(caller) is not None:
        return caller
    (where,) = getattr(getattr(sender, "addressDetails", None), "connectArgs", (None,))
    return caller if where is None else FarCaller(caller.host, caller.pid, caller.start_time, where[:2])


class FarCallers:
    """The connections to those callers. `died` is told of each that is gone, once, and nothing is held of it
    then.
    """

    def __init__(self, host: Host, died: Callable[[FarCaller], None]) -> None:
        self._host, self._died = host, died
        self._lines: dict[FarCaller, socket.socket] = {}
        self._doubted: set[FarCaller] = set()

    def call(self, caller: FarCaller) -> None:
        """Open a connection, the first one or the next; harmless while there is one."""
        if caller in self._lines:
            return
        line = self._lines[caller] = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        tune(line, caller.place[0])
        for option, value in _PATIENCE:
            line.setsockopt(socket.IPPROTO_TCP, option, value)
        error = line.connect_ex(caller.place)
        if error not in (0, errno.EINPROGRESS):
            self._ended(caller, error)
            return
        # Readable when it ends: nothing is ever said on it.
        self._host.watcher.add(line, caller)

    def forget(self, caller: FarCaller) -> None:
        """Nothing of that caller waits any more."""
        self._doubted.discard(caller)
        self._host.clear_deadline(caller)
        self._close(caller)

    def over(self, caller: FarCaller) -> None:
        """Its connection has ended, or could not be made."""
        self._ended(caller, self._lines[caller].getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))

    def _ended(self, caller: FarCaller, error: int) -> None:
        self._close(caller)
        if error == errno.ECONNREFUSED or (error not in _ANSWERED and caller in self._doubted):
            self._doubted.discard(caller)
            self._died(caller)
            return
        if error in _ANSWERED:
            self._doubted.discard(caller)
        else:
            self._doubted.add(caller)
        self._host.set_deadline(caller, AGAIN_S)

    def _close(self, caller: FarCaller) -> None:
        self._host.watcher.remove(caller)
        line = self._lines.pop(caller, None)
        if line is not None:
            line.close()
