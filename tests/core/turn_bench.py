"""A bench for single turns: a backend that runs a script, and ports that keep what comes out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from gen_agent.backend import Backend
from gen_agent.core.turn import Ports, TurnJob, TurnReport, run_turn
from gen_agent.events import Event, Response
from gen_agent.options import AgentOptions
from gen_agent.sealed import Sealed, load
from gen_agent.values import RequestRef

REF = RequestRef("turn", 1)


class Script(Backend):
    """Runs a function of the turn; its session is a list of words."""

    def __init__(self, play: Callable[..., Iterable[Any]]) -> None:
        self.play = play

    def start_session(self) -> Any:
        return ["new"]

    def prompt(self, session: Any, prompt: str, turn: Any) -> Iterable[Event]:
        return self.play(session, prompt, turn)

    def update_session(self, session: Any, result: Event) -> Any:
        return [*session, "updated"]


class Bench:
    """Runs one turn of a script and keeps what came out of it."""

    def __init__(self, **options: Any) -> None:
        self.options = AgentOptions("n", "echo", **options)
        self.order: list[Any] = []
        self.logged: list[str] = []
        self.now = 0.0

    def clock(self) -> float:
        self.now += 1.0
        return self.now

    def run(
        self,
        play: Callable[..., Iterable[Any]],
        *,
        state: Any = None,
        on_stream: Any = None,
        session: Any = None,
    ) -> TurnReport:
        ports = Ports(
            clock=self.clock,
            on_event=lambda body: self.order.append(load(body)),
            offer=lambda session_id, supported, session: None,
            log=lambda level, text: self.logged.append(text),
            on_stream=on_stream,
        )
        held = session if isinstance(session, Sealed) else Sealed.of(["s"])
        return run_turn(Script(play), TurnJob(REF, 1, "hi", held, state), self.options, ports)


def says(*events: Any) -> Callable[..., Iterable[Any]]:
    """A script that yields these and raises what is an exception."""

    def play(session: Any, prompt: str, turn: Any) -> Iterable[Any]:
        for event in events:
            if isinstance(event, BaseException):
                raise event
            yield event

    return play


def succeeded(report: TurnReport) -> Response:
    assert isinstance(report.outcome, Response)
    return report.outcome
