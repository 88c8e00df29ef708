"""From boot to idle, and what waits meanwhile (A1, A2)."""

from __future__ import annotations

from typing import Any

import pytest

from gen_agent.agent import Agent, NoReply
from gen_agent.core import signals as on
from gen_agent.core.hooks import Hooks
from gen_agent.core.model import State
from gen_agent.errors import InitAgentFailed, InitFailed, StartError
from gen_agent.sealed import Sealed
from tests.core.rig import Rig
from tests.core.rig_agents import RigAgent, short


def test_order_of_the_start() -> None:
    """C016: the state change, then the starter's answer, then `pre_run`, before anything else is handled."""
    rig = Rig(boot=False)
    rig.tell("early")
    assert rig.trace == []
    rig.boot()
    seen = [word for word in short(tuple(rig.trace)) if word not in ("SetDeadline", "TurnStarted")]
    assert seen[:4] == ["state.changed", "AnswerStart", "pre_run", "pre_turn"]
    assert rig.told("state.changed")[0].about == {"agent": "n", "from": None, "to": "idle"}


@pytest.mark.parametrize(
    ("does", "error"),
    [
        (StartError("no key"), InitAgentFailed("no key")),
        (ValueError("secret"), InitFailed("error", "ValueError")),
        (SystemExit(3), InitFailed("exit", "SystemExit")),
        (42, InitAgentFailed("int")),
        (("no mapping", ()), InitAgentFailed("tuple")),
        ((({}), (), "third"), InitAgentFailed("tuple")),
    ],
)
def test_start_failures(does: Any, error: StartError) -> None:
    """C017: what `init_agent` raises or returns wrongly is a value, and names classes only."""

    class Failing(RigAgent):
        def init_agent(self, options: Any) -> Any:
            if isinstance(does, BaseException):
                raise does
            return does

    assert Hooks(Failing(None)).start({}) == error


def test_a_good_start_gives_options_and_state() -> None:
    """C017: `init_agent` gives the backend's options and the first state."""
    assert Hooks(RigAgent(None)).start({"a": 1}) == ({}, ())


def test_no_termination_before_the_boot() -> None:
    """C018: an agent that never had a session ends without terminate callbacks."""
    rig = Rig(boot=False)
    rig.feed(on.StopAsked())
    assert short(tuple(rig.trace)) == ["Exit", "Quit"]


def test_calls_wait_for_pre_run() -> None:
    """C024, C249: `pre_run` runs after the starter's answer and before any message, in the order of
    arrival.
    """
    rig = Rig(boot=False)
    rig.plan("pre_run", lambda state: (*state, "prepared"))
    rig.notify("first")
    rig.ask("second")
    rig.notify("third")
    rig.boot()
    assert rig.called("handle_event") == [("first", ("prepared",))]
    assert rig.called("pre_turn") == [("second", ("prepared", "first"))]
    assert rig.snapshot().pending_notifications == 1


@pytest.mark.parametrize(
    ("does", "reason", "detail"),
    [
        (StartError("no disk"), "pre_run_failed", ("StartError",)),
        (ValueError("secret"), "pre_run_crashed", ("ValueError",)),
        (lambda state: None, "pre_run_invalid", ()),
    ],
)
def test_pre_run_failures(does: Any, reason: str, detail: tuple[str, ...]) -> None:
    """C025: a failing `pre_run` ends the agent with its reason, and the terminate callbacks run."""
    rig = Rig(boot=False).plan("pre_run", does)
    waiting = rig.ask("early")
    rig.boot()
    (leave,), (closed,) = rig.all(on.Exit), rig.all(on.CloseSession)
    assert (leave.reason, leave.detail) == (reason, detail)
    assert rig.called("terminate_agent") == [(reason, ())]
    assert closed.session == Sealed.of("session 0")
    assert rig.all(on.AnswerStart)
    assert rig.asked(waiting) is None
    assert "secret" not in str(rig.logged) + str(rig.all(on.Quit))


def test_a_stop_while_starting() -> None:
    """C071, C249: a stop doesn't wait for `pre_run`; what waited is not handled any more."""
    rig = Rig(boot=False)
    rig.machine.step(on.Booted((), Sealed.of("s")), 0.0)
    rig.notify("waiting")
    rig.feed(on.StopAsked())
    assert rig.state is State.STOPPED
    assert rig.called("handle_event") == []
    assert rig.called("terminate_agent") == [("shutdown", ())]


def test_only_two_callbacks_are_required() -> None:
    """C021, C022: an agent with just the two required callbacks runs turns, fails turns and hears events."""

    class Least(Agent):
        def init_agent(self, options: Any) -> Any:
            return {}, 0

        def handle_response(self, ref: Any, response: Any, state: Any) -> Any:
            return NoReply(state + 1)

    hooks = Hooks(Least())
    assert not hooks.has_info
    assert hooks.call("handle_error", None, ValueError(), 5) == NoReply(5)
    assert hooks.call("handle_event", "e", 5) == NoReply(5)
    assert hooks.call("pre_run", 5) == 5
    assert hooks.call("pre_turn", "p", 5).prompt == "p"
    assert hooks.call("post_turn", None, None, 5) == 5
    assert hooks.call("post_run", 5) is None
    assert hooks.call("terminate_agent", "shutdown", 5) is None
