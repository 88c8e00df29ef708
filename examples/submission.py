"""Submitting with permits: one for each outstanding request, given back only by what proves it is over.

python examples/submission.py
"""

from __future__ import annotations

from gen_agent import Admission, Agent, AgentSystem, Completion, Down, GenAgentError, NoReply


class Worker(Agent):
    """Answers whatever it is asked."""

    def init_agent(self, options):
        return {}, None

    def handle_response(self, ref, response, state):
        return NoReply(state)


class Permits:
    """So many requests may be out at once.

    A permit comes back with a rejection, a completion, a confirmed cancel, or the agent's Down. An admission
    is none of these, and the lack of one no reason to submit again: every submit is new work.
    """

    def __init__(self, agents, limit):
        self.agents, self.free, self.out = agents, limit, {}

    def submit(self, agent, prompt, **options):
        assert self.free, "no permit is left"
        self.free -= 1
        ref = self.agents.submit_with_completion(agent, prompt, **options)
        self.out[ref] = (agent, prompt)
        return ref

    def cancel(self, agent, ref):
        if self.agents.cancel_request(agent, ref) == "cancelled":
            self.give_back(ref, "cancelled")

    def hear(self, message):
        match message:
            case Admission(accepted=False):
                self.give_back(message.ref, f"rejected, {message.error.code}")
            case Completion():
                outcome = message.outcome
                self.give_back(
                    message.ref, outcome.code if isinstance(outcome, GenAgentError) else outcome.text
                )
            case Down():
                for ref in [ref for ref, (agent, _) in self.out.items() if agent == message.agent]:
                    self.give_back(ref, f"its agent is down, {message.reason}")

    def give_back(self, ref, why):
        _, prompt = self.out.pop(ref, (None, None))
        if prompt is not None:  # the completion of a cancelled request comes as well, and gives back nothing
            self.free += 1
            print(f"{prompt}: {why}")

    def wait_until_out(self, many):
        while len(self.out) > many:
            self.hear(self.agents.receive())


def main() -> None:
    with AgentSystem() as agents:
        agent = agents.start_agent(Worker, name="worker", backend="echo")
        agents.monitor(agent)
        permits = Permits(agents, 3)
        agents.halt(agent)
        permits.submit(agent, "waits for the resume")
        cancelled = permits.submit(agent, "is taken back")
        permits.submit(agent, "would not wait", on_halt="fail")
        permits.wait_until_out(2)
        permits.cancel(agent, cancelled)
        agents.resume(agent)
        permits.wait_until_out(0)

        agents.halt(agent)
        permits.submit(agent, "is never run")
        agents.stop(agent)
        permits.wait_until_out(0)
        print(permits.free, "permits are free")


if __name__ == "__main__":
    main()
