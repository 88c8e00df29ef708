"""What a backend logs, however much and from wherever, on real processes."""

from __future__ import annotations

import logging
import multiprocessing
import threading
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from gen_agent.actors.system import AgentSystem
from gen_agent.backend import Turn
from gen_agent.events import Event
from tests.actors.agent_cast import Counting, Player
from tests.actors.agent_rig import ON_STOCK_TOO, PROCESS_BASES
from tests.actors.transport_system import wait_until

pytestmark = ON_STOCK_TOO

MANY = 100


def write(number: int) -> None:
    """Log one line."""
    logging.getLogger("user").warning("line %d", number)


class Chatty(Player):
    """Logs many lines in its turn, while another of its own does the same: a `thread` or a `fork`."""

    def prompt(self, session: Any, prompt: str, turn: Turn) -> Iterable[Event]:
        """Begin, have the other one begin, go on."""
        write(-1)
        other: Any = threading.Thread(target=write_many)
        if prompt == "fork":
            other = multiprocessing.get_context("fork").Process(target=write_many)
        other.start()
        write_many()
        other.join()
        yield Event.result(prompt)


def write_many() -> None:
    """Log so many lines that they don't all fit into what is on its way at a time."""
    for number in range(MANY):
        write(number)


def lines(base: str, who: str, folder: Path) -> Counter[str]:
    """What is in the log after a turn in which the worker and `who` write, once that is as much as they
    wrote.
    """
    file = folder / "log"
    handler = {"class": "logging.FileHandler", "filename": str(file)}
    defs = {"version": 1, "handlers": {"file": handler}, "loggers": {"user": {"handlers": ["file"]}}}
    with AgentSystem(base, log_defs=defs) as agents:
        agents.start_agent(Counting, name="a", backend=Chatty)
        assert agents.ask("a", who, timeout=60).text == who
        wait_until(lambda: len(file.read_text().splitlines()) > 2 * MANY, 10.0)
    return Counter(file.read_text().splitlines())


WRITTEN = {"line -1": 1, **{f"line {number}": 2 for number in range(MANY)}}


@pytest.mark.parametrize("base", PROCESS_BASES)
def test_every_line_of_a_worker_arrives(base: str, tmp_path: Path) -> None:
    """C219: what a backend logs reaches the system's log, each line once, though its worker runs no loop and
    logs from any thread."""
    assert lines(base, "thread", tmp_path) == WRITTEN


@pytest.mark.parametrize("base", PROCESS_BASES)
def test_a_backends_own_process_logs_too(base: str, tmp_path: Path) -> None:
    """C219: what a process that a backend forked logs arrives beside the worker's own lines, each once."""
    assert lines(base, "fork", tmp_path) == WRITTEN
