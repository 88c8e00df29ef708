"""What callbacks reach and tell: their context, wakeups, other actors, telemetry. On each base."""

from __future__ import annotations

from gen_agent.messages import Ask, Completion, Notify, TelemetryMessage
from tests.actors import agent_context as acts
from tests.actors.agent_rig import ON_STOCK_TOO, Plain

pytestmark = ON_STOCK_TOO


def test_a_callback_knows_its_agent(any_plain: Plain) -> None:
    """C020: current_name() and the context name the agent in every callback of the agent's process."""
    agent = any_plain.start(acts.Knowing, name="me")
    agent.call(Ask("hi"))
    names, address = agent.status().agent_state
    assert names == ("init_agent me", "pre_run me", "pre_turn me", "handle_response me")
    assert address == agent.address


def test_a_callbacks_messages_keep_their_place(any_plain: Plain) -> None:
    """C090, C247: what handle_response sends comes before the completion, what a deferred event sends after
    it.
    """
    recorder = any_plain.recorder()
    agent = any_plain.start(acts.Sending, recipient=recorder)
    agent.submit("hi", recorder)
    got = any_plain.recorded(recorder)
    assert [type(message).__name__ for message in got] == ["Admission", "Notify", "Completion"]
    assert isinstance(got[1], Notify)
    assert isinstance(got[2], Completion)


def test_a_wakeup_comes_to_handle_info(any_plain: Plain) -> None:
    """C040: what wakeup_after was given arrives in handle_info, those due together in the order of their
    times.
    """
    agent = any_plain.start(acts.Waking)
    while len(agent.status().agent_state) < 3:
        any_plain.system.listen(0.01)
    assert agent.status().agent_state == ("first", "second", "third")


def test_a_child_actor_of_a_callback_answers(any_plain: Plain) -> None:
    """C040: an actor made by a callback answers, and its answer is an ordinary message with its sender."""
    agent = any_plain.start(acts.WithChild)
    while agent.status().agent_state != "echo hello":
        any_plain.system.listen(0.01)


def test_turn_telemetry_goes_to_its_recipient(any_plain: Plain) -> None:
    """C221, C222, C235: telemetry_to gets the turn's start and stop, without any content, before the
    completion.
    """
    recorder = any_plain.recorder()
    agent = any_plain.start(telemetry_to=recorder)
    agent.submit("hi", recorder)
    got = any_plain.recorded(recorder)
    told = [message for message in got if isinstance(message, TelemetryMessage)]
    assert [message.name for message in told] == [
        ("gen_agent", "turn", "start"),
        ("gen_agent", "turn", "stop"),
    ]
    assert set(told[0].metadata) == {"agent", "ref", "attempt", "origin"}
    assert told[1].measurements["duration_s"] >= 0
    assert isinstance(got[-1], Completion)


def test_a_handler_of_the_options_is_called_in_the_agent(any_plain: Plain) -> None:
    """C238: a function named in `telemetry` hears the agent's events in its process; one that can't be found
    is refused.
    """
    agent = any_plain.start(acts.Listening, telemetry=("tests.actors.agent_context:heard",))
    agent.call(Ask("hi"))
    agent.cast(Notify(None))
    assert ("gen_agent", "turn", "stop") in agent.status().agent_state
    error = any_plain.reply_to_start(
        acts.Listening, "echo", "b", telemetry=("tests.actors.agent_context:missing",)
    ).error
    assert "missing" in error.reason
