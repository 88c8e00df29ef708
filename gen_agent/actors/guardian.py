"""Starting an actor system under a guardian, and ending it: the script's side.

The guardian is a small process of its own, started by `exec`, that starts the Thespian system and ends all of
it when its owner closes it, exits or is killed, or when the system's admin or logger dies. The law: the
script is never forked, the key goes through the private control socket only, and an interrupted start leaves
nothing. This module must not know Thespian; `guardian_process` is the other side.
"""

from __future__ import annotations

import logging
import os
import pickle
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from multiprocessing.connection import Connection
from typing import Any

import attrs

from gen_agent.actors.processes import ProcessId, Watched, require_linux
from gen_agent.actors.system_files import sweep
from gen_agent.client.protocol import SUPERVISOR_CLASS
from gen_agent.sealed import dump

START_S = 30.0
"""How long a system may take to start, in seconds."""

END_MARGIN_S = 10.0
"""How long a guardian may take to end, beyond what its agents are given, before it is killed; in seconds."""

TAKEN = b"taken"
CLOSE = b"close"
GONE = b"gone"
"""What is said over the control socket after the system is up: twice by the starter, last by the guardian."""

# The import path of the script is taken over before anything is imported, so that both run the same code.
_BOOT = """\
import sys
sys.path[:] = sys.argv[2].split(sys.argv[3])
from gen_agent.actors.guardian_process import main
main(int(sys.argv[1]))"""

_log = logging.getLogger(__name__)


@attrs.frozen
class SystemRequest:
    """What a system is to be: goes from the script to the guardian, pickled, over the control socket."""

    admin_port: int
    bind: str
    key_file: str | None
    capabilities: Mapping[str, Any]
    log_defs: Mapping[str, Any] | None
    owner: ProcessId | None
    shutdown_s: float
    supervisor: str


@attrs.frozen
class SystemInfo:
    """What a system is: goes from the guardian to the script, and nowhere else.

    `supervisor` is the first one, of whose successors nobody is told.
    """

    host: str
    port: int
    key: bytes = attrs.field(repr=False)
    nonce: str
    directory: str
    guardian: ProcessId
    admin: ProcessId
    logger: ProcessId
    supervisor: ProcessId


class GuardianHandle:
    """A running system as its starter holds it; for one thread at a time.

    `info` says where it is and who its processes are. A fork of the starter holds a copy that can't end the
    system.
    """

    def __init__(
        self, info: SystemInfo, control: Connection, process: subprocess.Popen[bytes], request: SystemRequest
    ) -> None:
        self.info = info
        self._control = control
        self._process = process
        self._owned = request.owner is not None
        self._patience_s = request.shutdown_s + END_MARGIN_S
        self._creator = os.getpid()

    @property
    def port(self) -> int:
        """The admin port."""
        return self.info.port

    @property
    def key(self) -> bytes:
        """The key every frame of the system is sealed with."""
        return self.info.key

    @property
    def ended(self) -> bool:
        """Whether the guardian has ended, and with it, unless it was killed, everything; answered at once."""
        return not self.info.guardian.alive()

    def fileno(self) -> int:
        """The control socket: readable when the guardian ends, whyever. Nothing is to be read from it."""
        return self._control.fileno()

    def close(self) -> None:
        """End the system: agents get `shutdown_s` for their last callbacks, then everything is killed.

        Returns when all processes of the system are gone; idempotent. Interrupted by Ctrl-C it can be called
        again, and what was begun goes on meanwhile. In a fork of the starter it only closes this copy.
        """
        if self._mine() and not self._control.closed:
            _say(self._control, CLOSE)
            _await_end(self.info.guardian, self._patience_s)
            sweep()
        self._let_go()

    def detach(self) -> None:
        """Let go of the system: one without an owner lives on, any other is killed at once. Idempotent."""
        if self._mine() and not self._control.closed and self._owned:
            self._control.close()
            _await_end(self.info.guardian, END_MARGIN_S)
        self._let_go()

    def _mine(self) -> bool:
        return self._creator == os.getpid()

    def _let_go(self) -> None:
        self._control.close()
        if self._mine():
            # It has ended: as the guardian, or as what only started a guardian that is nobody's.
            self._process.wait()


