"""What is measured of gen_agent: agents that do nothing but answer, and systems that are always closed."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any

from gen_agent import Agent, AgentSystem, Backend, Event, NoReply
from gen_agent.actors.processes import descendants
from gen_agent.values import AgentAddress
from tests.benchmarks.floors import swept

OWN, STOCK = "genAgentTCPBase", "multiprocTCPBase"
LONG_S = 120.0
PLENTY = {"max_pending_prompts": 200_000, "max_pending_prompt_bytes": 1 << 30, "max_tell_results": 10}
"""Options for agents that much is queued for."""


class Plain(Agent):
    """Hands its options to its backend and keeps no state."""

    def init_agent(self, options: Mapping[str, Any]) -> tuple[Mapping[str, Any], Any]:
        """All options are the backend's."""
        return options, None

    def handle_response(self, ref: Any, response: Any, state: Any) -> NoReply:
        """Nothing more is to be done."""
        return NoReply(state)


class Playing(Backend):
    """Does what the prompt says: `stream COUNT`, `block`, or an echo. `history` messages are its session."""

    def __init__(self, history: int = 0) -> None:
        self._history = history

    def start_session(self) -> tuple[tuple[str, str], ...]:
        """As many messages as asked for, each a line long."""
        return tuple(("user", f"{number:06} " + "word " * 16) for number in range(self._history))

    def prompt(self, session: Any, prompt: str, turn: Any) -> Iterator[Event]:
        """Play."""
        word, _, argument = prompt.partition(" ")
        if word == "stream":
            for number in range(int(argument) - 1):
                yield Event.text(f"{number} ")
            yield Event.result("end")
        elif word == "block":
            yield from self._block()
        else:
            yield Event.result(f"echo: {prompt}")

    def _block(self) -> Iterator[Event]:
        # A tool in a session of its own: what a kill of the worker alone would leave behind.
        command = [sys.executable, "-c", "import time; time.sleep(600)"]
        tool = subprocess.Popen(command, start_new_session=True)
        yield Event.tool_use(pid=tool.pid)
        time.sleep(600)

    def update_session(self, session: Any, result: Event) -> Any:
        """One message more, one less."""
        return (*session[1:], ("user", f"{time.monotonic():06.0f} " + "word " * 16)) if session else session


@contextlib.contextmanager
def ours(base: str = OWN) -> Iterator[AgentSystem]:
    """A system of gen_agent on a base, closed and swept up at the end."""
    with swept(), AgentSystem(base) as system:
        yield system


def started(system: AgentSystem, name: Any = "a", backend: Any = "echo", **options: Any) -> AgentAddress:
    """One more agent."""
    return system.start_agent(Plain, name=name, backend=backend, **options)


def crew(system: AgentSystem, count: int, **options: Any) -> list[AgentAddress]:
    """That many agents."""
    return [started(system, number, **options) for number in range(count)]


def processes(agents: list[AgentAddress]) -> list[int]:
    """The processes of these agents and their workers."""
    own = [agent.incarnation.pid for agent in agents]
    return [*own, *(child.pid for pid in own for child in descendants(pid))]


def alive(pid: int) -> bool:
    """Whether there is such a process."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def pss_megabytes(pids: list[int]) -> float:
    """The memory of these processes, shared pages by their share, in megabytes."""
    total = 0
    for pid in pids:
        with open(f"/proc/{pid}/smaps_rollup") as lines:
            total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total / 1024
