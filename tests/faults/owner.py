"""A script that owns a busy system, for tests that end it in every way a script can end.

    python -m tests.faults.owner BASE DIRECTORY WAY

It writes what has to go with it into DIRECTORY/everyone, reads a line, and then ends in its way.
"""

from __future__ import annotations

import os
import signal
import sys
import threading

from gen_agent.actors.processes import become_subreaper, descendants
from gen_agent.actors.system import AgentSystem
from gen_agent.backends.stage import Stage
from tests.faults.cast import Faulty, Witness, append

AGENTS = 2


def main(base: str, directory: str, way: str) -> None:
    """Start agents, have each of them held with tools of its own, and end."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # what is run by nohup ignores it, and so do its children
    if base == "multiprocTCPBase":
        become_subreaper()  # there the admin leaves its starter, and would not be found below it
    with Stage() as stage, AgentSystem(base) as agents:
        forward = {"stage": stage.address, "journal": f"{directory}/journal"}
        for number in range(AGENTS):
            address = agents.start_agent(
                Witness, name=number, backend=Faulty, forward=forward, mark=f"{directory}/mark"
            )
            agents.tell_with_completion(address, f"turn{number} tools:{directory}/tools hold:{number}")
            agents.tell(address, f"queued{number}")
            stage.wait_blocked(str(number), 30.0)
        for process in descendants(os.getpid()):
            append(f"{directory}/everyone", f"{process.pid} {process.start_time}")
        print("ready", flush=True)
        WAYS[way](agents)


def _asks(agents: AgentSystem) -> None:
    agents.ask(0, "never answered")


def _waits(_: AgentSystem) -> None:
    signal.pause()


def _raises(_: AgentSystem) -> None:
    raise ValueError("on purpose")


def _exits(_: AgentSystem) -> None:
    sys.exit(3)


def _exits_hard(_: AgentSystem) -> None:
    os._exit(4)


def _exits_from_a_thread(_: AgentSystem) -> None:
    threading.Thread(target=lambda: os.kill(os.getpid(), signal.SIGKILL)).start()
    signal.pause()


def _aborts(_: AgentSystem) -> None:
    os.abort()


WAYS = {
    "asks": _asks,
    "waits": _waits,
    "raises": _raises,
    "exits": _exits,
    "exits hard": _exits_hard,
    "killed by a thread": _exits_from_a_thread,
    "aborts": _aborts,
}

if __name__ == "__main__":
    main(*sys.argv[1:])
