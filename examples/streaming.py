"""Events as they come: iterated over, broken off in the middle, or sent to somebody else in batches.

python examples/streaming.py
"""

from __future__ import annotations

import time

from gen_agent import Agent, AgentSystem, Backend, Completion, Event, EventBatch, NoReply


class Poet(Backend):
    """Says a poem line by line; told to go on, it never ends."""

    def start_session(self):
        return None

    def prompt(self, session, prompt, turn):
        yield Event.text("roses are red\n")
        yield Event.text("violets are blue\n")
        while prompt == "go on":
            yield Event.text("and so on\n")
            time.sleep(0.01)
        yield Event.usage(input_tokens=2, output_tokens=6)
        yield Event.result()


class Reciter(Agent):
    """Counts the events in its state, where they arise."""

    def init_agent(self, options):
        return {}, 0

    @classmethod
    def handle_stream_event(cls, event, state):
        return state + 1

    def handle_response(self, ref, response, state):
        return NoReply(state)


def main() -> None:
    with AgentSystem() as agents:
        agents.start_agent(Reciter, name="reciter", backend=Poet)
        with agents.stream("reciter", "a poem") as stream:
            for event in stream:
                print(event.kind, event.data.get("text", "").strip())
        print(
            stream.response.usage["output_tokens"], "tokens,", agents.status("reciter").agent_state, "events"
        )

        with agents.stream("reciter", "go on") as stream:
            for event in stream:
                if event.data["text"].startswith("and"):
                    break  # leaving the block interrupts exactly this request
        print("afterwards:", agents.runtime_snapshot("reciter").phase)

        listener = agents.address  # of this script; any actor's or agent's address will do
        agents.tell_with_completion("reciter", "a poem", stream_to=listener, stream_batch=True)
        count = 0
        while not isinstance(message := agents.receive(), Completion):
            assert isinstance(message, EventBatch)
            count += len(message.events)
        print(count, "events in batches,", message.dropped_events, "dropped")


if __name__ == "__main__":
    main()
