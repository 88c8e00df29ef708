"""A script that was interrupted in a call: nobody waits for the address it had; what it had sent leaves."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

import pytest

from gen_agent.actors.leaving import LINGER_S
from gen_agent.actors.sockets import refused
from gen_agent.actors.system import AgentSystem
from gen_agent.backends.scripted import Stage
from tests.actors.crew import BASES, Diary, held, running, scripted, seconds_to_stop

CASTS = {"genAgentTCPBase": 200, "multiprocTCPBase": 40}
"""On our base more than are on their way to one target at a time; on the other one as many as the kernel
takes.
"""


def _interrupted_ask(agents: AgentSystem, address: Any, stage: Stage) -> None:
    """Ask, and press Ctrl-C while the turn is held."""

    def press() -> None:
        stage.wait_blocked("held")
        os.kill(os.getpid(), signal.SIGINT)

    interrupter = threading.Thread(target=press)
    interrupter.start()
    with pytest.raises(KeyboardInterrupt):
        agents.ask(address, "interrupted")
    interrupter.join()


def _broken_off(agents: AgentSystem, address: Any) -> None:
    """A call that an exception breaks off as soon as it has been sent."""

    def receive(seconds: float, descriptor: int) -> Any:
        raise KeyboardInterrupt

    agents._line.endpoint.receive = receive  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        agents.status(address)


@pytest.mark.parametrize("base", BASES)
def test_an_answer_to_nobody_holds_up_no_end(base: str) -> None:
    """C129: an agent that answered a call broken off by Ctrl-C stops as fast as any other."""
    with Stage() as stage, running(base) as agents:
        address = agents.start_agent(Diary, name="a", **scripted(stage, held(), held("next")))
        _interrupted_ask(agents, address, stage)
        stage.release("held")
        ref = agents.tell_with_completion(address, "next")
        stage.release("next")
        # The answer before was sent before this one.
        agents.completion(ref, timeout=30)
        assert seconds_to_stop(agents, address) < LINGER_S


@pytest.mark.parametrize("base", BASES)
def test_what_was_sent_before_an_interruption_arrives(base: str) -> None:
    """C239: casts to an agent that is busy when a call is broken off reach it, in order, once it goes on."""
    with Stage() as stage, running(base) as agents:
        address = agents.start_agent(Diary, name="a", backend="echo")
        agents.notify(address, ("hold", stage.address, "busy"))
        for number in range(CASTS[base]):
            agents.notify(address, number)
        _broken_off(agents, address)
        stage.release("busy")
        while len(seen := agents.status(address).agent_state) < CASTS[base] + 1:
            assert agents.receive(timeout=0.05) is None
        assert seen[1:] == tuple(range(CASTS[base]))


@pytest.mark.parametrize("base", BASES)
def test_an_interruption_costs_no_descriptor(base: str) -> None:
    """An endpoint that was replaced is closed once everything has left through it."""
    with running(base) as agents:
        address = agents.start_agent(Diary, name="a", backend="echo")
        for _ in range(3):
            _broken_off(agents, address)
        while agents._line._retired._endpoints:
            assert agents.status(address).agent_state == ()


@pytest.mark.parametrize("base", BASES)
def test_who_sends_to_a_replaced_endpoint_finds_nobody(base: str) -> None:
    """An agent has no answer of a broken-off call left to wait for, however little its script does next."""
    with Stage() as stage, running(base) as agents:
        address = agents.start_agent(Diary, name="a", backend="echo")
        agents.notify(address, ("hold", stage.address, "busy"))
        stage.wait_blocked("busy")
        before: Any = agents._line.endpoint
        _broken_off(agents, address)
        assert agents._line._retired._endpoints
        assert refused(before._base.transport.myAddress.addressDetails.connectArgs[0])
        stage.release("busy")
