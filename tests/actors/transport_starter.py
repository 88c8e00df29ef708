"""A process that starts a system and waits: `python -m tests.actors.transport_starter owned|named [port]`.

Prints one line of JSON with the pids it knows; `owned` then waits for its standard input to end.
"""

from __future__ import annotations

import json
import os
import sys

from thespian.actors import ActorSystem

import gen_agent.actors  # noqa: F401  (makes the name of our base known)
from gen_agent.actors.processes import children, descendants
from tests.actors.transport_actors import Keeper, Mirror
from tests.actors.transport_system import QUIET, running


def owned() -> None:
    """Own a system with a parent and its child until the input ends or we are killed."""
    with running() as system:
        keeper = system.create(Keeper)
        child = system.actors.ask(keeper, "child", 10)
        admin = next(process.pid for process in children(os.getpid()) if process.alive())
        known = {"admin": admin, "keeper": system.pid(keeper), "child": child}
        print(json.dumps({**known, "all": [process.pid for process in descendants(os.getpid())]}), flush=True)
        sys.stdin.read()


def named(port: int) -> None:
    """Start a system nobody owns, with one actor under a global name, and leave it."""
    system = ActorSystem("genAgentTCPBase", {"Admin Port": port}, QUIET, transientUnique=True)
    mirror = system.createActor(Mirror, globalName="mirror")
    print(json.dumps({"mirror": system.ask(mirror, "pid", 10)}), flush=True)


if __name__ == "__main__":
    owned() if sys.argv[1] == "owned" else named(int(sys.argv[2]))
