"""Measures the floor in a process of its own: one JSON order per line in, one JSON answer per line out.

Run by `floors`. Thespian reads its limits from the environment when it is imported, and gen_agent sets some:
the floor must not inherit them. This module must not import gen_agent.
"""

from __future__ import annotations

import json
import os
import pathlib
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from thespian.actors import ActorSystem

from tests.benchmarks.floor import Agent, Echo, Listener

BASE = "multiprocTCPBase"
QUIET = {"version": 1, "root": {"handlers": [], "level": "CRITICAL"}}
LONG = timedelta(seconds=120)
WARM_UP = 30


class Floor:
    """The floor's side of every measure; times are taken here, in seconds."""

    def __init__(self) -> None:
        capabilities = {"Admin Port": free_port()}
        self._system = ActorSystem(BASE, capabilities, QUIET, transientUnique=True)
        self._agents: list[Any] = []

    def close(self) -> None:
        """End the system."""
        self._system.shutdown()

    def _ask(self, actor: Any, *message: Any, answer: str = "done") -> Any:
        got = self._system.ask(actor, message, LONG)
        if not isinstance(got, tuple) or got[0] != answer:
            raise AssertionError(f"{answer} was expected")
        return got[2]

    def _await(self, count: int) -> None:
        while count:
            got = self._system.listen(LONG)
            if not isinstance(got, tuple) or got[0] != "done":
                raise AssertionError("an answer was expected")
            count -= 1

    def start(self, count: int) -> float:
        """Start agents with their workers; how long until all serve."""
        began = time.perf_counter()
        fresh = [self._system.createActor(Agent) for _ in range(count)]
        for agent in fresh:
            self._system.tell(agent, ("ready", 0, None))
        self._await(count)
        self._agents += fresh
        return time.perf_counter() - began

    def pids(self) -> list[int]:
        """The processes of all agents and workers."""
        return [pid for agent in self._agents for pid in self._ask(agent, "pids", 0)]

    def asks(self, seconds: float) -> float:
        """Round trips per second of one client with one agent."""
        agent = self._agents[0]
        return rate(lambda: self._ask(agent, "ask", 0, "hi"), seconds)

    def submissions(self, count: int) -> float:
        """Requests per second, sent without waiting, until the last answer."""
        began = time.perf_counter()
        for number in range(count):
            self._system.tell(self._agents[0], ("ask", number, "hi"))
        self._await(count)
        return count / (time.perf_counter() - began)

    def crowd(self, turns: int) -> float:
        """Turns per second of all agents together."""
        began = time.perf_counter()
        for number in range(turns):
            for agent in self._agents:
                self._system.tell(agent, ("ask", number, "hi"))
        count = turns * len(self._agents)
        self._await(count)
        return count / (time.perf_counter() - began)

    def stream(self, events: int, batch: int) -> float:
        """Events per second to the client."""
        began, seen = time.perf_counter(), 0
        got = self._system.ask(self._agents[0], ("stream", 0, (events, batch)), LONG)
        while got[0] == "events":
            seen += len(got[2])
            got = self._system.listen(LONG)
        assert seen == events
        return events / (time.perf_counter() - began)

    def stream_to_actor(self, events: int, batch: int) -> float:
        """Events per second to another actor."""
        listener = self._system.createActor(Listener)
        began = time.perf_counter()
        seen = self._ask(listener, "listen", self._agents[0], ("stream", 0, (events, batch)))
        assert seen == events
        return events / (time.perf_counter() - began)

    def interrupt(self) -> tuple[float, float]:
        """How long from killing a blocked turn to the news, and to the next answer, in milliseconds."""
        agent = self._agents[0]
        with tempfile.TemporaryDirectory() as folder:
            fifo = pathlib.Path(folder, "started")
            os.mkfifo(fifo)
            self._system.tell(agent, ("block", 0, str(fifo)))
            fifo.read_bytes()
        began = time.perf_counter()
        self._ask(agent, "interrupt", 0, None, answer="interrupted")
        told = time.perf_counter() - began
        self._ask(agent, "ask", 0, "hi")
        return 1e3 * told, 1e3 * (time.perf_counter() - began)

    def payload(self, size: int) -> float:
        """How long a prompt and an answer of that size take, through agent and worker, in milliseconds."""
        return milliseconds(lambda: self._ask(self._agents[0], "ask", 0, "x" * size))

    def raw(self, size: int) -> float:
        """How long a message of that size takes to one actor and back, in milliseconds."""
        echo = self._system.createActor(Echo)
        self._ask(echo, "done", 0, "")
        return milliseconds(lambda: self._ask(echo, "done", 0, "x" * size))


def rate(action: Callable[[], object], seconds: float) -> float:
    """How often per second `action` can be done."""
    for _ in range(WARM_UP):
        action()
    count, began = 0, time.perf_counter()
    while (spent := time.perf_counter() - began) < seconds:
        action()
        count += 1
    return count / spent


def milliseconds(action: Callable[[], object]) -> float:
    """How long `action` takes once, in milliseconds."""
    began = time.perf_counter()
    action()
    return 1e3 * (time.perf_counter() - began)


def free_port() -> int:
    """A port nobody listens on now."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def main() -> None:
    """Carry out orders until there are no more."""
    floor = Floor()
    try:
        for line in sys.stdin:
            name, arguments = json.loads(line)
            print(json.dumps(getattr(floor, name)(*arguments)), flush=True)
    finally:
        floor.close()


if __name__ == "__main__":
    main()
