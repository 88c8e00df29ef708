"""The scene of a fault: a busy agent with work of every kind queued, and what has to be true afterwards.

Whatever happens: every accepted request has exactly one outcome, or its submitter a `Down`; no turn ran
twice; an agent that should be alive answers. That nothing is left in the process table is checked after
every test of this project.
"""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs

from gen_agent import AgentDown, AgentNotFound, GenAgentError
from gen_agent.actors.processes import ProcessId, Watched, children
from gen_agent.actors.system import AgentSystem, Client
from gen_agent.backends.stage import Stage
from gen_agent.events import Response
from gen_agent.messages import Admission, Completion, Down
from gen_agent.values import AgentAddress, MonitorRef, RequestRef
from tests.faults.cast import Faulty, Witness, lines

PATIENCE_S = 30.0
QUIET_S = 0.05
"""How long nothing more comes after a barrier, where there can be none."""

TOLD = ("second", "third")
ASKED = "asked"
QUEUED = (*TOLD, ASKED)


class Asking(threading.Thread):
    """A blocking ask in a thread with a client of its own; `outcome` is there once it has ended."""

    def __init__(self, client: Client, target: Any, prompt: str) -> None:
        super().__init__()
        self._ask = lambda: client.ask(target, prompt, timeout=PATIENCE_S)
        self.outcome: Any = None
        self.start()

    def run(self) -> None:
        try:
            self.outcome = self._ask()
        except GenAgentError as error:
            self.outcome = error

    def ended(self) -> Any:
        """Wait for the end and return the outcome."""
        self.join(2 * PATIENCE_S)
        assert self.outcome is not None, "a blocking ask never ended"
        return self.outcome


