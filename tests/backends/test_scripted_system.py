"""The scripted backend behind a real agent: its gates hold a worker process, and a killed turn uses up its
script."""

from __future__ import annotations

import os

import pytest

from gen_agent import AgentSystem, BackendError, Interrupted
from gen_agent.backends.scripted import Stage, gate, reply
from gen_agent.cli.chat_agent import ChatAgent
from gen_agent.errors import BackendStartFailed


def test_a_gate_holds_the_worker_and_an_interrupt_uses_up_the_script() -> None:
    """C259: the worker at the gate is a process of its own; killed there, the next turn plays the next
    script."""
    with Stage() as stage, AgentSystem() as agents:
        options = stage.options(gate("g", reply("first")), gate("g", reply("second")), reply("third"))
        agents.start_agent(ChatAgent, name="a", backend="scripted", options={"backend_options": options})
        ref = agents.tell("a", "one")
        worker = stage.wait_blocked("g")
        assert worker != os.getpid()
        assert agents.interrupt_request("a", ref) == "accepted"
        stage.wait_gone("g")
        with pytest.raises(Interrupted):
            agents.poll("a", ref)
        agents.tell("a", "two")
        assert stage.wait_blocked("g") != worker
        stage.release("g")
        assert agents.ask("a", "three", timeout=20.0).text == "third"
        with pytest.raises(BackendError) as caught:
            agents.ask("a", "four", timeout=20.0)
        assert caught.value.kind == "no_script"
        assert stage.history() == ("one", "two", "three", "four")


def test_scripts_alone_are_options_enough() -> None:
    """C259: without a stage the scripts travel as options; `start_error` fails the start with its reason."""
    with AgentSystem() as agents:
        options = {"scripts": [reply("hel", "lo")]}
        agents.start_agent(ChatAgent, name="a", backend="scripted", options={"backend_options": options})
        assert agents.ask("a", "hi", timeout=20.0).text == "hello"
        broken = {"backend_options": {"start_error": "closed today"}}
        with pytest.raises(BackendStartFailed) as caught:
            agents.start_agent(ChatAgent, name="b", backend="scripted", options=broken)
        assert caught.value.reason == "closed today"
