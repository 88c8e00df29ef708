"""Draining: nothing new is taken, the active turn ends as ever, and then the process does.

python examples/drain.py
"""

from __future__ import annotations

import time

from gen_agent import Agent, AgentNotFound, AgentSystem, Backend, Down, Draining, Event, NoReply


class Slow(Backend):
    """Takes a while."""

    def start_session(self):
        return None

    def prompt(self, session, prompt, turn):
        time.sleep(1)
        yield Event.result(f"done: {prompt}")


class Plain(Agent):
    """Keeps nothing."""

    def init_agent(self, options):
        return {}, None

    def handle_response(self, ref, response, state):
        return NoReply(state)


def main() -> None:
    with AgentSystem() as agents:
        agents.start_agent(Plain, name="plain", backend=Slow)
        agents.monitor("plain")
        active = agents.tell_with_completion("plain", "the active turn")
        queued = agents.tell_with_completion("plain", "a queued one")
        agents.drain("plain")
        print("the agent has ended:", agents.receive(lambda message: isinstance(message, Down)).reason)
        print(agents.completion(active).result().text)
        try:
            agents.completion(queued).result()
        except Draining:
            print("what was queued was refused")
        try:
            agents.ask("plain", "anybody there?")
        except AgentNotFound:
            print("the name is free")


if __name__ == "__main__":
    main()
