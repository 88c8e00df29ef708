"""Agents and backends for the tests of agent actors: importable by the processes they run in."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator
from typing import Any

from gen_agent.agent import Agent, NoReply, current_name
from gen_agent.backend import Backend, Turn
from gen_agent.events import Event


class Counting(Agent):
    """Counts its responses; a notification replaces the count; an ordinary message is kept as a note."""

    def init_agent(self, options: Any) -> Any:
        return dict(options), 0

    def handle_response(self, ref: Any, response: Any, state: Any) -> Any:
        return NoReply(state + 1)

    def handle_event(self, event: Any, state: Any) -> Any:
        return NoReply(event)

    def handle_info(self, message: Any, sender: Any, state: Any) -> Any:
        return NoReply(state)


class Streaming(Counting):
    """Counts events in the worker."""

    @classmethod
    def handle_stream_event(cls, event: Any, state: Any) -> Any:
        return state + 100


class WithProgram(Counting):
    """Starts a program of its own; its pid is the state."""

    def init_agent(self, options: Any) -> Any:
        return {}, subprocess.Popen(["sleep", "600"]).pid


def say(path: str, text: object) -> None:
    """Tell the test waiting at a named pipe."""
    with open(path, "w") as pipe:
        pipe.write(str(text))


class Player(Backend):
    """Does what the prompt says: words separated by blanks, each a step; then a result with pid and turn
    count.
    """

    def __init__(self, diary: str | None = None, **options: Any) -> None:
        super().__init__(**options)
        self._diary = diary

    def _note(self, what: str) -> None:
        if self._diary is not None:
            with open(self._diary, "a") as diary:
                diary.write(f"{what} {os.getpid()}\n")

    def start_session(self) -> Any:
        return ()

    def prompt(self, session: Any, prompt: str, turn: Turn) -> Iterable[Event]:
        turn.session = (*session, prompt)
        for word in prompt.split():
            yield from self._step(word, turn)
        yield Event.result(prompt, pid=os.getpid(), turns=len(turn.session), name=current_name())

    def _step(self, word: str, turn: Turn) -> Iterator[Event]:
        verb, _, argument = word.partition(":")
        if verb == "events":
            yield from (Event.text("x", number=number) for number in range(int(argument)))
        else:
            _STEPS[verb](argument, turn)
            yield Event.text(verb)

    def reset_session(self, session: Any) -> Any:
        return ()

    def checkpoint_session(self, session: Any, session_id: str) -> Any:
        return (f"id={session_id}",)

    def terminate_session(self, session: Any) -> None:
        self._note(f"terminated {len(session)}")

    def close(self) -> None:
        self._note("closed")


def _blocked_in_c(_: str, __: Turn) -> None:
    ctypes.PyDLL(None).sleep(60)  # a C call that keeps the interpreter's lock


def _tools(path: str, _: Turn) -> None:
    """Tools of every kind: a child, a session of its own, a daemon."""
    pids = [
        subprocess.Popen(["sleep", "600"]).pid,
        subprocess.Popen(["sleep", "600"], start_new_session=True).pid,
    ]
    command = "setsid sh -c 'echo $$; exec sleep 600' & wait -n 2>/dev/null; exit 0"
    daemon = subprocess.Popen(["sh", "-c", command], stdout=subprocess.PIPE, text=True)
    pids.append(int(daemon.stdout.readline() if daemon.stdout else 0))
    say(path, " ".join(map(str, (os.getpid(), *pids))))


_STEPS: dict[str, Any] = {
    "hi": lambda _, __: None,
    "here": lambda path, _: say(path, os.getpid()),
    "sleep": lambda _, __: time.sleep(60),
    "c": _blocked_in_c,
    "segfault": lambda _, __: ctypes.string_at(0),
    "spin": lambda _, __: _spin(),
    "exit": lambda status, _: os._exit(int(status)),
    "raise": lambda _, __: _raise(),
    "kill": lambda name, _: os.kill(os.getpid(), getattr(signal, name)),
    "tools": _tools,
    "checkpoint": lambda session_id, turn: turn.checkpoint(session_id),
    "silent": lambda seconds, _: time.sleep(float(seconds)),
}


def _raise() -> None:
    raise ValueError("secret text")


def _spin() -> None:
    while True:
        pass
