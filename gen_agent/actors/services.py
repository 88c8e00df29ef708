"""Services: processes that an actor system's guardian starts on request and owns, such as a model server.

Law: what a worker starts dies with the turn that is interrupted; what all agents share must therefore hang
from the guardian. A request is one datagram on a socket in the system's private directory (0700), with the
descriptor that becomes the service's standard output; only modules of this package are started. The
guardian is never blocked and never harmed by a request. This module must not know any service.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import subprocess
import sys
from typing import Any

SOCKET = "services"
"""The name of the socket in the system's directory."""

_LARGEST = 65_536
_log = logging.getLogger(__name__)


class ServiceDesk:
    """Takes requests for services and starts them as children of the calling process.

    For the guardian: wait for `fileno()` to be readable, then call `serve()`. Services see the death of their
    starter themselves (its pid is their first argument); `close` ends them.
    """

    def __init__(self, directory: str) -> None:
        self._path = os.path.join(directory, SOCKET)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        folder = os.open(directory, os.O_DIRECTORY | os.O_RDONLY)
        try:
            # Through the open directory, for a socket's path may not be long.
            self._socket.bind(f"/proc/self/fd/{folder}/{SOCKET}")
        finally:
            os.close(folder)
        self._running: dict[int, subprocess.Popen[bytes]] = {}

    def fileno(self) -> int:
        """The descriptor that is readable when a request waits."""
        return self._socket.fileno()

    def pids(self) -> frozenset[int]:
        """The services that run: children of the guardian that are no orphans. Reaps those that ended."""
        self._running = {pid: one for pid, one in self._running.items() if one.poll() is None}
        return frozenset(self._running)

    def serve(self) -> None:
        """Start what the waiting requests ask for; one that can't be served is logged by class and dropped.
        """
        while True:
            try:
                data, files, _, _ = socket.recv_fds(self._socket, _LARGEST, 4)
            except BlockingIOError:
                return
            try:
                self._start(json.loads(data), files)
            except (ValueError, TypeError, LookupError, OSError) as error:
                _log.warning("a request for a service was dropped: %s", type(error).__name__)
            finally:
                for file in files:
                    os.close(file)

    def _start(self, request: dict[str, Any], files: list[int]) -> None:
        module, arguments = request["module"], request["arguments"]
        if not isinstance(module, str) or not module.startswith("gen_agent.") or len(files) != 1:
            raise ValueError("not a service of this package")
        process = subprocess.Popen(
            [sys.executable, "-m", module, str(os.getpid()), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=files[0],
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._running[process.pid] = process

    def close(self) -> None:
        """End all services, wait for their end, and take no more requests. Idempotent."""
        for process in self._running.values():
            process.kill()
            process.wait()
        self._running = {}
        self._socket.close()
        if os.path.exists(self._path):
            os.unlink(self._path)
