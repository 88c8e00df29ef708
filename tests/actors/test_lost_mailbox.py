"""A script's mailbox that is killed: what was to come into it is told as lost, and no end goes unheard."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from gen_agent import RequestNotFound
from gen_agent.actors.mailbox import Batch
from gen_agent.actors.processes import ProcessId, Watched, descendants
from gen_agent.actors.supply import ANSWER_S
from gen_agent.actors.system import AgentSystem
from gen_agent.backends.scripted import Stage, reply
from gen_agent.messages import Down
from gen_agent.values import CallRef
from tests.actors.crew import BASES, Diary, held, running, scripted


def mailbox_of(agents: AgentSystem) -> ProcessId:
    """The process of this script's mailbox, which is made here."""
    before = {*descendants(os.getpid())}
    assert agents.address
    (mailbox,) = {*descendants(os.getpid())} - before
    return mailbox


def end(process: ProcessId) -> None:
    """Kill it, and wait for its end."""
    with Watched(process) as watched:
        watched.signal(signal.SIGKILL)
        assert watched.wait(10)


@pytest.mark.parametrize("base", BASES)
def test_a_killed_mailbox_costs_messages_and_no_end(base: str) -> None:
    """C115, C117, C255: what was to come into it can be polled, and each monitor still gives its one Down."""
    with Stage() as stage, running(base) as agents:
        mailbox = mailbox_of(agents)
        address = agents.start_agent(Diary, name="a", **scripted(stage, held(), reply("next")))
        monitor = agents.monitor(address)
        ref = agents.tell_with_completion(address, "held")
        stage.wait_blocked("held")
        end(mailbox)
        with pytest.raises(RequestNotFound):
            agents.completion(ref, timeout=20)
        stage.release("held")
        next_ref = agents.tell_with_completion(address, "next")
        assert agents.completion(next_ref, timeout=20).result().text == "next"
        assert agents.poll(address, ref).text == "done"
        agents.stop(address, timeout=20)
        down = agents.receive(timeout=20)
        assert (type(down), down.monitor, down.reason) == (Down, monitor, "shutdown")
        assert agents.receive(timeout=0.1) is None


@pytest.mark.parametrize("what", ["completion", "stream"])
def test_who_waits_learns_that_its_mailbox_is_killed(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """C115: a mailbox that dies with somebody waiting is noticed then, not by the next message to it."""
    with Stage() as stage, running("genAgentTCPBase") as agents:
        mailbox, waits, wait = mailbox_of(agents), threading.Event(), agents._line.batch

        def waiting(call: CallRef, timeout: float | None) -> Batch | None:
            if timeout is not None and timeout > ANSWER_S:
                # No look, but an order that stays; it has left.
                assert agents._line.endpoint.flush(20)
                waits.set()
            return wait(call, timeout)

        agents.start_agent(Diary, name="a", **scripted(stage, held(), reply("next")))
        ref = agents.tell_with_completion("a", "held")
        stage.wait_blocked("held")
        assert agents.receive(lambda _: False, timeout=0.01) is None
        monkeypatch.setattr(agents._line, "batch", waiting)
        killing = threading.Thread(target=lambda: (waits.wait(20), end(mailbox)))
        killing.start()
        use = {
            "completion": lambda: agents.completion(ref, timeout=20),
            "stream": lambda: next(agents.stream("a", "next", timeout=20)),
        }
        with pytest.raises(RequestNotFound):
            use[what]()
        killing.join()
        stage.release("held")
