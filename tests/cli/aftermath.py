"""A program that has a table of processes to itself: what several crashes left there, and what a doctor makes
of it.

Two systems live: one that belongs to this program, one that belongs to nobody. Three are wrecks: the owner of
one was killed while its guardian was stopped, the guardian of another while an agent was, the guardian of the
third with nothing in its way. Prints one JSON object.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import Any

from gen_agent.actors.guardian_census import take_census
from gen_agent.actors.keys import key_path, write_key
from gen_agent.actors.processes import ProcessId, Watched
from gen_agent.actors.system import AgentSystem
from tests.actors.crew import Diary
from tests.cli.running import ROOT, environment, run

LONE = 7
"""The port of a key file that belongs to no system."""

OWNER = """
import sys
from gen_agent.actors.system import AgentSystem
from tests.actors.crew import Diary
with AgentSystem() as agents:
    agents.start_agent(Diary, name="owned", backend="echo")
    print(agents.admin_port, flush=True)
    sys.stdin.read()
"""


def standing(name: str) -> tuple[int, ProcessId]:
    """A system that nobody owns, with one agent: its port, and the agent's process."""
    port: int = json.loads(run("system", "start", "--json").stdout)["port"]
    with AgentSystem.attach(port) as agents:
        who = agents.start_agent(Diary, name=name, backend="echo").incarnation
    return port, ProcessId(who.pid, who.start_time)


def end(process: ProcessId) -> None:
    """Kill exactly that process, and wait for it."""
    with Watched(process) as watched:
        watched.signal(signal.SIGKILL)
        watched.wait()


def guardian_of(port: int) -> ProcessId:
    """The guardian of the system on that port."""
    (system,) = take_census(port).systems
    return system.place.guardian


def owner_killed() -> int:
    """A system whose owner was killed, and whose guardian is stopped."""
    command = [sys.executable, "-c", OWNER]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, cwd=ROOT, env=environment(), text=True, **pipes) as owner:
        assert owner.stdout is not None
        port = int(owner.stdout.readline())
        guardian_of(port).signal(signal.SIGSTOP)
        owner.kill()
    return port


def guardian_killed(*, stopped: bool) -> int:
    """A system whose guardian was killed, with its agent stopped before or not."""
    port, agent = standing("orphan")
    guardian = guardian_of(port)
    if stopped:
        agent.signal(signal.SIGSTOP)
    end(guardian)
    return port


def looked(*arguments: str) -> dict[str, Any]:
    """What the doctor says, of everything there is."""
    done = run("doctor", "--json", *arguments)
    return {"status": done.returncode, "errors": done.stderr, **json.loads(done.stdout)}


def main() -> None:
    """Make the wrecks, look, clear, look again, and try what lives."""
    write_key(LONE)
    with AgentSystem() as mine:
        mine.start_agent(Diary, name="mine", backend="echo")
        free, _ = standing("free")
        wrecks = [guardian_killed(stopped=False), owner_killed(), guardian_killed(stopped=True)]
        seen = {"before": looked(), "clean": looked("--clean"), "after": looked()}
        with AgentSystem.attach(free) as agents:
            answers = [mine.ask("mine", "x", timeout=30).text, agents.ask("free", "y", timeout=30).text]
        run("system", "stop", "--port", str(free))
        living = [mine.admin_port, free]
    key_path(LONE).unlink()
    print(json.dumps({"living": living, "wrecks": wrecks, "answers": answers, **seen}))


if __name__ == "__main__":
    os.chdir(ROOT)
    main()
