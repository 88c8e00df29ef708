"""The log of a system: names and classes, never a content."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gen_agent.actors.system import AgentSystem
from gen_agent.backends.stage import Stage
from tests.contract.cast import RAISE, SECRET, Puppet
from tests.contract.troupe import Troupe

FORMAT = {"()": "tests.contract.cast.LogLine"}


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


def test_failures_are_logged_by_class_under_their_agent(troupe: Troupe, log: Path) -> None:
    """C041, C048, C218, C219: name and module are with every line, the exception's text with none."""
    hooks = (
        "handle_error",
        "handle_event",
        "handle_info",
        "post_turn",
        "post_run",
        "pre_turn",
        "terminate_agent",
    )
    agent = troupe.start("me", {(hook, "*"): RAISE for hook in hooks})
    troupe.ask(agent, "a")
    troupe.agents.notify_ack(agent, SECRET)
    troupe.agents._line.post(agent.actor, SECRET)
    troupe.agents.halt(agent)
    troupe.agents.resume(agent)
    quiet = troupe.start("quiet", {("post_turn", "*"): RAISE})
    troupe.ask(quiet, f"a text:{SECRET.split()[0]} crash")
    troupe.agents.stop(agent, timeout=20)
    told = (
        "handle_event",
        "handle_info",
        "post_run",
        "pre_turn",
        "terminate_agent",
        ": turn raised",
        "post_turn",
    )
    found = lines_of(troupe, log, *told)
    assert all("ValueError" in line for line in found)
    assert {tuple(line.split("|")[:2]) for line in found} == {
        ("me", Puppet.__module__), ("quiet", Puppet.__module__)
    }  # fmt: skip
    assert SECRET not in log.read_text()


def test_a_failing_start_is_no_leak_either(troupe: Troupe, log: Path) -> None:
    """C017, C218: what a start fails with is logged without its text."""
    with pytest.raises(Exception, match="init_failed") as caught:
        troupe.agents.start_agent(Puppet, name="a", backend="echo", secret=SECRET)
    assert SECRET not in str(caught.value)
    troupe.start("b")
    assert not log.exists() or SECRET not in log.read_text()
