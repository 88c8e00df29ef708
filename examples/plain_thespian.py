"""Nothing but Thespian: the agent is an actor class and every question is a message with a reply.

    python examples/plain_thespian.py
"""

from __future__ import annotations

import socket

from thespian.actors import ActorSystem

from gen_agent import Agent, NoReply
from gen_agent.actors import AgentActor
from gen_agent.messages import Ask, StartAgent, StopAgent


class Coder(Agent):
    """Counts its turns."""

    def init_agent(self, options):
        return {}, 0

    def handle_response(self, ref, response, state):
        return NoReply(state + 1)


def main() -> None:
    system = ActorSystem("multiprocTCPBase", {"Admin Port": free_port()}, transientUnique=True)
    try:
        actor = system.createActor(AgentActor)
        started = system.ask(actor, StartAgent(Coder, name="coder", backend="echo", options={"cwd": "."}), 30)
        print(started.result().name)
        print(system.ask(actor, Ask("hello"), 60).result().text)
        system.ask(actor, StopAgent(), 10)
    finally:
        system.shutdown()


def free_port() -> int:
    """A port that nobody listens on right now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    main()
