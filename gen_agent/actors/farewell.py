"""`terminate_session` where the worker is gone: in a plain forked child that is given the session (C047).

The child builds the backend anew, ends the session and exits; it is killed with all it started when its time
is up. Processes only.
"""

from __future__ import annotations

import os
import select
import signal
import time

from gen_agent.actors import orders
from gen_agent.actors.processes import ProcessId, close_descriptors, die_with_parent, kill_tree, reset_signals
from gen_agent.actors.service import Seed, Service
from gen_agent.backend import Backend
from gen_agent.sealed import Sealed

_MAX_NAME = 500


def end_session(
    seed: Seed, session: Sealed, timeout_s: float | None, keep: tuple[int, ...]
) -> tuple[bool, str | None]:
    """End the session in a child, waiting at most `timeout_s`; whether it did in time, and what it raised, by
    class.
    """
    if seed.backend.terminate_session is Backend.terminate_session:
        return True, None
    read_end, write_end = os.pipe()
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        _child(seed, session, write_end, parent, keep)
    os.close(write_end)
    try:
        return _await(ProcessId.of(pid), read_end, timeout_s)
    finally:
        os.close(read_end)
        os.waitpid(pid, 0)


def _child(seed: Seed, session: Sealed, write_end: int, parent: int, keep: tuple[int, ...]) -> None:
    """The child's whole life; never returns."""
    status = 1
    try:
        die_with_parent(signal.SIGKILL, parent)
        reset_signals()
        close_descriptors({write_end, *keep})
        service = Service(seed, lambda level, text: None)
        service.adopt()
        failed = service.close(orders.Close(True, session)).error_class
        os.write(write_end, (failed or "").encode()[:_MAX_NAME] + b"\n")
        status = 0
    except BaseException as error:
        os.write(write_end, type(error).__name__.encode()[:_MAX_NAME] + b"\n")
    finally:
        os._exit(status)


def _await(child: ProcessId, read_end: int, timeout_s: float | None) -> tuple[bool, str | None]:
    end = None if timeout_s is None else time.monotonic() + timeout_s
    said = b""
    while not said.endswith(b"\n"):
        left = None if end is None else max(0.0, end - time.monotonic())
        if not select.select([read_end], [], [], left)[0]:
            break
        data = os.read(read_end, _MAX_NAME)
        if not data:
            break
        said += data
    kill_tree(child)
    return said.endswith(b"\n"), said.strip().decode() or None
