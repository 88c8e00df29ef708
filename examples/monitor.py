"""Monitors: one Down for each, whatever ends an agent, after everything it has sent.

python examples/monitor.py
"""

from __future__ import annotations

import os
import signal

from gen_agent import Agent, AgentSystem, Completion, Down, NoReply


class Mortal(Agent):
    """Can't bear one word."""

    def init_agent(self, options):
        return {}, None

    def handle_response(self, ref, response, state):
        if "boo" in response.text:
            raise ValueError("told in no Down and no log")
        return NoReply(state)


def main() -> None:
    with AgentSystem() as agents:
        names = ("stopped", "drained", "frightened", "killed")
        address = {name: agents.start_agent(Mortal, name=name, backend="echo") for name in names}
        for name in names:
            agents.monitor(name)

        agents.stop("stopped")
        told_by(agents)
        agents.tell_with_completion("drained", "one last word")
        agents.drain("drained")
        told_by(agents)
        agents.tell("frightened", "boo")
        told_by(agents)
        os.kill(address["killed"].incarnation.pid, signal.SIGKILL)
        told_by(agents)

        agents.monitor(address["killed"])
        told_by(agents)


def told_by(agents) -> None:
    """Print what comes until an agent is down."""
    while not isinstance(message := agents.receive(), Down):
        if isinstance(message, Completion):
            print(message.agent, "said:", message.result().text)
    print(message.name, "is down:", message.reason, *message.detail)


if __name__ == "__main__":
    main()
