"""What a test of the contract works with: agents that do as told, a stage that holds them, their diary."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from typing import Any

import attrs

from gen_agent.actors.processes import ProcessId, Watched
from gen_agent.actors.system import Client
from gen_agent.backends.stage import Stage
from gen_agent.errors import GenAgentError
from gen_agent.messages import Completion, Down
from gen_agent.values import AgentAddress, MonitorRef, RequestRef
from tests.contract.cast import Act, Puppet
from tests.contract.stagehand import Stagehand

PATIENCE_S = 20.0
"""How long anything may take that has to come."""

BUSY_S = 0.2
"""How long an answer is not waited for that can't come while a gate is closed."""

Book = dict[tuple[str, str], Act]


@attrs.define
class Troupe:
    """One client, its stage and its agents."""

    agents: Client
    stage: Stage
    base: str
    diary: str | None = None
    more: Callable[[], Client] = attrs.field(default=None)

    def start(self, name: Any = "a", book: Book | None = None, **options: Any) -> AgentAddress:
        """Start an agent with a book; it answers every prompt with the prompt's first word."""
        given = {"backend": Stagehand, "stage": self.stage.address, "diary": self.diary, **options}
        return self.agents.start_agent(Puppet, name=name, book=book or {}, **given)

    def hold(self, agent: Any, prompt: str = "held hold:here") -> RequestRef:
        """Have a turn held at the gate "here", and return its ref once it is."""
        ref = self.agents.tell_with_completion(agent, prompt)
        self.stage.wait_blocked("here", PATIENCE_S)
        return ref

    def release(self, tag: str = "here") -> None:
        """Open a gate for whoever has waited there longest."""
        self.stage.release(tag, PATIENCE_S)

    def lines(self, agent: Any) -> list[str]:
        """One line for every callback that has left its state, in order; also a barrier."""
        return [*self.agents.status(agent).agent_state.lines]

    def refs(self, agent: Any) -> list[RequestRef]:
        """The refs of all decisions so far."""
        return [*self.agents.status(agent).agent_state.refs]

    def written(self) -> list[str]:
        """The lines of the diary so far."""
        assert self.diary is not None
        with open(self.diary) as file:
            return file.read().splitlines()

    def outcome(self, ref: RequestRef) -> Any:
        """The text of a completion's response, or the code of its error."""
        return told(self.agents.completion(ref, timeout=PATIENCE_S))

    def outcomes(self, *refs: RequestRef) -> list[Any]:
        """Those of several."""
        return [self.outcome(ref) for ref in refs]

    def ask(self, agent: Any, prompt: str) -> Any:
        """The text of the response to a blocking ask, or the code of its error."""
        try:
            return self.agents.ask(agent, prompt, timeout=PATIENCE_S).text
        except GenAgentError as error:
            return error.code

    def asking(self, agent: Any, prompt: str) -> Asking:
        """A blocking ask that goes on beside the test."""
        return Asking(self.more(), agent, prompt)

    def next(self, kind: type = object) -> Any:
        """The next message of that kind."""
        message = self.agents.receive(lambda one: isinstance(one, kind), timeout=PATIENCE_S)
        assert message is not None, f"no {kind.__name__} came"
        return message

    def until_end(self, agent: AgentAddress) -> list[Any]:
        """Everything the agent has sent to this script so far: what comes before one more request of its
        own."""
        last = self.agents.submit_with_completion(agent, "end-of-test")
        found: list[Any] = []
        while True:
            message = self.next()
            if getattr(message, "ref", None) == last:
                if isinstance(message, Completion):
                    return found
            else:
                found.append(message)

    def until_down(self, monitor: MonitorRef) -> tuple[list[Any], Down]:
        """Everything that came before the `Down` of that monitor, and it."""
        found: list[Any] = []
        while not (isinstance(message := self.next(), Down) and message.monitor == monitor):
            found.append(message)
        return found, message

    def until(self, fact: Callable[[], bool]) -> None:
        """Wait until something is so that only asking tells."""
        for _ in range(2_000):
            if fact():
                return
            assert self.agents.receive(lambda _: False, timeout=0.01) is None
        raise AssertionError("it never became so")


def told(completion: Completion | None) -> Any:
    """What a completion says: the text of its response, or the code of its error."""
    assert completion is not None, "no completion came"
    outcome = completion.outcome
    return outcome.code if isinstance(outcome, GenAgentError) else outcome.text


def process_of(agent: AgentAddress) -> Watched:
    """The process of an agent, to be watched."""
    return Watched(ProcessId(agent.incarnation.pid, agent.incarnation.start_time))


def parent_of(pid: int) -> int:
    """The parent of a process."""
    with open(f"/proc/{pid}/stat") as file:
        return int(file.read().rpartition(")")[2].split()[1])


class Asking(threading.Thread):
    """A blocking ask in a thread with a client of its own."""

    def __init__(self, client: Client, agent: Any, prompt: str) -> None:
        super().__init__()
        self._work = lambda: client.ask(agent, prompt, timeout=PATIENCE_S)
        self._outcome: Any = None
        self.start()

    def run(self) -> None:
        """Ask."""
        try:
            self._outcome = self._work().text
        except GenAgentError as error:
            self._outcome = error

    def ended(self) -> Any:
        """Wait for the end: the text of the response, or the error."""
        self.join(2 * PATIENCE_S)
        assert self._outcome is not None, "a blocking ask never ended"
        return self._outcome


def kill(agent: AgentAddress) -> None:
    """Kill an agent's process, and no other, least of all this one."""
    assert agent.incarnation.pid != os.getpid()
    with process_of(agent) as process:
        process.signal(signal.SIGKILL)
