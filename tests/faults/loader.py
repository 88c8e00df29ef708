"""A script that gives the agents of a running system work, and accounts for every request.

    python -m tests.faults.loader PORT SCRIPT AGENTS ROUNDS

In each round every agent gets one prompt: of twenty, four are to be interrupted and one kills its worker. It
prints one line of JSON: what its requests came to, by what was wanted of them.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from typing import Any

import attrs

from gen_agent import Interrupted, WorkerCrashed
from gen_agent.actors.system import AgentSystem
from gen_agent.events import Response
from gen_agent.messages import Admission, Completion
from gen_agent.values import AgentAddress, RequestRef

PATIENCE_S = 240.0
LOOK_S = 0.02
HELD_S = 600

WANTED = ("interrupted", *["answered"] * 4, "interrupted", *["answered"] * 9, "interrupted", "crashed",
          "answered", "answered", "interrupted")  # fmt: skip
"""What is wanted of twenty requests in a row: 4 interrupted, 1 crashed."""

WORDS = {"answered": "", "interrupted": f"pause:{HELD_S}", "crashed": "exit:1"}


@attrs.frozen
class Request:
    """One prompt: whom it went to, its name, and what is wanted of it."""

    agent: AgentAddress
    name: str
    wanted: str

    def came_to(self, outcome: Any) -> str:
        """What its outcome is: what was wanted, if it is exactly that."""
        good = {
            "answered": isinstance(outcome, Response) and outcome.text == self.name,
            "interrupted": outcome == Interrupted(),
            "crashed": isinstance(outcome, WorkerCrashed),
        }
        return self.wanted if good[self.wanted] else f"{self.wanted}, but {type(outcome).__name__}"


class Loader:
    """One script's requests, and what has come back."""

    def __init__(self, agents: AgentSystem, script: str, count: int) -> None:
        self._agents, self._script = agents, script
        addresses = [agents.whereis(f"agent{number}") for number in range(count)]
        self._addresses = [address for address in addresses if address is not None]
        self._open: dict[RequestRef, Request] = {}
        self._held: dict[RequestRef, Request] = {}
        self.found: Counter[str] = Counter()

    def round(self, number: int) -> None:
        """One prompt for everybody, and its outcome."""
        for place, agent in enumerate(self._addresses):
            wanted = WANTED[(3 * number + place) % len(WANTED)]
            request = Request(agent, f"{self._script}-{number}-{place}", wanted)
            send = self._agents.tell_with_completion if place % 2 else self._agents.submit_with_completion
            ref = send(agent, f"{request.name} {WORDS[wanted]}")
            self._open[ref] = request
            self.found["admission due"] += not place % 2
            if wanted == "interrupted":
                self._held[ref] = request
        while self._open:
            self._interrupt()
            self._read(LOOK_S if self._held else PATIENCE_S)

    def _interrupt(self) -> None:
        for ref, request in list(self._held.items()):
            if self._agents.interrupt_request(request.agent, ref, timeout=PATIENCE_S) == "accepted":
                del self._held[ref]

    def _read(self, seconds: float) -> None:
        message = self._agents.receive(timeout=seconds)
        assert message is not None or self._held, "an outcome is missing"
        while message is not None:
            self._note(message)
            message = self._agents.receive(timeout=0.0)

    def _note(self, message: Any) -> None:
        if isinstance(message, Admission):
            self.found["admission due"] -= 1
            return
        assert isinstance(message, Completion)
        request = self._open.pop(message.ref, None)
        self.found["doubled" if request is None else request.came_to(message.outcome)] += 1

    def end(self) -> None:
        """Whatever comes now is one too many."""
        while (message := self._agents.receive(timeout=LOOK_S)) is not None:
            self._note(message)


def main(port: str, script: str, agents: str, rounds: str) -> None:
    """Attach, work, tell."""
    with AgentSystem.attach(int(port)) as system:
        loader = Loader(system, script, int(agents))
        for number in range(int(rounds)):
            loader.round(number)
        loader.end()
    print(json.dumps(+loader.found))


if __name__ == "__main__":
    main(*sys.argv[1:])
