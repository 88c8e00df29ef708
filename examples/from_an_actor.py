"""An actor of yours starts an agent, submits prompts to it and gets every answer as a message.

    python examples/from_an_actor.py
"""

from __future__ import annotations

import socket

from thespian.actors import Actor, ActorSystem

import gen_agent.actors  # noqa: F401  # makes the base "genAgentTCPBase" known to Thespian
from gen_agent import Admission, Agent, AgentClient, Completion, NoReply, Reply


class Echoer(Agent):
    """The smallest agent there is."""

    def init_agent(self, options):
        return {}, None

    def handle_response(self, ref, response, state):
        return NoReply(state)


class Coordinator(Actor):
    """Asks its agent three things and tells whoever started it what came back."""

    def __init__(self):
        super().__init__()
        self.agents = AgentClient(self)
        self.answers = []

    def receiveMessage(self, message, sender):
        match message:
            case ("go", questions):
                self.starter, self.questions = sender, questions
                self.agents.start_agent(Echoer, name="echoer", backend="echo")
            case Reply():
                agent = message.result()
                for question in self.questions:
                    self.agents.submit_with_completion(agent, question)
            case Admission(accepted=False):
                self.send(self.starter, [f"refused: {message.error.code}"])
            case Completion():
                self.answers.append(message.result().text)
                if len(self.answers) == len(self.questions):
                    self.send(self.starter, self.answers)


def main() -> None:
    system = ActorSystem("genAgentTCPBase", {"Admin Port": free_port()}, transientUnique=True)
    try:
        coordinator = system.createActor(Coordinator)
        for answer in system.ask(coordinator, ("go", ["one", "two", "three"]), 30):
            print(answer)
    finally:
        system.shutdown()


def free_port() -> int:
    """A port that nobody listens on: on Thespian's usual one it would join whatever system is there."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    main()
