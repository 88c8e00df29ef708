"""Who this process is to others: host, pid and kernel start time.

A pid alone names nobody for long. This module must not know Thespian, actors or messages.
"""

from __future__ import annotations

import functools
import os
import secrets
import socket

from gen_agent.actors.processes import ProcessId
from gen_agent.values import Caller, Incarnation


@functools.cache
def host() -> str:
    """The name under which this machine appears in callers and incarnations."""
    return socket.gethostname()


@functools.cache
def machine() -> tuple[str, str]:
    """This machine: its name, and what tells it from another of the same name: the kernel's boot, and the
    table of processes that is seen from here.
    """
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            boot = file.read().strip()
        table = os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        return host(), ""
    return host(), f"{boot}/{table}"


def same_named(other: object) -> str | None:
    """The name of another machine that is called as this one, by its `machine()`; None for any other.

    Who asks for the process of such a machine would look it up in this one's table.
    """
    if other is None or other == machine():
        return None
    name = other[0] if isinstance(other, tuple) and other else None
    return name if isinstance(name, str) and name == host() else None


def start_time(pid: int) -> int:
    """The kernel's start time of `pid` in ticks since boot; 0 where it is gone or there is no /proc."""
    try:
        return ProcessId.of(pid).start_time
    except OSError:
        return 0


@functools.lru_cache(maxsize=1)
def _caller(pid: int) -> Caller:
    return Caller(host(), pid, start_time(pid))


def this_process() -> Caller:
    """This process as a caller; right also after a fork."""
    return _caller(os.getpid())


def new_incarnation() -> Incarnation:
    """A new incarnation in this process, of which there may be several where actors share one."""
    me = this_process()
    return Incarnation(me.host, me.pid, me.start_time, secrets.token_hex(8))


def local_process(who: Caller | Incarnation) -> ProcessId | None:
    """The process of a caller or incarnation, to be watched; None if it is on another machine."""
    return ProcessId(who.pid, who.start_time) if who.host == host() else None