@attrs.define
class Scene:
    """One busy agent: a turn is held at the gate "here", three more requests wait."""

    agents: AgentSystem
    client: Client
    stage: Stage
    journal: str
    address: AgentAddress
    monitor: MonitorRef
    refs: dict[str, RequestRef] = attrs.field(factory=dict)
    asking: Asking | None = None
    worker: ProcessId = ProcessId(0, 0)

    def fill(self, words: str) -> None:
        """Have a turn held, and requests of every kind queued behind it."""
        hold = f"first hold:here {words}"
        self.refs["first"] = self.agents.tell_with_completion(self.address, hold)
        self.worker = ProcessId.of(self.stage.wait_blocked("here"))
        self.refs["second"] = self.agents.submit_with_completion(self.address, "second")
        self.refs["third"] = self.agents.tell_with_completion("victim", "third")
        self.asking = Asking(self.client, "victim", ASKED)
        self.until(lambda: self.agents.runtime_snapshot(self.address).pending_prompts == len(QUEUED))

    def until(self, fact: Callable[[], bool]) -> None:
        """Wait until something is so, which only asking tells."""
        for _ in range(int(PATIENCE_S / 0.01)):
            if fact():
                return
            self.stay(0.01)
        raise AssertionError("it never became so")

    def stay(self, seconds: float) -> None:
        """Listen to nothing for a while."""
        assert self.agents.receive(lambda _: False, timeout=seconds) is None

    def release(self) -> None:
        """Let the held turn go on."""
        self.stage.release("here")

    # ---------------------------------------------------------------- afterwards

    def outcome(self, name: str) -> Any:
        """What became of a told request: its outcome, or the `AgentDown` that stands for it."""
        try:
            completion = self.agents.completion(self.refs[name], timeout=PATIENCE_S)
        except AgentDown as down:
            return down
        assert completion is not None, f"{name}: neither an outcome nor an end"
        return completion.outcome

    def outcomes(self) -> dict[str, Any]:
        """What became of everything, by name; a response stands as its text."""
        found = {name: self.outcome(name) for name in ("first", *TOLD)}
        if self.asking is not None:
            found[ASKED] = self.asking.ended()
        return {
            name: outcome.text if isinstance(outcome, Response) else outcome
            for name, outcome in found.items()
        }

    def rest(self, *, system_lives: bool = True) -> list[Any]:
        """Everything else that this script has been sent; that a system is gone is told after it."""
        found = []
        with contextlib.nullcontext() if system_lives else contextlib.suppress(AgentDown):
            while (message := self.agents.receive(timeout=QUIET_S)) is not None:
                found.append(message)
        return found

    def rest_now(self) -> list[Any]:
        """Everything that has come by now, without waiting."""
        found = []
        while (message := self.agents.receive(timeout=0.0)) is not None:
            found.append(message)
        return found

    def end_alive(self) -> None:
        """The agent is there and works, and nothing was told or run twice."""
        assert self.agents.ask(self.address, "last", timeout=PATIENCE_S).text == "last"
        rest = self.rest()
        assert [message for message in rest if not isinstance(message, Admission)] == []
        assert len(rest) == ("second" in self.refs), "one submit was admitted once"
        self.ran_once()
        state = self.agents.status(self.address).agent_state
        assert "ChildActorExited" not in state[1], "the end of a worker is nobody's but ours"
        snapshot = self.agents.runtime_snapshot(self.address)
        assert (snapshot.pending_prompts, snapshot.current_request) == (0, None)
        assert len(children(self.address.incarnation.pid)) <= 1, "more than a worker is left below the agent"

    def end_dead(self, reason: str, *, system_lives: bool = True) -> None:
        """The monitor gave one `Down` with that reason, and nothing came twice or later."""
        down = self.agents.receive(lambda message: isinstance(message, Down), timeout=PATIENCE_S)
        assert down is not None, "no Down"
        assert (down.monitor, down.agent, down.reason) == (self.monitor, self.address, reason)
        rest = self.rest(system_lives=system_lives)
        assert [message for message in rest if isinstance(message, (Down, Completion))] == []
        self.ran_once()

    def close(self) -> None:
        """End the agent, if it is there, and everything of this scene."""
        with contextlib.suppress(AgentDown, AgentNotFound):
            self.agents.stop("victim", timeout=PATIENCE_S)
        if self.asking is not None:
            self.asking.join(2 * PATIENCE_S)
        with contextlib.suppress(AgentDown):
            self.rest()

    def ran_once(self) -> None:
        """No turn was begun twice."""
        twice = {name for name, times in Counter(lines(self.journal)).items() if times > 1}
        assert twice == set()


@contextlib.contextmanager
def scene(
    agents: AgentSystem,
    tmp_path: Path,
    words: str | None = "",
    *,
    agent: type = Witness,
    backend: Any = Faulty,
    forward: dict[str, Any] | None = None,
    **options: Any,
) -> Iterator[Scene]:
    """An agent named "victim"; busy, its held turn to go on with `words`, unless these are None."""
    journal = str(tmp_path / "journal")
    with Stage() as stage, agents.private() as client:
        given = {"stage": stage.address, "journal": journal, **(forward or {})}
        address = agents.start_agent(agent, name="victim", backend=backend, forward=given, **options)
        made = Scene(agents, client, stage, journal, address, agents.monitor(address))
        try:
            if words is not None:
                made.fill(words)
            yield made
        finally:
            made.close()


def process_of(agent: AgentAddress) -> ProcessId:
    """An agent's process."""
    return ProcessId(agent.incarnation.pid, agent.incarnation.start_time)


def kill(process: ProcessId, number: int) -> None:
    """Send a signal to exactly that process, and wait for its end if it is one that ends it."""
    with Watched(process) as watched:
        watched.signal(number)
        assert watched.wait(PATIENCE_S)


def gone(path: Path) -> None:
    """Every process a backend has noted in that file is gone."""
    pids = [int(pid) for line in lines(str(path)) for pid in line.split()]
    assert pids, "no tool was started"
    alive = []
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            if ProcessId.of(pid).alive():
                alive.append(pid)
    assert alive == []
