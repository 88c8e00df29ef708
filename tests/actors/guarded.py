"""Systems under a guardian for tests: as a handle here, or owned by a script of its own; and what is left of
one."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
from thespian.actors import ActorSystem

from gen_agent.actors.base import GenAgentBase
from gen_agent.actors.guardian import GuardianHandle, SystemInfo, start_guardian
from gen_agent.actors.keys import key_path
from gen_agent.actors.processes import ProcessId, Watched, descendants
from gen_agent.actors.sockets import listener
from gen_agent.actors.transport import transport_class
from gen_agent.client.protocol import SUPERVISOR as SUPERVISOR_NAME
from tests.actors import standins

OWNER = '''
import json, os, signal, sys
sys.path.insert(0, sys.argv[1])
from gen_agent.actors.guardian import start_guardian
from gen_agent.actors.processes import descendants
handle = start_guardian(supervisor="tests.actors.standins.StandInSupervisor", owned=sys.argv[3] == "owned")
info = handle.info
everyone = [info.guardian, *descendants(info.guardian.pid)]
def leave():
    sys.stdin.read()
def close():
    leave()
    handle.close()
def fork():
    if os.fork() == 0:
        os.close(1)
        signal.pause()
    leave()
def detach():
    handle.detach()
try:
    print(json.dumps([[p.pid, p.start_time] for p in everyone] + [info.port]), flush=True)
    globals()[sys.argv[2]]()
except KeyboardInterrupt:
    handle.close()
'''
ROOT = str(Path(__file__).parents[2])


@contextlib.contextmanager
def guarded(**options: Any) -> Iterator[GuardianHandle]:
    """A system whose supervisor is a stand-in, closed at the end."""
    handle = start_guardian(**{"supervisor": standins.SUPERVISOR, **options})
    try:
        yield handle
    finally:
        handle.close()


@contextlib.contextmanager
def joined(info: SystemInfo) -> Iterator[tuple[ActorSystem, Any]]:
    """A client in a system, and its supervisor's address."""
    transport = transport_class(info.key, die_with_parent=False)
    base = GenAgentBase(transport, {"Admin Port": info.port}, start_admin=False)
    system = ActorSystem(base, transientUnique=True)
    try:
        yield system, system.createActor(standins.StandInSupervisor, globalName=SUPERVISOR_NAME)
    finally:
        system._systemBase.transport.close()


@attrs.define
class Everyone:
    """All processes of a system as they were at one moment, held so that each one's end can be waited for."""

    port: int
    directory: Path | None
    watched: list[Watched]

    @classmethod
    def of(cls, info: SystemInfo) -> Everyone:
        """All of a running system now."""
        everyone = (info.guardian, *descendants(info.guardian.pid))
        return cls(info.port, Path(info.directory), [Watched(one) for one in everyone])

    def gone_within(self, limit_s: float) -> float:
        """Wait for the end of all; how long it took in seconds, or fails naming who lives."""
        started = time.monotonic()
        alive = [one.identity for one in self.watched if not one.wait(started + limit_s - time.monotonic())]
        for one in self.watched:
            one.close()
        assert alive == []
        return time.monotonic() - started

    def left_nothing(self) -> None:
        """The port is free and the files are gone."""
        listener("127.0.0.1", self.port).close()
        assert not key_path(self.port).exists()
        assert self.directory is None or not self.directory.exists()


@contextlib.contextmanager
def owner(what: str, *, owned: bool = True) -> Iterator[tuple[subprocess.Popen[str], Everyone]]:
    """A script in a process group of its own that owns a system and then does `what` when its input ends."""
    script = subprocess.Popen(
        [sys.executable, "-c", OWNER, ROOT, what, "owned" if owned else "alone"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert script.stdin is not None
    assert script.stdout is not None
    with script.stdin, script.stdout:
        *everyone, port = json.loads(script.stdout.readline())
        try:
            yield script, Everyone(port, None, [Watched(ProcessId(*one)) for one in everyone])
        finally:
            script.send_signal(signal.SIGKILL)
            script.wait()
