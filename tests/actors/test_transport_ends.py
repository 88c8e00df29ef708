"""A process that ends: how long it stays for what it has sent, and what becomes of that when it is gone."""

from __future__ import annotations

import os
import signal
import socket
import time
from contextlib import closing

import pytest
from thespian.system.timing import currentTime

from gen_agent import CallTimeout
from gen_agent.actors import lanes, outbox
from gen_agent.actors.frames import Answer
from gen_agent.actors.inbox import Inbox
from gen_agent.actors.lanes import WINDOW
from gen_agent.actors.leaving import LINGER_S
from gen_agent.actors.outbox import SILENCE_S
from gen_agent.actors.poller import Poller
from gen_agent.actors.processes import descendants
from gen_agent.actors.sockets import listener, under_way
from gen_agent.backends.scripted import Stage
from tests.actors.crew import Diary, held, running, scripted, seconds_to_stop
from tests.actors.lane_scenes import SEAL, Intent, Peer, Scene


def later(seconds: float, monkeypatch: pytest.MonkeyPatch) -> float:
    """Have the outbox see a clock that stands still so much later, and say where."""
    then: float = currentTime() + seconds
    monkeypatch.setattr(outbox, "currentTime", lambda: then)
    return then


def test_answers_are_waited_for_while_they_come(
    scene: Scene, peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that ends stays for a target that answers, not for one that has everything and is silent."""
    scene.send(peer.key, 0, 1)
    (lane,) = scene.outbox._lanes.values()
    with peer.accept() as connection:
        scene.run(lambda: lane.all_delivered)
        assert not scene.outbox.may_end()
        scene.outbox.end()
        assert not scene.outbox.may_end()
        later(SILENCE_S, monkeypatch)
        assert scene.outbox.may_end()
        peer.take(connection)
        scene.run(lambda: scene.results)
        assert not scene.outbox.may_end()


def test_what_has_not_left_is_waited_for(scene: Scene, peer: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that ends stays as long as something waits for an answer before it may leave."""
    scene.send(peer.key, *range(WINDOW + 1))
    (lane,) = scene.outbox._lanes.values()
    with peer.accept():
        scene.run(lambda: not lane.may_send and lane.sock and not under_way(lane.sock))
        scene.outbox.end()
        later(100 * SILENCE_S, monkeypatch)
        assert not scene.outbox.may_end()


def test_what_is_under_way_is_waited_for(
    scene: Scene, peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that ends stays until the other side's kernel has what was written, and looks again soon."""
    monkeypatch.setattr(lanes, "under_way", lambda sock: 1)
    scene.send(peer.key, 0)
    with peer.accept():
        scene.outbox.end()
        now = later(SILENCE_S, monkeypatch)
        assert not scene.outbox.may_end()
        due = scene.outbox.next_due()
        assert due is not None
        assert now < due < now + SILENCE_S


def test_the_kernel_tells_what_is_under_way() -> None:
    """What was written counts until the other side's kernel has room for it."""
    with closing(listener("127.0.0.1", 0)) as door, socket.socket() as sender:
        door.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        sender.connect(door.getsockname())
        door.setblocking(True)
        receiver, _ = door.accept()
        with receiver:
            sender.setblocking(False)
            sent = sender.send(bytes(1 << 19))
            assert under_way(sender) > 0
            while sent:
                sent -= len(receiver.recv(1 << 16))
            while under_way(sender):
                time.sleep(0.001)


def test_what_the_dead_have_sent_is_read_to_its_end() -> None:
    """Everything that arrived before its sender ended is taken, also where nobody is left to be answered."""
    taken: list[int] = []

    def take(body: bytearray) -> Answer:
        taken.append(int.from_bytes(body, "big"))
        return Answer.TAKEN

    poller = Poller()
    inbox = Inbox(poller, SEAL, listener("127.0.0.1", 0), take)
    with socket.create_connection(inbox._sock.getsockname()) as sender:
        sender.sendall(b"".join(Intent(number, 8_000).serMsg.data for number in range(10)))
        while under_way(sender):
            time.sleep(0.001)
    while inbox._strangers or inbox._known or not taken:
        poller.dispatch(poller.wait(5.0))
    inbox.close()
    poller.close()
    assert taken == list(range(10))


def test_a_client_that_does_something_else_holds_up_no_end() -> None:
    """C129: the answer to a call that timed out is for a script that does not listen; its agent stops as fast
    as any other.
    """
    with Stage() as stage, running("genAgentTCPBase") as agents, agents.private() as idle:
        address = agents.start_agent(Diary, name="a", **scripted(stage, held(), held("next")))
        with pytest.raises(CallTimeout):
            idle.ask(address, "held", timeout=0.2)
        stage.release("held")
        ref = agents.tell_with_completion(address, "next")
        stage.release("next")
        agents.completion(ref, timeout=30)
        assert seconds_to_stop(agents, address) < LINGER_S
        assert idle.list() == []


def test_last_words_wait_in_the_kernel() -> None:
    """C243: what an agent sent to a process that is stopped is there when that goes on, although the agent
    has ended long before.
    """
    with running("genAgentTCPBase") as agents:
        address = agents.start_agent(Diary, name="a", backend="echo")
        before = set(descendants(os.getpid()))
        assert agents.address is not None
        (mailbox,) = set(descendants(os.getpid())) - before
        mailbox.signal(signal.SIGSTOP)
        refs = [agents.submit_with_completion(address, f"{number}") for number in range(10)]
        with agents.private() as other:
            assert other.ask(address, "last", timeout=30).text == "echo: last"
            other.stop(address, timeout=30)
        mailbox.signal(signal.SIGCONT)
        texts = [agents.completion(ref, timeout=30).result().text for ref in refs]
        assert texts == [f"echo: {number}" for number in range(10)]
