"""Two systems that work together: an agent runs where what it needs is, and is used from where it is wanted.

    python examples/two_machines.py

Here both systems are on one machine, on two loopback addresses, so that it runs by itself. On two machines
each runs its own part, with the same key file and with `bind` as its own address in the network.
"""

from __future__ import annotations

import os
import secrets
import socket
import tempfile

from gen_agent import Agent, AgentDown, AgentSystem, Down, NoReply

LEADER = "127.0.0.1"
MEMBER = "127.0.0.2"


class Diary(Agent):
    """Keeps every reply."""

    def init_agent(self, options):
        return {}, ()

    def handle_response(self, ref, response, state):
        return NoReply((*state, response.text))


def new_key(folder: str) -> str:
    """A key for both: on two machines it is copied once, by a way you trust."""
    path = os.path.join(folder, "shared.key")
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(secrets.token_hex(32))
    return path


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LEADER, 0))
        return probe.getsockname()[1]


def work(desk: AgentSystem, gpus: AgentSystem) -> None:
    desk.start_agent(Diary, name="here", backend="echo")
    there = desk.start_agent(Diary, name="there", backend="echo", requirements={"gpu": True})
    print("answers:", desk.ask("here", "one").text, "and", desk.ask("there", "two").text)
    print("names of the first system:", sorted(desk.list()))
    print("names of the second:", gpus.list())
    monitor = desk.monitor(there)
    gpus.close()
    down = desk.receive(lambda message: isinstance(message, Down), timeout=30)
    print("the second system was closed, and its agent is down:", down.monitor == monitor)
    try:
        desk.ask(there, "three")
    except AgentDown:
        print("asking it ends at once")
    print("the first one works on:", desk.ask("here", "four").text)


def main() -> None:
    leader = {"Convention Address.IPv4": (LEADER, free_port())}
    with tempfile.TemporaryDirectory() as folder:
        key = new_key(folder)
        with (
            AgentSystem(capabilities=leader, bind=LEADER, key_file=key) as desk,
            AgentSystem(capabilities={**leader, "gpu": True}, bind=MEMBER, key_file=key) as gpus,
        ):
            work(desk, gpus)


if __name__ == "__main__":
    main()
