"""The life of one agent without any actor: what is performed, in which order, and what a defect leads to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gen_agent.actors.courier import Courier
from gen_agent.actors.identity import new_incarnation
from gen_agent.actors.intake import Asker
from gen_agent.actors.life import Life
from gen_agent.agent import current_name
from gen_agent.core import signals
from gen_agent.core.machine import Machine
from gen_agent.core.model import State
from gen_agent.errors import AgentTerminated, Interrupted, Unpicklable
from gen_agent.messages import Reply
from gen_agent.options import AgentOptions
from gen_agent.sealed import Sealed
from gen_agent.values import AgentAddress, RequestRef, mint
from tests.actors.agent_cast import Counting, Player


class Scene:
    """An agent whose host and seat only write down what they are asked for."""

    def __init__(self, agent: Any = None) -> None:
        self.log: list[Any] = []
        self.watcher = self
        self.address = AgentAddress("a", new_incarnation(), "actor")
        courier = Courier(self.transmit, "a", self.address.incarnation, 100)
        self.life = Life(self, self.address, courier, None)
        self.life.seat = self
        self.agent = agent or Counting()
        options = AgentOptions("a", Player, watchdog_s=None)
        hooks = self.life.hooks(self.agent)
        self.machine = Machine(
            "a", options, hooks, self.emit, lambda level, text: self.log.append(level), "n"
        )
        self.life.begin(self.machine, 10)

    def run(self) -> Scene:
        """Start it, and forget how."""
        self.life.feed(signals.Booted(0, Sealed.of(())))
        self.life.feed(signals.RunBegan())
        self.log.clear()
        return self

    def transmit(self, address: Any, message: object, done: Callable[[], None]) -> None:
        self.log.append((address, message))
        done()

    def emit(self, *_: Any) -> None:
        """Nobody listens."""

    def answer_start(self) -> None:
        self.log.append("answer_start")

    def set_deadline(self, key: Any, seconds: float) -> None:
        self.log.append(("deadline", key))

    def clear_deadline(self, key: Any) -> None:
        self.log.append(("cleared", key))

    def start_turn(self, effect: signals.StartTurn, listening: bool) -> None:
        self.log.append(("start_turn", effect.prompt, listening))
        self.tag = effect.tag
        self.life.feed(signals.TurnStarted(effect.tag))

    def kill_turn(self, tag: signals.Tag) -> None:
        self.log.append("kill_turn")

    def answer_checkpoint(self, effect: Any) -> None:
        self.log.append("answer_checkpoint")

    def reset(self, effect: Any) -> None:
        self.log.append("reset")

    def shut(self) -> None:
        self.log.append("shut")

    def leaving(self) -> None:
        self.log.append("leaving")

    def close_session(self, effect: Any) -> None:
        self.log.append("close_session")

    def quit(self, effect: signals.Quit) -> None:
        self.log.append(("quit", effect.reason, effect.detail))

    def ask(self, prompt: str = "p") -> signals.Asked:
        """An ask by somebody."""
        return signals.Asked(Asker("asker", mint.call()), mint.request(), prompt, len(prompt))

    @property
    def replies(self) -> list[Reply]:
        return [entry[1] for entry in self.log if isinstance(entry, tuple) and isinstance(entry[1], Reply)]


def test_a_start_is_answered_before_it_runs() -> None:
    """C024: the starter is answered first; what comes before `pre_run` waits."""
    scene = Scene()
    scene.life.feed(signals.Booted(0, Sealed.of(())))
    scene.life.feed(scene.ask())
    assert scene.log == ["answer_start"]
    scene.life.feed(signals.RunBegan())
    assert scene.log == ["answer_start", ("start_turn", "p", False)]


def test_a_kill_is_done_before_anything_is_answered() -> None:
    """C120: the worker is killed, the completion sent, and only then the interrupt is answered."""
    scene = Scene().run()
    ref = RequestRef("r", 1)
    scene.life.feed(signals.Submitted(ref, "p", 1, "recipient"))
    scene.log.clear()
    scene.life.feed(signals.InterruptRequested(Asker("asker", mint.call()), ref))
    kinds = [entry if isinstance(entry, str) else type(entry[1]).__name__ for entry in scene.log]
    assert kinds == ["kill_turn", "Completion", "Reply"]
    assert scene.log[1][1].outcome == Interrupted()


def test_only_what_somebody_listens_to_is_listened_to() -> None:
    """The worker is told whether a request has a stream recipient."""
    scene = Scene().run()
    scene.life.feed(signals.Submitted(mint.request(), "p", 1, "recipient", "queue", "listener"))
    assert ("start_turn", "p", True) in scene.log


def test_a_callbacks_send_is_an_effect_in_its_place() -> None:
    """What a callback sends is sent with the step's effects, and not before the step has succeeded."""
    scene = Scene()

    class Sender(Counting):
        def pre_turn(self, prompt: str, state: Any) -> Any:
            scene.life.send("friend", f"about {prompt}")
            assert scene.log == []
            assert current_name() == "a"
            return super().pre_turn(prompt, state)

    scene = Scene(Sender()).run()
    scene.life.feed(scene.ask())
    assert scene.log == [("friend", "about p"), ("start_turn", "p", False)]
    scene.life.send("friend", "later")
    assert scene.log[-1] == ("friend", "later")


