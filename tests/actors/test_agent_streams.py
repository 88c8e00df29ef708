"""Events on their way: floods, slow recipients, nobody listening. On real processes."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from gen_agent.messages import Ask, Completion, EventBatch, GetSnapshot, Interrupt, InterruptRequest
from tests.actors.agent_cast import Streaming
from tests.actors.agent_rig import ON_STOCK_TOO, Meeting, Plain

pytestmark = ON_STOCK_TOO


def test_events_come_in_order_and_all(plain: Plain) -> None:
    """C175, C176: 5,000 events of one turn reach the recipient in order, the completion after the last."""
    agent, recorder = plain.start(), plain.recorder()
    agent.submit("events:5000", recorder, stream_to=recorder, stream_batch=True)
    got = plain.recorded(recorder)
    assert isinstance(got[-1], Completion)
    events = [event for message in got if isinstance(message, EventBatch) for event in message.events]
    assert [event.data.get("number") for event in events] == [*range(5000), None]
    assert [message.delivery for message in got] == list(range(1, len(got) + 1))


def test_a_flood_starves_nobody(plain: Plain, tmp_path: Path) -> None:
    """While a backend gives events as fast as it can, calls are answered and an interrupt ends it."""
    meeting = Meeting(tmp_path / "here")
    agent, recorder = plain.start(), plain.recorder()
    ref = agent.submit(
        f"here:{meeting.path} events:100000000", recorder, stream_to=recorder, stream_batch=True
    )
    meeting.wait()
    for _ in range(5):
        assert agent.call(GetSnapshot(), 10.0).phase == "processing"
    assert agent.call(InterruptRequest(ref), 10.0) == "accepted"
    plain.recorded(recorder)


def test_a_stopped_recipient_costs_its_own_events_only(own: Plain) -> None:
    """Events beyond max_relay_events for one that does not take them are dropped, counted, and told with the
    completion.
    """
    agent, recorder = own.start(max_relay_events=10), own.recorder()
    slow, process = own.recorder(), None
    agent.submit("hi", slow)
    own.recorded(slow)
    process = own.process_of(slow)
    os.kill(process, signal.SIGSTOP)
    try:
        agent.submit("events:5000", slow, stream_to=slow, stream_batch=True)
        agent.submit("hi", recorder, stream_to=recorder)
        assert own.recorded(recorder)[-1].result().text == "hi"
    finally:
        os.kill(process, signal.SIGCONT)
    got = own.recorded(slow, 2)
    count = sum(len(message) for message in got if isinstance(message, EventBatch))
    assert got[-1].dropped_events == 5001 - count
    assert got[-1].dropped_events > 4000


def test_events_nobody_listens_to_do_not_leave_the_worker(own: Plain) -> None:
    """Without stream_to a turn of 200,000 events costs the agent next to nothing, and its callback sees all
    of them.
    """
    agent = own.start(Streaming)
    before = cpu_ticks(agent.pid)
    agent.call(Ask("events:200000"), 60.0)
    assert cpu_ticks(agent.pid) - before < 30
    assert agent.status().agent_state == 20_000_000 + 100 + 1


def test_nothing_of_an_interrupted_turn_comes_later(plain: Plain, tmp_path: Path) -> None:
    """C179: after the completion of an interrupted request no event of it is delivered."""
    meeting = Meeting(tmp_path / "here")
    agent, recorder = plain.start(), plain.recorder()
    first = agent.submit(f"events:2000 here:{meeting.path} sleep", recorder, stream_to=recorder)
    meeting.wait()
    agent.cast(Interrupt())
    second = agent.submit("hi", recorder, stream_to=recorder)
    got = plain.recorded(recorder, 2)
    refs = [message.ref for message in got]
    end = next(
        at for at, message in enumerate(got) if isinstance(message, Completion) and message.ref == first
    )
    assert first not in refs[end + 1 :]
    assert refs[-1] == second


def cpu_ticks(pid: int) -> int:
    """The processor time of a process so far, in hundredths of a second."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])
