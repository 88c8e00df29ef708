"""A turn stuck in C code, holding the interpreter lock, with a tool still running: interrupted all the same.

    python examples/blocked_turn.py
"""

from __future__ import annotations

import ctypes
import subprocess
import time

from gen_agent import Agent, AgentSystem, Backend, Event, Interrupted, NoReply


class Stuck(Backend):
    """Answers until it is told to block."""

    def start_session(self):
        return None

    def prompt(self, session, prompt, turn):
        if prompt == "block":
            subprocess.Popen(["sleep", "60"], start_new_session=True)
            yield Event.text("stuck")
            ctypes.PyDLL(None).sleep(60)
        yield Event.result(text=f"answered: {prompt}")


class Plain(Agent):
    """Keeps nothing."""

    def init_agent(self, options):
        return {}, None

    def handle_response(self, ref, response, state):
        return NoReply(state)


def main() -> None:
    with AgentSystem() as agents:
        agents.start_agent(Plain, name="plain", backend=Stuck)
        with agents.stream("plain", "block") as turn:
            print("first event:", next(iter(turn)).data["text"])
            began = time.perf_counter()
            print("interrupt:", agents.interrupt_request("plain", turn.ref))
            took = time.perf_counter() - began
            try:
                list(turn)
            except Interrupted as error:
                print("the turn:", error.code)
        print("next turn:", agents.ask("plain", "still there?").text)
        assert took < 1, f"the interrupt took {took:.3f} s"


if __name__ == "__main__":
    main()
