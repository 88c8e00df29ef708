"""A program whose every value is a secret, for a test that looks everywhere else for it.

    python -m tests.contract.secrets DIRECTORY BASE

It writes nothing but what it has been told, and that into DIRECTORY. The secret is put together at run time,
so that it is in no source line either.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from gen_agent import (
    Agent,
    AgentSystem,
    BackendError,
    GenAgentError,
    NoReply,
    Prompt,
    StartError,
)
from gen_agent.backend import Backend, Turn
from gen_agent.backends.stage import Stage, StageAddress
from gen_agent.events import Event
from gen_agent.messages import Completion, Down, TelemetryMessage
from gen_agent.values import AgentAddress

CANARY = "-".join(("canary", "7f3a", "bird"))


class Songbird(Agent):
    """Every callback of it can be made to raise the secret; its state is one."""

    def init_agent(self, options: Mapping[str, Any]) -> tuple[Mapping[str, Any], Any]:
        if options.get("refuses"):
            raise StartError(CANARY) if options["refuses"] == "reason" else ValueError(CANARY)
        self.raises: str = options["raises"]
        return {"stage": options["stage"], "key": options["key"], CANARY: CANARY}, {CANARY: CANARY}

    def _sing(self, hook: str) -> None:
        if hook == self.raises:
            raise ValueError(CANARY)

    def handle_response(self, ref: Any, response: Any, state: Any) -> Any:
        self._sing("handle_response")
        return NoReply({**state, CANARY: response})

    def handle_error(self, ref: Any, error: Any, state: Any) -> Any:
        self._sing("handle_error")
        return NoReply({**state, CANARY: error})

    def handle_event(self, event: Any, state: Any) -> Any:
        self._sing("handle_event")
        return Prompt(CANARY, state)

    def handle_info(self, message: Any, sender: Any, state: Any) -> Any:
        self._sing("handle_info")
        return NoReply(state)

    def pre_run(self, state: Any) -> Any:
        self._sing("pre_run")
        return state

    def pre_turn(self, prompt: str, state: Any) -> Any:
        self._sing("pre_turn")
        return super().pre_turn(prompt, state)

    @classmethod
    def handle_stream_event(cls, event: Event, state: Any) -> Any:
        if event.data.get("text") == CANARY + " stream":
            raise ValueError(CANARY)
        return {**state, CANARY: event}

    def post_turn(self, outcome: Any, ref: Any, state: Any) -> Any:
        self._sing("post_turn")
        return state

    def post_run(self, state: Any) -> None:
        self._sing("post_run")

    def terminate_agent(self, reason: str, state: Any) -> None:
        self._sing("terminate_agent")


class Cage(Backend):
    """A backend that gives away the secret in every way a backend can."""

    def __init__(self, stage: StageAddress, key: str, **_: Any) -> None:
        self.stage, self.key = stage, key

    def start_session(self) -> Any:
        return {CANARY: self.key}

    def prompt(self, session: Any, prompt: str, turn: Turn) -> Iterable[Event]:
        yield Event.text(prompt)
        for word in prompt.split():
            if word.startswith("hold:"):
                self.stage.wait_at(word, 60)
            elif word in _SAYS:
                yield from _SAYS[word]()
        yield Event.result(prompt, secret=CANARY, session_id=CANARY)

    def update_session(self, session: Any, result: Event) -> Any:
        return {**session, "last": result}

    def terminate_session(self, session: Any) -> None:
        raise ValueError(CANARY)

    def close(self) -> None:
        raise ValueError(CANARY)


def _raise(error: BaseException) -> Iterable[Event]:
    raise error


_SAYS: dict[str, Callable[[], Iterable[Event]]] = {
    "crash": lambda: _raise(ValueError(CANARY)),
    "exit": lambda: _raise(SystemExit(CANARY)),
    "refuse": lambda: _raise(BackendError(CANARY, kind=CANARY, message=CANARY, raw=CANARY)),
    "error": lambda: (Event.error(reason=CANARY),),
    "garbage": lambda: (CANARY,),  # type: ignore[return-value]
    "unpicklable": lambda: (Event.text(CANARY, function=lambda: CANARY),),
}

RAISING = (
    "", "handle_response", "handle_error", "handle_event", "handle_info", "pre_run", "pre_turn", "post_turn",
    "post_run", "terminate_agent",
)  # fmt: skip

ENDING = ("handle_response", "pre_run", "pre_turn")
"""With these raising, no turn is ever held: the agent has ended, or runs nothing."""


class Program:
    """Runs everything, and writes down what may be shown."""

    def __init__(self, agents: AgentSystem, stage: Stage, directory: Path) -> None:
        self.agents, self.stage = agents, stage
        self.told: list[str] = []
        self.seen: set[str] = set()
        self.directory = directory

    def run(self) -> None:
        """Every callback raising in turn, every way a backend can fail, each time looked at meanwhile."""
        for raises in RAISING:
            self.sing(self.start(raises), raises)
        for refuses in ("reason", "raise"):
            try:
                self.agents.start_agent(Songbird, name="x", backend=Cage, refuses=refuses)
            except GenAgentError as error:
                self.told.append(type(error).__name__)

    def start(self, raises: str) -> AgentAddress:
        """An agent of which one callback raises."""
        return self.agents.start_agent(
            Songbird,
            name=f"bird {raises}",
            backend=Cage,
            raises=raises,
            stage=self.stage.address,
            key=CANARY,
            telemetry_to=self.agents.address,
            max_pending_notifications=1,
        )

    def sing(self, agent: AgentAddress, raises: str) -> None:
        """Everything that can be asked of it, then its end."""
        monitor = self.agents.monitor(agent)
        for word in ("fine", *_SAYS, "stream"):
            self.agents.submit_with_completion(agent, f"{CANARY} {word}")
        held = self.agents.submit_with_completion(
            agent, f"{CANARY} hold:{raises}", stream_to=self.agents.address
        )
        for _ in range(3):
            self.agents.notify(agent, {CANARY: CANARY})
            self.agents._line.post(agent.actor, Event.text(CANARY))
        if raises not in ENDING:
            self.agents.runtime_snapshot(agent)
            self.stage.wait_blocked(f"hold:{raises}", 30)
            self.look()
            self.agents.interrupt(agent)
            self.agents.completion(held, timeout=30)
        if raises not in ("handle_response", "pre_run"):
            self.agents.halt(agent)
            self.agents.stop(agent, timeout=30)
        self.read(monitor)

    def read(self, monitor: object) -> None:
        """Write down an agent's `Down` and the telemetry it sent, as they are."""
        while not (
            isinstance(message := self.agents.receive(timeout=30), Down) and message.monitor == monitor
        ):
            assert message is not None
            if isinstance(message, TelemetryMessage):
                self.told.append(f"{message.name} {message.measurements} {message.metadata}")
            elif isinstance(message, Completion):
                self.told.append(f"{message!r} {message}")
        self.told.append(f"{message.reason} {message.detail} {message.name} {message!r}")

    def look(self) -> None:
        """Write down how the processes of this machine are called, and what is in the system's files."""
        for name in ("comm", "cmdline"):
            self._read(entry / name for entry in Path("/proc").iterdir() if entry.name.isdigit())
        self._read(path for path in self.directory.rglob("*") if path.is_file())

    def _read(self, paths: Iterable[Path]) -> None:
        for path in paths:
            try:
                self.seen.add(path.read_bytes().decode(errors="replace"))
            except OSError:
                continue  # it has gone since

    def write(self) -> None:
        """All of it, in two files."""
        (self.directory / "told.json").write_text(json.dumps(self.told))
        (self.directory / "seen.json").write_text(json.dumps(sorted(self.seen)))


def main(directory: Path, base: str) -> None:
    handler = {"class": "logging.FileHandler", "filename": str(directory / "log")}
    defs = {
        "version": 1,
        "handlers": {"file": handler},
        "root": {"handlers": ["file"], "level": "DEBUG"},
    }
    with Stage() as stage, AgentSystem(base, log_defs=defs) as agents:
        program = Program(agents, stage, directory)
        program.run()
        program.write()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
