"""Retries belong to the agent: the caller keeps one ref, waits once, and sees the last attempt only.

python examples/retry.py
"""

from __future__ import annotations

import attrs

from gen_agent import Agent, AgentSystem, Backend, BackendError, Event, NoReply, Prompt


class Overcrowded(Backend):
    """Refuses the first attempts of a request, as providers do."""

    def __init__(self, refuses):
        self.refuses = refuses

    def start_session(self):
        return None

    def prompt(self, session, prompt, turn):
        if turn.attempt <= self.refuses:
            raise BackendError("example", kind="rate_limited", retryable=True, status=429)
        yield Event.result(f"attempt {turn.attempt}: {prompt}")


@attrs.frozen
class Tries:
    """What is being tried, and how often it has failed."""

    prompt: str = ""
    failed: int = 0


class Patient(Agent):
    """Tries again what is worth trying again, so often and no oftener."""

    def init_agent(self, options):
        self.limit = options["limit"]
        return {"refuses": options["refuses"]}, Tries()

    def pre_turn(self, prompt, state):
        return super().pre_turn(prompt, attrs.evolve(state, prompt=prompt))

    def handle_response(self, ref, response, state):
        return NoReply(Tries())

    def handle_error(self, ref, error, state):
        state = attrs.evolve(state, failed=state.failed + 1)
        if isinstance(error, BackendError) and error.retryable and state.failed <= self.limit:
            return Prompt(state.prompt, state)
        return NoReply(Tries())


def main() -> None:
    with AgentSystem() as agents:
        agents.start_agent(Patient, name="patient", backend=Overcrowded, refuses=2, limit=3)
        print(agents.ask("patient", "hello").text)
        ref = agents.tell_with_completion("patient", "once more")
        print(agents.completion(ref).result().text)

        agents.start_agent(Patient, name="unlucky", backend=Overcrowded, refuses=9, limit=3)
        try:
            agents.ask("unlucky", "hello")
        except BackendError as error:
            print("given up:", error.kind)


if __name__ == "__main__":
    main()
