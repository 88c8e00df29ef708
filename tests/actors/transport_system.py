"""Systems on our base for tests, with the test process as their guardian."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import attrs
from thespian.actors import ActorAddress, ActorSystem

from gen_agent.actors.base import GenAgentBase
from gen_agent.actors.keys import new_key
from gen_agent.actors.processes import ProcessId, Watched, become_subreaper, children, kill_children
from gen_agent.actors.sockets import listener
from gen_agent.actors.transport import GenAgentTransport, transport_class

QUIET = {"version": 1, "root": {"handlers": [], "level": "CRITICAL"}}


@attrs.frozen
class System:
    """A running system: its key, admin port, transport, and Thespian's way in."""

    key: bytes = attrs.field(repr=False)
    port: int
    transport: type[GenAgentTransport]
    base: GenAgentBase
    actors: ActorSystem

    def create(self, actor: type, *first: Any) -> ActorAddress:
        """An actor that has answered `first` (or "pid") once."""
        address = self.actors.createActor(actor)
        assert self.actors.ask(address, first[0] if first else "pid", 10) is not None
        return address

    def pid(self, address: ActorAddress) -> int:
        """The process of an actor that answers "pid"."""
        pid = self.actors.ask(address, "pid", 10)
        assert isinstance(pid, int)
        return pid


@contextlib.contextmanager
def running(**settings: Any) -> Iterator[System]:
    """A system for one test; whatever is left of it is killed, and must be gone, at the end."""
    become_subreaper()
    before = children(os.getpid())
    admin = listener("127.0.0.1", 0)
    key, port = new_key(), admin.getsockname()[1]
    kind = transport_class(key, admin_socket=admin, guardian_pid=os.getpid())
    for name, value in settings.items():
        setattr(kind, name, value)
    try:
        base = GenAgentBase(kind, {"Admin Port": port}, QUIET, start_admin=True)
        admin.close()
        yield System(key, port, kind, base, ActorSystem(base, transientUnique=True))
        base.transport.close()
    finally:
        admin.close()
        assert kill_children(keep=before) == ()


@contextlib.contextmanager
def stopped(pid: int) -> Iterator[Callable[[], None]]:
    """A process stopped by SIGSTOP; gives what kills it, and lets it go on at the end otherwise."""
    process = ProcessId.of(pid)
    process.signal(signal.SIGSTOP)

    def kill() -> None:
        with Watched(process) as watched:
            watched.signal(signal.SIGKILL)
            assert watched.wait(5)

    try:
        yield kill
    finally:
        process.signal(signal.SIGCONT)


def free_port() -> int:
    """A port nobody listens on now."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def wait_until(condition: Callable[[], bool], timeout_s: float = 10.0) -> None:
    """Wait until something is so that nobody announces; fails after `timeout_s`."""
    end = time.monotonic() + timeout_s
    pause = threading.Event()
    while not condition():
        assert time.monotonic() < end, "it never came to be"
        pause.wait(0.001)