def _say(control: Connection, word: bytes) -> None:
    try:
        control.send_bytes(word)
    except OSError as gone:
        _log.debug("the guardian had ended before it was told: %s", type(gone).__name__)


def _await_end(guardian: ProcessId, patience_s: float) -> None:
    try:
        with Watched(guardian) as watched:
            if not watched.wait(patience_s):
                # Its processes die with it, by the kernel's doing.
                _log.warning("the guardian did not end within %.0f s and is killed", patience_s)
                watched.signal(signal.SIGKILL)
                watched.wait()
    except ProcessLookupError:
        return  # ended and reaped


def _abandon(process: subprocess.Popen[bytes], control: Connection) -> None:
    """Have what was begun taken down by the guardian, which sees that its socket was closed."""
    control.close()
    try:
        process.wait(END_MARGIN_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _spawn(control: socket.socket) -> subprocess.Popen[bytes]:
    if not sys.executable:
        raise RuntimeError("an actor system of its own needs sys.executable, which this Python does not have")
    where = [str(control.fileno()), os.pathsep.join(sys.path), os.pathsep]
    return subprocess.Popen(
        [sys.executable, "-c", _BOOT, *where],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=[control.fileno()],
        start_new_session=True,
    )


def _first_words(control: Connection) -> SystemInfo:
    if not control.poll(START_S):
        raise TimeoutError(f"the actor system did not start within {START_S:.0f} s")
    try:
        answer = pickle.loads(control.recv_bytes())
    except (EOFError, ConnectionError):
        raise RuntimeError("the guardian ended before the actor system was up") from None
    if isinstance(answer, SystemInfo):
        return answer
    raise answer


def _converse(control: Connection, request: bytes) -> SystemInfo:
    try:
        control.send_bytes(request)
    except ConnectionError:
        raise RuntimeError("the guardian ended before it was told what to start") from None
    info = _first_words(control)
    try:
        control.send_bytes(TAKEN)
    except ConnectionError:
        raise RuntimeError("the actor system ended as soon as it was up") from None
    return info


def start_guardian(
    *,
    admin_port: int | None = None,
    bind: str = "127.0.0.1",
    key_file: str | os.PathLike[str] | None = None,
    capabilities: Mapping[str, Any] | None = None,
    log_defs: Mapping[str, Any] | None = None,
    owned: bool = True,
    shutdown_s: float = 5.0,
    supervisor: str = SUPERVISOR_CLASS,
) -> GuardianHandle:
    """Start an actor system on our base under a guardian, and return when its supervisor runs.

    `admin_port` None: a free one. `key_file` (default `$GEN_AGENT_KEY_FILE`, else a fresh key) holds the key
    to use. `owned`: it ends with this process; otherwise it outlives it, and ends by `close` or a SIGTERM to
    the guardian (SIGQUIT: at once). `shutdown_s`: how long agents may take to end in an orderly way at
    `close`. `supervisor`: a class by dotted name.

    Raises `OSError` (port taken, key file missing or readable by others), `ValueError` (no key in it,
    capabilities not possible here), `Unpicklable`, `TimeoutError`, and `RuntimeError` with the reason for
    anything else. After any exception, KeyboardInterrupt included, nothing of the system is left.
    """
    require_linux()
    request = SystemRequest(
        admin_port=admin_port or 0,
        bind=bind,
        key_file=None if key_file is None else os.path.abspath(key_file),
        capabilities=dict(capabilities or {}),
        log_defs=log_defs,
        owner=ProcessId.of(os.getpid()) if owned else None,
        shutdown_s=shutdown_s,
        supervisor=supervisor,
    )
    return _launch(request)


def _launch(request: SystemRequest) -> GuardianHandle:
    sealed = dump(request)
    ours, theirs = socket.socketpair()
    control = Connection(ours.detach())
    with theirs:
        process = _spawn(theirs)
    try:
        info = _converse(control, sealed)
    except BaseException:
        _abandon(process, control)
        raise
    return GuardianHandle(info, control, process, request)
