"""The guardian itself: starts a system, watches its owner and its vital processes, and ends all of it, once.

The law: it never receives agent messages, restarts nothing, prints nothing, and whatever ends it short of
SIGKILL ends everything below it, by identity: SIGTERM as if it were closed, SIGQUIT at once. (After SIGKILL
the kernel does: every process of the system dies with its parent.) Admin and logger are vital, the supervisor
is not: without it the system lives on, its agents end, and the next client that needs one makes a new one.
This module must not load Thespian before Thespian's environment is set.
"""

from __future__ import annotations

import contextlib
import enum
import logging
import os
import pickle
import secrets
import select
import signal
import socket
import time
from multiprocessing.connection import Connection
from typing import Any

from gen_agent.actors.guardian import CLOSE, GONE, TAKEN, SystemInfo, SystemRequest
from gen_agent.actors.guardian_end import let_agents_finish, shut_down
from gen_agent.actors.guardian_mark import put_mark
from gen_agent.actors.keys import KEY_FILE_VARIABLE, new_key, read_key
from gen_agent.actors.orphans import Orphans
from gen_agent.actors.processes import (
    ProcessId,
    Watched,
    become_subreaper,
    kill_children,
    raise_descriptor_limit,
    reset_signals,
    set_title,
)
from gen_agent.actors.services import ServiceDesk
from gen_agent.actors.sockets import listener
from gen_agent.actors.system_files import SystemFiles

NONCE_CAPABILITY = "gen_agent nonce"
GUARDIAN_CAPABILITY = "gen_agent guardian"
"""Capabilities of a guarded system: which system it is, and its guardian's pid."""

BROKEN_S = 3.0
"""How long agents of a broken system may take for their last callbacks, and how long any fork that lost its
parent may take to begin to end, in seconds.
"""

ORPHANS_S = 2.0
SOON_S = 0.1
"""How often orphans are looked for when nothing else happens, for that one came is announced by nobody."""

_log = logging.getLogger(__name__)


class Cause(enum.Enum):
    """Why a system ends: closed by its owner, or told to quit or left by it, or broken by the death of a
    vital process."""

    CLOSED = "closed"
    QUIT = "quit"
    LEFT = "left"
    BROKEN = "broken"


def _leave_starter() -> None:
    """Become nobody's child, for a system that outlives who started it."""
    if os.fork():
        os._exit(0)


def _prepare() -> None:
    reset_signals()
    set_title("gen_agent guard")
    become_subreaper()
    raise_descriptor_limit()


def _listen(request: SystemRequest) -> socket.socket:
    try:
        listening = listener(request.bind, request.admin_port)
    except OSError as refused:
        port = f"admin port {request.admin_port}" if request.admin_port else "any admin port"
        place = f"{port} on {request.bind}"
        raise OSError(refused.errno, f"{place}: {refused.strerror}") from refused
    # Connections inherit it; without it their remains would keep the port from the next system for a minute.
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    return listening


def _key(request: SystemRequest, port: int) -> bytes:
    if request.key_file or os.environ.get(KEY_FILE_VARIABLE):
        return read_key(port, request.key_file)
    return new_key()


def _set_environment(directory: str) -> None:
    """Keep Thespian's own log, which shows messages, inside the private directory and nearly empty."""
    os.environ["THESPLOG_FILE"] = os.path.join(directory, "thespian.log")
    os.environ["THESPLOG_THRESHOLD"] = "CRITICAL"


