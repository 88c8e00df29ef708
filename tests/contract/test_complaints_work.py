"""What users of such systems complain about, tried on real agents: work lost, doubled, mixed or late."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from gen_agent import PENDING, BackendError, Interrupted
from gen_agent.actors.system import Client
from gen_agent.values import AgentAddress
from tests.contract.troupe import PATIENCE_S, Troupe

CALLERS, ASKS = 8, 25
LONG_S = 3.0
"""Longer than anything between a script, an agent and its worker waits for before it tries again."""


def turns_before(client: Client, agent: AgentAddress) -> list[int]:
    """Ask again and again: how many turns the session had seen before each of them."""
    return [client.ask(agent, "a", timeout=PATIENCE_S).terminal.data["turns"] for _ in range(ASKS)]


def test_many_callers_at_once_do_not_mix_up_the_session(troupe: Troupe) -> None:
    """C095, C185: of 200 asks by eight threads each one saw the session exactly as the one before had left
    it."""
    agent = troupe.start()
    clients = [troupe.more() for _ in range(CALLERS)]
    with ThreadPoolExecutor(CALLERS) as pool:
        seen = list(pool.map(lambda client: turns_before(client, agent), clients))
    assert sorted(turn for turns in seen for turn in turns) == list(range(CALLERS * ASKS))


def test_a_long_turn_runs_once(troupe: Troupe) -> None:
    """C037, C112: a turn that lasts longer than every time limit of ours begins once and is answered once."""
    agent = troupe.start()
    ref = troupe.hold(agent)
    began = time.monotonic()
    while time.monotonic() - began < LONG_S:
        assert troupe.agents.poll(agent, ref) is PENDING
        assert troupe.agents.receive(lambda _: True, timeout=0.2) is None
    troupe.release()
    (completion,) = troupe.until_end(agent)
    assert completion.result().text == "held"
    assert [line for line in troupe.written() if line == "prompt held hold:here"] == ["prompt held hold:here"]


def test_an_event_is_there_before_its_turn_has_ended(troupe: Troupe) -> None:
    """C174-C176: what a backend has said is received while it is still held in the same turn."""
    agent = troupe.start()
    with troupe.agents.stream(agent, "held text:a hold:here text:b", timeout=PATIENCE_S) as stream:
        assert next(stream).data["text"] == "a"
        troupe.stage.wait_blocked("here", PATIENCE_S)
        assert troupe.agents.poll(agent, stream.ref) is PENDING
        troupe.release()
        assert [event.data["text"] for event in stream] == ["b", "held"]


def test_a_stream_is_over_once_and_says_so_every_time(troupe: Troupe) -> None:
    """C175: a second loop over a stream ends at once, with nothing or with the same error; the outcome can
    be had as often as one likes."""
    agent = troupe.start()
    good = troupe.agents.stream(agent, "a text:t", timeout=PATIENCE_S)
    assert [event.kind for event in good] == ["text", "result"]
    assert [list(good), list(good)] == [[], []]
    assert [good.response.text, good.response.text] == ["a", "a"]
    bad = troupe.agents.stream(agent, "a fail", timeout=PATIENCE_S)
    for _ in range(2):
        with pytest.raises(BackendError):
            next(bad)
        with pytest.raises(BackendError):
            _ = bad.response
    closed = troupe.agents.stream(agent, "held hold:here", timeout=PATIENCE_S)
    troupe.stage.wait_blocked("here", PATIENCE_S)
    closed.close()
    for _ in range(2):
        with pytest.raises(Interrupted):
            next(closed)


def test_what_an_interrupted_turn_has_said_stays_said(troupe: Troupe) -> None:
    """C119, C176, C222: usage that came before an interrupt has reached the listener, and the request has
    its one outcome."""
    agent = troupe.start()
    stream = troupe.agents.stream(agent, "held usage:7 hold:here", timeout=PATIENCE_S)
    heard: Any = next(stream)
    assert (heard.kind, heard.data["input_tokens"]) == ("usage", 7)
    troupe.stage.wait_blocked("here", PATIENCE_S)
    assert troupe.agents.interrupt_request(agent, stream.ref) == "accepted"
    with pytest.raises(Interrupted):
        next(stream)
    assert troupe.lines(agent)[-2:] == ["handle_error interrupted", "post_turn interrupted"]


def test_a_killed_turn_leaves_the_state_it_was_given(troupe: Troupe) -> None:
    """C096, C119: what stream callbacks did in a turn that is interrupted goes with its worker; the state is
    the one at dispatch."""
    agent = troupe.start()
    ref = troupe.hold(agent, "held text:a hold:here")
    assert troupe.agents.interrupt_request(agent, ref) == "accepted"
    lines = troupe.lines(agent)
    assert lines == ["pre_turn held text:a hold:here", "handle_error interrupted", "post_turn interrupted"]
