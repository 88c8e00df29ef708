"""Which processes run, as far as this machine's process table tells, and which one this is.

For clients inside actors, which may not know the actors' ring. A process of another machine runs until it is
known to be dead. This module must not know actors, messages or Thespian.
"""

from __future__ import annotations

import os
import socket

from gen_agent.values import Caller, Incarnation


def running(who: Caller | Incarnation) -> bool:
    """Whether that process runs, as far as this machine can tell: processes of other machines do."""
    if who.host != socket.gethostname() or not who.pid:
        return True
    try:
        with open(f"/proc/{who.pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return not os.path.isdir("/proc/self")
    return int(fields[19]) == who.start_time and fields[0] not in (b"Z", b"X")


def this_caller() -> Caller:
    """This process as a caller; start time 0 where there is no process table."""
    pid = os.getpid()
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            started = int(file.read().rpartition(b")")[2].split()[19])
    except FileNotFoundError:
        started = 0
    return Caller(socket.gethostname(), pid, started)
