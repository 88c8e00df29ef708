"""Finds the model server of this actor system, or has one started.

Law: a server is shared through the directory of its actor system and belongs to the guardian, which starts
it on request, because everything a worker starts dies with the turn that is interrupted. Where no guardian
offers that, the process that needs a server has one of its own, which ends with it. This module must not
know the SDK or the model.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
from typing import Any

import attrs

from gen_agent.backends.local_state import ServerFiles
from gen_agent.errors import StartError

SYSTEM_DIRECTORY = "GEN_AGENT_SYSTEM_DIR"
SERVICES = "services"
SERVER_MODULE = "gen_agent.backends.local_server"
START_TIMEOUT_S = 60.0


@attrs.frozen
class ModelSpec:
    """Which model, and how it is served; equal specs share a server."""

    path: str
    n_ctx: int
    n_threads: int
    slots: int

    def to_json(self) -> str:
        """The spec as the server's argument."""
        return json.dumps(attrs.asdict(self), sort_keys=True)


@attrs.define
class ServerHandle:
    """A running server: where it is and its key; `files` where it is shared, `process` where it is our own.
    """

    base_url: str
    api_key: str = attrs.field(repr=False)
    files: ServerFiles | None = None
    process: subprocess.Popen[bytes] | None = None
    owner: int = attrs.field(factory=os.getpid)

    def alive(self) -> bool:
        """Whether the server still runs, and is ours to use in this process."""
        if self.process is not None:
            return self.owner == os.getpid() and self.process.poll() is None
        said = self.files.read() if self.files is not None else None
        # Somebody may have replaced it meanwhile: a server that lives is not yet this one.
        return said is not None and said["base_url"] == self.base_url

    def release(self) -> None:
        """End the server if it is this process's own. Idempotent."""
        if self.process is not None and self.owner == os.getpid():
            self.process.kill()
            self.process.wait()
            self.process = None


def find_server(spec: ModelSpec) -> ServerHandle:
    """The server for `spec`: the running one of this actor system, else a new one.

    Blocks while a model is loaded, at most `START_TIMEOUT_S` seconds. Raises `StartError` with what the
    server said.
    """
    directory = os.environ.get(SYSTEM_DIRECTORY)
    if directory is None or not os.path.exists(os.path.join(directory, SERVICES)):
        return _start_own(spec)
    files = ServerFiles.of(directory, spec.to_json())
    if known := files.read():
        return ServerHandle(known["base_url"], known["api_key"], files)
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            _request(directory, spec, theirs)
        said = _first_words(ours)
    return ServerHandle(said["base_url"], said["api_key"], files)


def _start_own(spec: ModelSpec) -> ServerHandle:
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            process = subprocess.Popen(
                [sys.executable, "-m", SERVER_MODULE, str(os.getpid()), spec.to_json()],
                stdin=subprocess.DEVNULL,
                stdout=theirs.fileno(),
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        try:
            said = _first_words(ours)
        except BaseException:
            process.kill()
            process.wait()
            raise
    return ServerHandle(said["base_url"], said["api_key"], process=process)


def _request(directory: str, spec: ModelSpec, answer: socket.socket) -> None:
    request = {"module": SERVER_MODULE, "arguments": [spec.to_json(), directory]}
    # The address is a path inside a directory held open: such a path is never too long for a socket.
    folder = os.open(directory, os.O_DIRECTORY | os.O_RDONLY)
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as desk:
            desk.connect(f"/proc/self/fd/{folder}/{SERVICES}")
            socket.send_fds(desk, [json.dumps(request).encode()], [answer.fileno()])
    except OSError as error:
        raise StartError(f"backend local: the actor system takes no requests ({error.strerror})") from error
    finally:
        os.close(folder)


def _first_words(answer: socket.socket) -> dict[str, Any]:
    """The one line a server says once it is ready, or why it is not."""
    answer.settimeout(START_TIMEOUT_S)
    line = b""
    with contextlib.suppress(TimeoutError), answer.makefile("rb") as lines:
        line = lines.readline()
    if not line:
        raise StartError("backend local: the model server ended, or did not begin, without a word")
    said: dict[str, Any] = json.loads(line)
    if "error" in said:
        raise StartError(f"backend local: {said['error']}")
    return said
