"""An agent is a process that owns one conversation: start it, ask it, tell it something, poll the outcome.

    python examples/hello.py
"""

from __future__ import annotations

import attrs

from gen_agent import PENDING, Agent, AgentSystem, NoReply, RequestRef, Response


@attrs.frozen
class CoderState:
    """What the agent keeps between turns."""

    path: str
    replies: tuple[str, ...] = ()


class Coder(Agent):
    """Remembers what its model answered."""

    def init_agent(self, options):
        return {}, CoderState(options["cwd"])

    def handle_response(self, ref: RequestRef, response: Response, state: CoderState):
        return NoReply(attrs.evolve(state, replies=(*state.replies, response.text)))


def main() -> None:
    with AgentSystem() as agents:
        agents.start_agent(Coder, name="coder", backend="echo", cwd=".")
        print(agents.ask("coder", "hello").text)

        ref = agents.tell("coder", "and now without waiting")
        agents.ask("coder", "one turn at a time, in order")
        assert agents.poll("coder", ref) is not PENDING
        print(agents.poll("coder", ref).text)

        for event in agents.stream("coder", "as it comes"):
            print(event.kind, end=" ")
        print()
        print(len(agents.status("coder").agent_state.replies), "replies kept")


if __name__ == "__main__":
    main()
