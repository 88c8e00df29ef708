"""One agent on each system base, spoken to with nothing but Thespian."""

from __future__ import annotations

import pytest

from gen_agent.actors.agent import AgentActor
from gen_agent.actors.identity import new_incarnation
from gen_agent.errors import (
    AgentDown,
    AgentNotFound,
    AlreadyStarted,
    BackendStartFailed,
    InitAgentFailed,
    InitFailed,
    UnknownRequest,
)
from gen_agent.events import Response
from gen_agent.messages import (
    Admission,
    Ask,
    Completion,
    Demonitor,
    GetStatus,
    HaltAgent,
    Notify,
    NotifyAck,
    Poll,
    ResetSession,
    ResumeAgent,
    StartAgent,
    Tell,
)  # fmt: skip
from gen_agent.values import PENDING, mint
from tests.actors import agent_cast as cast
from tests.actors import agent_refused as refused
from tests.actors.agent_rig import ON_STOCK_TOO, Plain

pytestmark = ON_STOCK_TOO


def test_an_ask_is_answered(any_plain: Plain) -> None:
    """C106: an ask is answered with the response; the session and the state go on from turn to turn."""
    agent = any_plain.start()
    first, second = agent.call(Ask("hi")), agent.call(Ask("hi hi"))
    assert isinstance(first, Response)
    assert (first.text, second.text) == ("hi", "hi hi")
    assert second.terminal.data["turns"] == 2
    assert agent.status().agent_state == 2


def test_a_tell_is_polled(any_plain: Plain) -> None:
    """C110, C117: a tell is answered with its ref, and its outcome is polled as often as one likes."""
    agent = any_plain.start()
    ref = agent.call(Tell("hi"))
    while agent.call(Poll(ref)) is PENDING:
        agent.status()
    assert agent.call(Poll(ref)).text == agent.call(Poll(ref)).text == "hi"


def test_a_submit_is_admitted_streamed_and_completed(any_plain: Plain) -> None:
    """C200: admission, events, completion, in that order; every delivery numbered from 1."""
    agent, recorder = any_plain.start(), any_plain.recorder()
    ref = agent.submit("hi hi", recorder, stream_to=recorder)
    got = any_plain.recorded(recorder)
    assert [type(message).__name__ for message in got] == ["Admission", *3 * ["EventMessage"], "Completion"]
    assert {message.ref for message in got} == {ref}
    assert [message.delivery for message in got] == [1, 2, 3, 4, 5]
    assert isinstance(got[0], Admission)
    assert got[0].accepted
    assert got[-1].result().text == "hi hi"
    assert [message.event.kind for message in got[1:4]] == ["text", "text", "result"]


def test_stream_batch_puts_runs_together(any_plain: Plain) -> None:
    """C175: a recipient that asked for batches gets all events, in order, in fewer messages."""
    agent, recorder = any_plain.start(), any_plain.recorder()
    agent.submit("events:500", recorder, stream_to=recorder, stream_batch=True)
    got = any_plain.recorded(recorder)
    events = [event for message in got[1:-1] for event in message.events]
    assert [event.data.get("number") for event in events] == [*range(500), None]
    assert isinstance(got[-1], Completion)
    assert got[-1].dropped_events == 0


def test_notifications_and_controls(any_plain: Plain) -> None:
    """C058, C059, C066, C067: notify, notify_ack, halt and resume act in the order they were sent."""
    agent = any_plain.start()
    agent.cast(Notify({"n": 1}))
    assert agent.status().agent_state == {"n": 1}
    assert agent.call(NotifyAck(7)) is None
    agent.cast(HaltAgent())
    assert agent.status().halted
    agent.cast(ResumeAgent())
    status = agent.status()
    assert (status.halted, status.agent_state) == (False, 7)


def test_a_session_is_reset(any_plain: Plain) -> None:
    """C126: after reset_session the next turn starts from the new session; the state stays."""
    agent = any_plain.start()
    agent.call(Ask("hi"))
    assert agent.call(ResetSession()) is None
    assert agent.call(Ask("hi")).terminal.data["turns"] == 1
    assert agent.status().agent_state == 2


def test_stream_callbacks_count_in_the_state(any_plain: Plain) -> None:
    """C035, C096: the state that stream callbacks leave is what handle_response sees."""
    agent = any_plain.start(cast.Streaming)
    agent.call(Ask("hi hi"))
    assert agent.status().agent_state == 301


