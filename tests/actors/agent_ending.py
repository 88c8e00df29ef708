"""Agents and backends that write down how they end, or end badly."""

from __future__ import annotations

import os
import time
from typing import Any

from thespian.actors import Actor

from gen_agent.agent import NoReply
from tests.actors.agent_cast import Counting, Player, say


def note(diary: str, what: str) -> None:
    """Write a line, as the backend does."""
    with open(diary, "a") as file:
        file.write(f"{what} {os.getpid()}\n")


class Keeping(Counting):
    """Keeps a diary together with its backend."""

    diary = ""

    def init_agent(self, options: Any) -> Any:
        self.diary = options["diary"]
        return super().init_agent(options)

    def terminate_agent(self, reason: str, state: Any) -> None:
        note(self.diary, f"agent ends {reason}")


class FailingAtTheEnd(Keeping):
    """Stumbles at the end."""

    def terminate_agent(self, reason: str, state: Any) -> None:
        note(self.diary, "agent fails")
        raise ValueError("secret")


class BrokenDecision(Keeping):
    """Stumbles over a response."""

    def handle_response(self, ref: Any, response: Any, state: Any) -> Any:
        raise ValueError("secret")


class Stuck(Actor):
    """An actor that says where it is and never returns."""

    def receiveMessage(self, message: Any, sender: Any) -> None:
        if isinstance(message, str):
            say(message, os.getpid())
            time.sleep(600)


class WithStuckChild(Keeping):
    """Its child says at `meeting` where it is, and never returns."""

    def init_agent(self, options: Any) -> Any:
        self.meeting = options["meeting"]
        return super().init_agent({"diary": options["diary"]})

    def pre_run(self, state: Any) -> Any:
        self.context.send(self.context.create_actor(Stuck), self.meeting)
        return state


class HangingAtTheEnd(Player):
    """Never gets done with ending its session."""

    def terminate_session(self, session: Any) -> None:
        self._note("terminating")
        time.sleep(600)


class RaisingAtTheEnd(Player):
    """Stumbles at the end of its session."""

    def terminate_session(self, session: Any) -> None:
        self._note("raising")
        raise ValueError("secret")


class StuckInCallback(Keeping):
    """Says at `meeting` that it is there, and never returns."""

    def init_agent(self, options: Any) -> Any:
        self.meeting = options["meeting"]
        return super().init_agent({"diary": options["diary"]})

    def handle_event(self, event: Any, state: Any) -> Any:
        say(self.meeting, "here")
        time.sleep(600)
        return NoReply(state)
