"""Other machines for tests: a system in a process of its own here, or behind a cable in a network of its own.

`Neighbour` runs a system in another process of this machine, on another loopback address. `Machine` is a
network namespace with a host name and a table of processes of its own, at the end of a cable that can be
pulled; it needs root.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs

from gen_agent.actors.keys import new_key

ROOT = Path(__file__).resolve().parent.parent.parent

PROGRAM = (sys.executable, "-m", "tests.network.resident")


def write_key(path: Path) -> str:
    """A fresh key in a file that only we can read."""
    path.touch(mode=0o600)
    path.write_text(new_key().hex() + "\n")
    return str(path)


@attrs.define
class Resident:
    """A process with a system of its own, that does what it is told line by line."""

    process: subprocess.Popen[str]
    port: int = 0

    def tell(self, *words: Any) -> Any:
        """Have it do something; what it answers."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(words) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


@contextlib.contextmanager
def resident(options: Mapping[str, Any], *, inside: tuple[str, ...] = ()) -> Iterator[Resident]:
    """A system with these options of `AgentSystem`, in a process started through the command `inside`."""
    process = subprocess.Popen(
        [*inside, *PROGRAM, json.dumps(options)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process.stdin, process.stdout:
        try:
            one = Resident(process)
            one.port = json.loads(process.stdout.readline())
            yield one
            process.stdin.close()
            process.wait(20)
        finally:
            process.kill()
            process.wait()


def can_have_machines() -> bool:
    """Whether this kernel lets us make networks, host names and tables of processes."""
    tried = subprocess.run(
        ["unshare", "-n", "-u", "-p", "-f", "--mount-proc", "true"], capture_output=True, check=False
    )
    return os.geteuid() == 0 and tried.returncode == 0


@attrs.frozen
class Machine:
    """A machine of its own, and the cable between it and this one."""

    name: str
    here: str
    there: str

    @property
    def cable(self) -> str:
        """Our end of the cable."""
        return f"ga{self.name}0"

    @property
    def inside(self) -> tuple[str, ...]:
        """The command to run another one there."""
        script = f'hostname {self.name}; exec "$@"'
        unshare = ("unshare", "-u", "-p", "-f", "--kill-child", "--mount-proc")
        return ("ip", "netns", "exec", self.name, *unshare, "sh", "-c", script, "sh")

    def pull(self) -> None:
        """Pull the cable."""
        _run(f"ip link set {self.cable} down")

    def plug(self) -> None:
        """Put it in again."""
        _run(f"ip link set {self.cable} up")


def _run(command: str) -> None:
    subprocess.run(command.split(), check=True, capture_output=True)


@contextlib.contextmanager
def machine() -> Iterator[Machine]:
    """Another machine, at the end of a cable."""
    number = os.getpid() % 16_000
    net = f"10.213.{number // 64}.{number % 64 * 4}"
    first, _, last = net.rpartition(".")
    one = Machine(f"m{number}", f"{first}.{int(last) + 1}", f"{first}.{int(last) + 2}")
    _run(f"ip netns add {one.name}")
    try:
        _run(f"ip link add {one.cable} type veth peer name eth0 netns {one.name}")
        _run(f"ip addr add {one.here}/30 dev {one.cable}")
        one.plug()
        _run(f"ip -n {one.name} addr add {one.there}/30 dev eth0")
        _run(f"ip -n {one.name} link set eth0 up")
        _run(f"ip -n {one.name} link set lo up")
        yield one
    finally:
        subprocess.run(["ip", "link", "del", one.cable], capture_output=True, check=False)
        _run(f"ip netns del {one.name}")
