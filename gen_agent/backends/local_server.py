"""The process of a model server: ``python -m gen_agent.backends.local_server STARTER SPEC [DIRECTORY]``.

Law: it says one line on its standard output (where it listens, or why it can't), serves, and ends when the
process that started it does. With a directory there is one server per spec: who comes second tells where
the first one is. It listens on the loopback interface with a key of its own, which only that line and a
private file hold.
"""

from __future__ import annotations

import json
import os
import secrets
import select
import socket
import sys
import time
import urllib.parse
from typing import Any

from gen_agent.backends.local_state import ServerFiles

_LISTEN_S = 10.0


def serve(spec: dict[str, Any], key: str) -> Any:
    """Load the model and listen; returns the server, which lives as long as the object. Raises what loading
    raises.
    """
    import xllamacpp  # an optional extra, and only this process needs it

    params = xllamacpp.CommonParams()
    params.model.path = spec["path"]
    params.model_alias = {"local"}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [key]
    params.n_ctx = spec["n_ctx"]
    params.n_parallel = spec["slots"]
    params.n_gpu_layers = 0
    params.n_threads_http = spec["slots"] + 2
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = spec["n_threads"]
    params.cache_ram_mib = 0
    params.warmup = params.ui = params.endpoint_slots = params.fit_params = False
    params.verbosity = -1
    return xllamacpp.Server(params)


def _say(said: dict[str, Any]) -> None:
    try:
        os.write(1, json.dumps(said).encode() + b"\n")
    except BrokenPipeError:
        return  # who asked is gone; the server is there for the next one
    finally:
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, 1)
        os.close(nowhere)


def _wait_listening(address: str) -> None:
    # The server tells its port a moment before it listens there.
    where = urllib.parse.urlsplit(address)
    place = (where.hostname or "", where.port or 0)
    until = time.monotonic() + _LISTEN_S
    while True:
        try:
            socket.create_connection(place, _LISTEN_S).close()
            return
        except ConnectionRefusedError:
            if time.monotonic() > until:
                raise
            time.sleep(0.001)


def _open(spec: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    key = secrets.token_urlsafe(24)
    server = serve(spec, key)
    _wait_listening(server.listening_address)
    return server, {"base_url": f"{server.listening_address}/v1", "api_key": key}


def _open_shared(spec: dict[str, Any], files: ServerFiles) -> tuple[Any, dict[str, Any]]:
    with files.starting():
        if known := files.read():
            return None, known
        server, said = _open(spec)
        files.announce(said)
        return server, said


def main(argv: list[str]) -> int:
    """Serve `argv[1]` (a spec in JSON) until the process `argv[0]` ends; shared through the directory
    `argv[2]`.
    """
    starter = int(argv[0])
    watched = os.pidfd_open(starter)
    if os.getppid() != starter:
        return 1  # it ended before it could be watched
    try:
        if len(argv) > 2:
            server, said = _open_shared(json.loads(argv[1]), ServerFiles.of(argv[2], argv[1]))
        else:
            server, said = _open(json.loads(argv[1]))
    except Exception as error:
        _say({"error": f"the model can't be served: {error}"})
        return 1
    _say(said)
    if server is not None:
        select.select([watched], [], [])
        # The server's own way out waits for requests that still run, for half a minute and more.
        os._exit(0)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