class Guardian:
    """One system from its start to its end, in the process that guards it."""

    def __init__(self, request: SystemRequest, control: Connection) -> None:
        self._control = control
        self._heard: set[bytes] = set()
        self._told_to_quit = False
        self._orphans = Orphans(BROKEN_S)
        self.shutdown_s = request.shutdown_s
        self.owner = None if request.owner is None else Watched(request.owner)
        _prepare()
        listening = _listen(request)
        host, port = listening.getsockname()[:2]
        key = _key(request, port)
        self._files = SystemFiles(host, port, key)
        try:
            put_mark(self._files.directory, request.owner)
            directory = str(self._files.directory)
            _set_environment(directory)
            self.info = self._start(request, listening, key)
            self.desk = ServiceDesk(directory)
            self._wake = _wake_on_signals()
            self.vital = [Watched(one) for one in (self.info.admin, self.info.logger)]
            self._supervisor = Watched(self.info.supervisor)
        except BaseException:
            self._files.remove()
            raise

    def _start(self, request: SystemRequest, listening: socket.socket, key: bytes) -> SystemInfo:
        # Not before now, for it loads Thespian, which reads its environment then.
        from gen_agent.actors.guarded_system import GuardedSystem

        host, port = listening.getsockname()[:2]
        nonce = secrets.token_hex(16)
        capabilities: dict[str, Any] = {
            **request.capabilities,
            NONCE_CAPABILITY: nonce,
            GUARDIAN_CAPABILITY: os.getpid(),
        }
        self.system = GuardedSystem(key, listening, capabilities, request.log_defs, request.supervisor)
        processes = (self.system.admin, self.system.logger, self.system.supervisor)
        directory = str(self._files.directory)
        return SystemInfo(host, port, key, nonce, directory, ProcessId.of(os.getpid()), *processes)

    def watch(self) -> Cause:
        """Serve and clean up until there is a cause to end."""
        poller = select.poll()
        owner = [] if self.owner is None else [self.owner]
        for watched in (*self.vital, *owner):
            poller.register(watched, select.POLLIN)
        for descriptor in (self._control.fileno(), self.desk.fileno(), self._wake):
            poller.register(descriptor, select.POLLIN)
        while True:
            look_again_s = self._clean_up()
            ready = {descriptor for descriptor, _ in poller.poll(look_again_s * 1000)}
            if not self._control.closed and self._control.fileno() in ready:
                self._hear(poller)
            cause = self._cause(_signals(self._wake))
            if cause is not None:
                return cause
            self.desk.serve()

    def _hear(self, poller: select.poll) -> None:
        try:
            self._heard.add(self._control.recv_bytes())
        except (EOFError, OSError):
            poller.unregister(self._control)
            self._control.close()

    def _cause(self, signals: bytes) -> Cause | None:
        # A system without an owner is left by nobody once its starter knows that it runs.
        needed = self.owner is not None or TAKEN not in self._heard
        if (self.owner is not None and self.owner.ended) or (needed and self._control.closed):
            return Cause.LEFT
        if signal.SIGQUIT in signals:
            return Cause.QUIT
        if CLOSE in self._heard or any(number != signal.SIGCHLD for number in signals):
            return Cause.CLOSED
        return Cause.BROKEN if any(process.ended for process in self.vital) else None

    def _clean_up(self) -> float:
        """Reap the dead and end what killed agents left; services stay, and so do agents that lost their
        supervisor until they have ended. When to look again, in seconds.
        """
        waiting = self._orphans.clean_up({self.info.admin.pid, *self.desk.pids()})
        return SOON_S if waiting else ORPHANS_S

    def end(self, cause: Cause) -> None:
        """End everything; orderly for a bounded time unless there was an order to quit, or the owner left."""
        if cause is Cause.CLOSED:
            self._shut_down()
        elif cause is Cause.BROKEN:
            self.info.admin.signal(signal.SIGKILL)
            services = self._services()
            until = time.monotonic() + min(BROKEN_S, self.shutdown_s)
            let_agents_finish(self._orphans, services, self._in_a_hurry, until)
        # As long as the admin lives nobody else has this port, and so no other key file is in the place.
        self._files.remove()
        self.desk.close()
        left = kill_children()
        if left:
            _log.error("%d processes could not be killed", len(left))
        with contextlib.suppress(OSError):  # nobody may be there any more to hear it
            self._control.send_bytes(GONE)

    def _in_a_hurry(self) -> bool:
        """Whether nobody waits for an orderly end any more."""
        self._told_to_quit = self._told_to_quit or signal.SIGQUIT in _signals(self._wake)
        return self._told_to_quit or (self.owner is not None and self.owner.ended)

    def _services(self) -> set[ProcessId]:
        return {ProcessId.of(pid) for pid in self.desk.pids()}

    def _shut_down(self) -> None:
        until = time.monotonic() + self.shutdown_s
        shut_down(self.system, self._supervisor, self._in_a_hurry, until)
        # Agents of a supervisor that was lost shortly before may still be at their last callbacks.
        let_agents_finish(self._orphans, {self.info.admin, *self._services()}, self._in_a_hurry, until)


def _wake_on_signals() -> int:
    """A descriptor on which every signal to come can be read as one byte."""
    read, write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, lambda *_: None)
    return read


def _signals(wake: int) -> bytes:
    try:
        return os.read(wake, 4096)
    except BlockingIOError:
        return b""


def _sent(control: Connection, answer: object) -> None:
    """Say the first words; who has gone meanwhile is noticed by the watch."""
    with contextlib.suppress(BrokenPipeError):
        control.send_bytes(pickle.dumps(answer))


def _told(failure: BaseException) -> BaseException:
    """The failure as the script can open and understand it."""
    if type(failure).__module__ == "builtins" and isinstance(failure, (OSError, ValueError, TypeError)):
        file = getattr(failure, "filename", None)
        return type(failure)(*failure.args, *([] if file is None else [str(file)]))
    return RuntimeError(f"the actor system could not be started: {type(failure).__name__}: {failure}")


def main(control_fd: int) -> None:
    """Be the guardian for whoever is at the other end of this socket; never returns."""
    control = Connection(control_fd)
    try:
        request = pickle.loads(control.recv_bytes())
        if request.owner is None:
            _leave_starter()
        guardian = Guardian(request, control)
    except BaseException as failure:
        kill_children()
        _sent(control, _told(failure))
        os._exit(1)
    try:
        _sent(control, guardian.info)
        guardian.end(guardian.watch())
    finally:
        # Whatever happened, nothing may outlive this process; and nothing of Python's own end is needed.
        kill_children()
        os._exit(0)
