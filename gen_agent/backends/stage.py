"""The test's side of the scripted backend: gates that hold a worker in another process, and what was asked
of it.

Law: everything crosses processes through one private directory (a Unix socket for gates, appended files for
prompts), because the worker that waits at a gate may be killed there at any moment and must leave nothing
to repair. This module must not know agents, actors or the backend that uses it.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from types import TracebackType
from typing import Any

import attrs

GATE_TIMEOUT_S = 5.0
"""How long a gate, and whoever waits for one, is patient by default."""

_OPEN = b"+"


@contextlib.contextmanager
def _gates(directory: str) -> Iterator[str]:
    """A path of the socket in `directory`, however long its own is: the kernel takes 107 bytes only."""
    descriptor = os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{descriptor}/gates"
    finally:
        os.close(descriptor)


class GateError(RuntimeError):
    """A gate that can't be waited at, was closed, or was not opened in time; in a worker it ends the turn."""


@attrs.frozen
class StageAddress:
    """Where a stage is, as an option of the scripted backend: its directory and the process that opens its
    gates.
    """

    path: str
    pid: int

    def wait_at(self, tag: str, timeout_s: float | None = GATE_TIMEOUT_S) -> None:
        """Block the calling process until the stage releases `tag`.

        Raises `GateError` in the stage's own process (which could never open the gate), after `timeout_s`
        seconds, and when the stage is closed.
        """
        if os.getpid() == self.pid:
            raise GateError(f"gate {tag!r}: the process that opens the gate would wait for itself")
        with socket.socket(socket.AF_UNIX) as link:
            link.settimeout(timeout_s)
            try:
                with _gates(self.path) as gates:
                    link.connect(gates)
                link.sendall(json.dumps({"tag": tag, "pid": os.getpid()}).encode() + b"\n")
                opened = link.recv(1)
            except TimeoutError:
                raise GateError(f"gate {tag!r} was not opened within {timeout_s} s") from None
            except OSError as error:
                raise GateError(f"gate {tag!r}: its stage is closed") from error
        if opened != _OPEN:
            raise GateError(f"gate {tag!r}: its stage was closed")


@attrs.frozen
class _Waiting:
    link: socket.socket
    pid: int


