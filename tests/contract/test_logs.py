"""The log of a system: names and classes, never a content."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gen_agent.actors.system import AgentSystem
from gen_agent.backends.stage import Stage
from tests.actors.crew import Diary
from tests.contract.cast import RAISE, Puppet
from tests.contract.diary import SECRET
from tests.contract.troupe import Troupe

FORMAT = {"()": "tests.contract.diary.LogLine"}


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """The file the system logs to."""
    return tmp_path / "log"


@pytest.fixture
def troupe(log: Path) -> Iterator[Troupe]:
    """A troupe on a system of its own, with its log."""
    handler = {"class": "logging.FileHandler", "filename": str(log), "formatter": "lines"}
    defs = {
        "version": 1,
        "formatters": {"lines": FORMAT},
        "handlers": {"file": handler},
        "root": {"handlers": ["file"], "level": "DEBUG"},
    }
    with AgentSystem(log_defs=defs) as agents, Stage() as stage:
        yield Troupe(agents, stage, "genAgentTCPBase", None)


def lines_of(troupe: Troupe, log: Path, *words: str) -> list[str]:
    """The log's lines with one of these words, once each word has come."""
    troupe.until(lambda: log.exists() and all(word in log.read_text() for word in words))
    return [line for line in log.read_text().splitlines() if any(word in line for word in words)]


HOOKS = ("handle_event", "handle_info", "post_run", "pre_turn", "terminate_agent")


def test_failures_are_logged_by_class_under_their_agent(troupe: Troupe, log: Path) -> None:
    """C048, C218, C219: name and module are with every line, the exception's text with none."""
    agent = troupe.start("me", {(hook, "*"): RAISE for hook in HOOKS})
    troupe.ask(agent, "a")
    troupe.agents.notify_ack(agent, SECRET)
    troupe.agents._line.post(agent.actor, SECRET)
    troupe.agents.halt(agent)
    troupe.agents.resume(agent)
    troupe.agents.stop(agent, timeout=20)
    found = lines_of(troupe, log, *HOOKS)
    assert all(line.startswith(f"me|{Puppet.__module__}|") and "raised ValueError" in line for line in found)
    assert SECRET not in log.read_text()


def test_failures_around_a_turn_and_at_the_end_are_logged_by_class(
    troupe: Troupe, log: Path, tmp_path: Path
) -> None:
    """C038, C042, C048, C218: of handle_error, post_turn, and both cleanups, of which the second runs though
    the first has failed."""
    barred, hooks = tmp_path / "barred", ("handle_error", "post_turn", "terminate_agent")
    book = {(hook, "*"): RAISE for hook in hooks}
    agent = troupe.start("me", book, forward={"barred": str(barred)})
    assert troupe.ask(agent, "a fail") == "backend_error"
    barred.touch()
    troupe.agents.stop(agent, timeout=20)
    found = lines_of(troupe, log, *hooks, "terminate_session")
    assert len(found) == 4
    assert all(line.startswith(f"me|{Puppet.__module__}|") and "raised ValueError" in line for line in found)
    assert SECRET not in log.read_text()


def test_a_workers_log_is_its_agents(troupe: Troupe, log: Path) -> None:
    """C218, C219: also what the backend raises is logged by class, under the agent's name and module."""
    agent = troupe.start("me")
    assert troupe.ask(agent, "a crash") == "task_crashed"
    (line,) = lines_of(troupe, log, "turn raised")
    assert line.startswith(f"me|{Puppet.__module__}|")
    assert "ValueError" in line
    assert SECRET not in log.read_text()


def test_a_stray_message_is_logged_by_class(troupe: Troupe, log: Path) -> None:
    """C041: an agent without handle_info drops it, saying so, and not what it was."""
    agent = troupe.agents.start_agent(Diary, name="me", backend="echo")
    troupe.agents._line.post(agent.actor, SECRET)
    (line,) = lines_of(troupe, log, "no handle_info")
    assert line.startswith(f"me|{Diary.__module__}|")
    assert "str" in line
    assert SECRET not in log.read_text()


def test_a_message_for_which_there_is_no_room_is_logged_by_class(troupe: Troupe, log: Path) -> None:
    """C156: an ordinary message that would have to wait in a full queue is dropped with a warning."""
    agent = troupe.start("me", max_pending_notifications=0)
    ref = troupe.hold(agent)
    troupe.agents._line.post(agent.actor, SECRET)
    (line,) = lines_of(troupe, log, "too many are waiting")
    assert line.startswith(f"me|{Puppet.__module__}|")
    assert "str" in line
    assert SECRET not in log.read_text()
    troupe.release()
    assert troupe.outcome(ref) == "held"
    assert not [one for one in troupe.lines(agent) if one.startswith("handle_info")]


def test_a_failing_start_is_no_leak_either(troupe: Troupe, log: Path) -> None:
    """C017, C218: what a start fails with is logged without its text."""
    with pytest.raises(Exception, match="init_failed") as caught:
        troupe.agents.start_agent(Puppet, name="a", backend="echo", secret=SECRET)
    assert SECRET not in str(caught.value)
    troupe.start("b")
    assert not log.exists() or SECRET not in log.read_text()
