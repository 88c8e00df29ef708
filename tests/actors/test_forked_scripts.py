"""A fork of a script has the script's clients as copies: it can end nothing with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gen_agent.actors.system import AgentSystem
from tests.actors.crew import ALL, Diary, running
from tests.actors.scenes import forked, rest, say


def _tell_of(act: Callable[[], Any]) -> Callable[[int], None]:
    def work(pipe: int) -> None:
        try:
            act()
            say(pipe, "done")
        except RuntimeError as error:
            say(pipe, str(error))
        rest()

    return work


def _leave_the_block(agents: AgentSystem) -> None:
    agents.__exit__(None, None, None)


@pytest.mark.parametrize("base", ALL)
def test_a_fork_ends_nothing(base: str) -> None:
    """A fork that leaves the block leaves it quietly, one that closes is refused; the script's system runs
    on."""
    with running(base) as agents:
        agents.start_agent(Diary, name="a", backend="echo")
        with forked(_tell_of(lambda: _leave_the_block(agents))) as (_, said):
            assert said == "done"
        with forked(_tell_of(agents.close)) as (_, said):
            assert "another process" in said
        assert agents.ask("a", "hello", timeout=10).text == "echo: hello"


@pytest.mark.parametrize("base", ALL)
def test_a_fork_begins_nothing(base: str) -> None:
    """A fork gets neither a client of its own nor the Thespian system: their sockets are the script's."""
    with running(base) as agents:
        for act in (lambda: agents.private().__enter__(), lambda: agents.actor_system):
            with forked(_tell_of(act)) as (_, said):
                assert "another process" in said


def test_a_closed_system_is_not_entered() -> None:
    """Any use after `close` is RuntimeError, entering the block again included."""
    agents = AgentSystem("simpleSystemBase")
    agents.close()
    with pytest.raises(RuntimeError, match="closed"), agents:
        pass