class Stage:
    """Holds and releases the workers of scripted agents, and knows their prompts; for the test's process.

    A context manager. `close` lets nobody wait any longer (workers at a gate end their turn with
    `GateError`) and removes the directory. Not for two threads at once.
    """

    def __init__(self) -> None:
        self._path = tempfile.mkdtemp(prefix="gen_agent-stage-")
        self._door = socket.socket(socket.AF_UNIX)
        with _gates(self._path) as gates:
            self._door.bind(gates)
        self._door.listen(1024)
        self._waiting: dict[str, deque[_Waiting]] = {}
        self._closed = False

    @property
    def address(self) -> StageAddress:
        """The picklable value to give the backend as its option `stage`."""
        return StageAddress(self._path, os.getpid())

    def options(self, *scripts: Any, label: str = "agent") -> dict[str, Any]:
        """The options of a scripted backend that plays `scripts` on this stage and is known here as
        `label`.
        """
        return {"scripts": scripts, "stage": self.address, "label": label}

    def wait_blocked(self, tag: str, timeout_s: float = GATE_TIMEOUT_S) -> int:
        """Wait until a worker is blocked at `tag`; return its pid. Raises `TimeoutError` after `timeout_s`
        seconds.
        """
        until = time.monotonic() + timeout_s
        while not self._waiting.get(tag):
            self._admit(tag, until - time.monotonic())
        return self._waiting[tag][0].pid

    def release(self, tag: str, timeout_s: float = GATE_TIMEOUT_S) -> None:
        """Open `tag` for the worker that has waited there longest, waiting for one to come if need be.

        Raises `TimeoutError` after `timeout_s` seconds. A worker that was killed at its gate is released
        without effect.
        """
        self.wait_blocked(tag, timeout_s)
        link = self._waiting[tag].popleft().link
        with link:
            try:
                link.sendall(_OPEN)
            except BrokenPipeError:
                return  # it was killed while it waited: there is nobody left to let through

    def wait_gone(self, tag: str, timeout_s: float = GATE_TIMEOUT_S) -> None:
        """Wait until the worker blocked longest at `tag` has died there. Raises `TimeoutError`."""
        self.wait_blocked(tag, timeout_s)
        link = self._waiting[tag][0].link
        link.settimeout(timeout_s)
        link.recv(1)
        link.close()
        self._waiting[tag].popleft()

    def history(self, label: str = "agent") -> tuple[str, ...]:
        """All prompts given to the agents known as `label`, failed ones included; raises `LookupError`."""
        return tuple(prompt for path in self._sessions(label) for prompt in Record(path).prompts())

    def remaining(self, label: str = "agent") -> int:
        """How many scripts the newest session of `label` has not begun; raises `LookupError`."""
        return Record(self._sessions(label)[-1]).remaining()

    def close(self) -> None:
        """Close every gate and remove the directory. Idempotent."""
        if self._closed:
            return
        self._closed = True
        for waiting in (one for queue in self._waiting.values() for one in queue):
            waiting.link.close()
        self._door.close()
        shutil.rmtree(self._path, ignore_errors=True)

    def __enter__(self) -> Stage:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _admit(self, tag: str, timeout_s: float) -> None:
        if timeout_s <= 0:
            raise TimeoutError(f"no worker came to gate {tag!r}")
        self._door.settimeout(timeout_s)
        try:
            link = self._door.accept()[0]
        except TimeoutError:
            raise TimeoutError(f"no worker came to gate {tag!r}") from None
        with link.makefile("rb") as lines:
            line = lines.readline()
        if not line:  # killed between arriving and saying where
            link.close()
            return
        said = json.loads(line)
        self._waiting.setdefault(said["tag"], deque()).append(_Waiting(link, said["pid"]))

    def _sessions(self, label: str) -> list[str]:
        paths = [path for known, path in _read_lines(os.path.join(self._path, "sessions")) if known == label]
        if not paths:
            raise LookupError(f"no session is known as {label!r}")
        return paths


@attrs.frozen
class Record:
    """What one scripted session was asked, in files: it outlives every worker that is killed on the way."""

    path: str

    @classmethod
    def begin(cls, root: str | None, label: str, scripts: int) -> Record:
        """Make the record of a new session in `root`; None: in a private temporary directory of its own."""
        path = tempfile.mkdtemp(prefix="gen_agent-scripted-", dir=root)
        _append(os.path.join(path, "scripts"), scripts)
        if root is not None:
            _append(os.path.join(root, "sessions"), [label, path])
        return cls(path)

    def take(self, prompt: str) -> int:
        """Note `prompt` before anything else happens; return the number of the script that is its turn."""
        number = len(self.prompts())
        _append(os.path.join(self.path, "prompts"), prompt)
        return number

    def prompts(self) -> tuple[str, ...]:
        """The prompts so far, in order; raises `LookupError` once the session has ended and taken them
        along.
        """
        if not os.path.isdir(self.path):
            raise LookupError("this session has ended")
        return tuple(_read_lines(os.path.join(self.path, "prompts")))

    def remaining(self) -> int:
        """How many scripts have not begun."""
        used = len(self.prompts())
        return max(0, int(_read_lines(os.path.join(self.path, "scripts"))[0]) - used)

    def end(self) -> None:
        """Remove the files. Idempotent."""
        shutil.rmtree(self.path, ignore_errors=True)


def _append(path: str, value: Any) -> None:
    # One write to a file opened for appending: whole lines, also from two processes.
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(file, json.dumps(value).encode() + b"\n")
    finally:
        os.close(file)


def _read_lines(path: str) -> list[Any]:
    try:
        with open(path, encoding="utf-8") as file:
            return [json.loads(line) for line in file]
    except FileNotFoundError:
        return []  # nothing was written yet
