"""A program with a system of its own, told what to do line by line: `python -m tests.network.resident X`."""

from __future__ import annotations

import json
import os
import pickle
import signal
import sys
from typing import Any

from gen_agent.actors.system import AgentSystem
from tests.actors.crew import Diary


def obey(agents: AgentSystem, what: str, *words: Any) -> Any:
    """Do one thing."""
    if what == "list":
        return agents.list()
    if what == "start":
        return pickle.dumps(agents.start_agent(Diary, name=words[0], backend="echo")).hex()
    if what == "kill":
        os.kill(words[0], signal.SIGKILL)
        return None
    raise ValueError(what)


def main() -> None:
    """Run a system until the input ends."""
    options = json.loads(sys.argv[1])
    leader = options["capabilities"].get("Convention Address.IPv4")
    if leader is not None:
        options["capabilities"]["Convention Address.IPv4"] = tuple(leader)
    with AgentSystem(**options) as agents:
        print(json.dumps(agents.admin_port), flush=True)
        for line in sys.stdin:
            print(json.dumps(obey(agents, *json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