def test_a_step_that_raises_has_done_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """C255: a defect inside a step ends the agent as callback_failed, naming its class; none of its effects
    happened.
    """
    scene = Scene().run()
    step = Machine.step
    monkeypatch.setattr(Machine, "step", lambda self, event, now: _fail_once(step, self, event, now))
    scene.life.feed(scene.ask("boom"))
    assert scene.machine.terminated
    assert scene.log[0] == "error"
    assert scene.log[1:] == [
        "leaving",
        "close_session",
        ("quit", "callback_failed", ("error", "ZeroDivisionError")),
    ]


def _fail_once(step: Any, machine: Machine, event: Any, now: float) -> Any:
    return 1 / 0 if isinstance(event, signals.Asked) else step(machine, event, now)


def test_a_stop_runs_to_its_end_in_one_dispatch() -> None:
    """C109, C248: answers, the worker's death, the session, the last word, in this order and at once."""
    scene = Scene().run()
    scene.life.feed(scene.ask())
    scene.log.clear()
    scene.life.feed(signals.StopAsked("shutdown"))
    assert [entry if isinstance(entry, str) else entry[0] for entry in scene.log] == [
        "asker", "leaving", "shut", "close_session", "quit",
    ]  # fmt: skip
    assert scene.replies[0].error == AgentTerminated("shutdown")
    assert scene.machine.state is State.STOPPED


def test_what_can_not_be_pickled_is_told_as_that() -> None:
    """A state that can't travel makes the answer an Unpicklable error; the agent goes on."""
    scene = Scene()
    scene.life.feed(signals.Booted(lambda: None, Sealed.of(())))
    scene.life.feed(signals.RunBegan())
    scene.life.feed(signals.StatusAsked(Asker("asker", mint.call())))
    assert isinstance(scene.replies[0].error, Unpicklable)
    scene.life.feed(signals.SnapshotAsked(Asker("asker", mint.call())))
    assert scene.replies[1].value.phase == "idle"


def test_events_fed_while_effects_are_performed_come_after_them() -> None:
    """What an effect leads to is stepped after the rest of its step's effects."""
    scene = Scene().run()
    order: list[str] = []
    original = scene.start_turn

    def start_turn(effect: signals.StartTurn, listening: bool) -> None:
        scene.life.feed(signals.SnapshotAsked(Asker("asker", mint.call())))
        order.append("performed")
        original(effect, listening)

    scene.start_turn = start_turn  # type: ignore[method-assign]
    scene.transmit = lambda address, message, done: order.append("answered")  # type: ignore[method-assign]
    scene.life._courier._transmit = scene.transmit
    scene.life.feed(scene.ask())
    assert order == ["performed", "answered"]
