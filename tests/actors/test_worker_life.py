"""The life of workers: reused, replaced, refused; what they hold and what they know. On real processes."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from gen_agent.actors.processes import children
from gen_agent.errors import WorkerUnavailable
from gen_agent.messages import Ask
from tests.actors import agent_workers as workers
from tests.actors.agent_rig import ON_STOCK_TOO, Plain

pytestmark = ON_STOCK_TOO


def test_one_worker_serves_turn_after_turn(stock: Plain) -> None:
    """A worker is reused: ten turns, one process, one child of the agent."""
    agent = stock.start()
    pids = {agent.call(Ask("hi")).terminal.data["pid"] for _ in range(10)}
    assert [child.pid for child in children(agent.pid)] == list(pids)


def test_a_worker_is_replaced_after_its_turns(stock: Plain, tmp_path: Path) -> None:
    """max_turns_per_worker=2: each pair of turns has a worker of its own, whose backend is closed; the
    session goes on.
    """
    diary = tmp_path / "diary"
    agent = stock.start(diary=str(diary), max_turns_per_worker=2)
    turns = [agent.call(Ask("hi")).terminal.data for _ in range(6)]
    pids = [turn["pid"] for turn in turns]
    assert pids[0] == pids[1] != pids[2] == pids[3] != pids[4] == pids[5]
    assert [turn["turns"] for turn in turns] == [1, 2, 3, 4, 5, 6]
    closed = [int(line.split()[1]) for line in diary.read_text().splitlines() if line.startswith("closed")]
    assert closed[:2] == [pids[0], pids[2]]


def test_a_replacement_that_can_not_start(stock: Plain, tmp_path: Path) -> None:
    """C137: a worker that can't be had is WorkerUnavailable for that turn, and is tried anew for the next."""
    flag = tmp_path / "broken"
    agent = stock.start(backend=workers.Breakable, flag=str(flag))
    flag.touch()
    agent.reply(Ask("exit:1"))
    assert isinstance(agent.reply(Ask("hi")).error, WorkerUnavailable)
    assert isinstance(agent.reply(Ask("hi")).error, WorkerUnavailable)
    flag.unlink()
    assert agent.call(Ask("hi")).text == "hi"


def test_a_first_worker_that_dies(stock: Plain) -> None:
    """A backend whose constructor ends the process fails the start, which is answered."""
    error = stock.reply_to_start(workers.Counting, workers.DiesAtOnce).error
    assert error.fields == {"kind": "worker", "exception": "9"}


def test_a_worker_holds_nothing_of_its_agents(stock: Plain) -> None:
    """Descriptors: a worker has its link and the standard streams, none of its agent's or its siblings'."""
    agents = [stock.start(backend=workers.Describing, name=f"a{number}") for number in range(3)]
    told = [agent.call(Ask("hi")).terminal.data for agent in agents]
    assert [(data["descriptors"], len(data["sockets"])) for data in told] == [(4, 1)] * 3
    sockets = agents[2].call(Ask("hi")).terminal.data["sockets"]
    theirs = {os.readlink(f"/proc/{agents[2].pid}/fd/{fd}") for fd in os.listdir(f"/proc/{agents[2].pid}/fd")}
    assert not {name for name in theirs if name.startswith("socket:")} & set(sockets)


def test_files_of_users_modules_stay_open(stock: Plain) -> None:
    """What a user's module opened when it was imported is there in agent and worker."""
    sys.modules.pop("tests.actors.agent_opens", None)
    agent = stock.start(backend="tests.actors.agent_opens:Reading")
    assert agent.call(Ask("hi")).text == "Reads a file that its module opened."


def test_backend_options_need_not_be_picklable(stock: Plain) -> None:
    """A backend's options go by inheritance: functions, locks and clients made in init_agent reach it."""
    agent = stock.start(workers.WithFunction, workers.Calling)
    assert agent.call(Ask("x")).text == "called with x"


def test_a_large_prompt_and_a_large_answer(stock: Plain) -> None:
    """10 MB each way, and the agent answers meanwhile."""
    agent = stock.start(backend=workers.Repeating, max_pending_prompt_bytes=100_000_000)
    assert agent.call(Ask("x" * 10_000_000), 60.0).text == "x" * 10_000_000


def test_a_session_is_sent_only_where_it_is_not(stock: Plain) -> None:
    """A session mutated in place by a turn that crashes is the one before that turn afterwards (C095)."""
    agent = stock.start(backend=workers.Mutating)
    assert agent.call(Ask("one")).text == "one"
    assert agent.reply(Ask("crash")).error.reason == "ValueError"
    assert agent.call(Ask("two")).text == "one two"