def test_a_failed_turn_leaves_the_agent(any_plain: Plain) -> None:
    """C037: a raise in the backend is the turn's error, by class name; the session is the one before."""
    agent = any_plain.start()
    error = agent.reply(Ask("raise")).error
    assert (error.code, error.reason) == ("task_crashed", "ValueError")
    assert agent.call(Ask("hi")).terminal.data["turns"] == 1


def test_a_checkpoint_survives_a_crash(any_plain: Plain) -> None:
    """C190: what a checkpoint kept is what the next turn starts from, whatever became of the turn."""
    agent = any_plain.start()
    agent.reply(Ask("checkpoint:abc raise"))
    assert agent.call(Ask("hi")).terminal.data["turns"] == 2


def test_names_are_scoped(any_plain: Plain) -> None:
    """C020: in a backend's own code there is no current agent name."""
    agent = any_plain.start()
    assert agent.call(Ask("hi")).terminal.data["name"] is None


def test_before_and_after_the_start(any_plain: Plain) -> None:
    """A call before the start is answered AgentNotFound, a second start AlreadyStarted, and both change
    nothing.
    """
    actor = any_plain.system.createActor(AgentActor)
    assert isinstance(any_plain.system.ask(actor, GetStatus(), 20).error, AgentNotFound)
    start = StartAgent(cast.Counting, name="b", backend=cast.Player)
    address = any_plain.system.ask(actor, start, 20).result()
    again = any_plain.system.ask(actor, StartAgent(cast.Counting, name="b", backend=cast.Player), 20).error
    assert again == AlreadyStarted(address)
    assert any_plain.system.ask(actor, Ask("hi"), 20).result().text == "hi"


def test_a_taken_name_is_refused(any_plain: Plain) -> None:
    """C010: a second agent of the same name is AlreadyStarted with the first's address, which goes on."""
    agent = any_plain.start(name="taken")
    error = any_plain.reply_to_start(cast.Counting, cast.Player, "taken").error
    assert error == AlreadyStarted(agent.address)
    assert agent.call(Ask("hi")).text == "hi"


def test_another_incarnation_is_not_served(any_plain: Plain) -> None:
    """C211: a call for another incarnation is AgentDown(noproc), a cast for it is dropped."""
    agent = any_plain.start()
    stranger = new_incarnation()
    error = agent.reply(GetStatus(incarnation=stranger)).error
    assert (type(error), error.reason) == (AgentDown, "noproc")
    agent.cast(Notify("meant for another", incarnation=stranger))
    assert agent.call(GetStatus(incarnation=agent.address.incarnation)).agent_state == 0


def test_an_unknown_call_is_answered(any_plain: Plain) -> None:
    """C076: a call that no agent answers is UnknownRequest."""
    agent = any_plain.start()
    assert agent.reply(Demonitor(mint.monitor())).error == UnknownRequest()


@pytest.mark.parametrize(
    ("agent", "backend", "error"),
    [
        (refused.Refusing, cast.Player, InitAgentFailed("not today")),
        (refused.RefusingUnpicklably, cast.Player, InitFailed("error", "InitAgentFailed")),
        (refused.Misshapen, cast.Player, InitAgentFailed("str")),
        (refused.Raising, cast.Player, InitFailed("error", "ZeroDivisionError")),
        (refused.Leaving, cast.Player, InitFailed("exit", "SystemExit")),
        (cast.Counting, refused.SessionRefused, BackendStartFailed("no seats")),
        (cast.Counting, refused.SessionRaises, InitFailed("error", "KeyError")),
        (cast.Counting, refused.SessionUnpicklable, None),
        (refused.AsyncCallback, cast.Player, None),
        (refused.StreamOnInstance, cast.Player, None),
        (cast.Counting, refused.AsyncBackend, None),
        (cast.Counting, "no-such-backend", None),
    ],
)  # fmt: skip
def test_a_start_that_fails(any_plain: Plain, agent: type, backend: object, error: object) -> None:
    """C017: each way to fail is told to the starter as its own error."""
    reply = any_plain.reply_to_start(agent, backend)
    expected = (InitAgentFailed, BackendStartFailed, InitFailed) if error is None else type(error)
    assert isinstance(reply.error, expected)
    if error is not None:
        assert reply.error == error


def test_a_failed_start_frees_the_name(any_plain: Plain) -> None:
    """C018: after a failed start the name is free."""
    assert any_plain.reply_to_start(refused.Raising, cast.Player, "n").error is not None
    assert any_plain.start(name="n").call(Ask("hi")).text == "hi"
