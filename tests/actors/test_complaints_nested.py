"""What users of such systems complain about, tried on agents of other kinds: one that waits for another, one
whose worker takes its time to come.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from gen_agent import PENDING, Agent, NoReply, Prompt
from gen_agent.actors.system import AgentSystem
from gen_agent.backends.stage import Stage, StageAddress
from gen_agent.messages import Reply
from gen_agent.values import RequestRef
from tests.bases import OWN
from tests.contract.stagehand import GATE_S, Stagehand
from tests.contract.troupe import PATIENCE_S, Troupe


@pytest.fixture
def troupe(tmp_path: Path) -> Iterator[Troupe]:
    """A system with a client and a stage for one test."""
    with contextlib.ExitStack() as more, AgentSystem(OWN) as agents, Stage() as stage:
        yield Troupe(
            agents, stage, OWN, str(tmp_path / "diary"), lambda: more.enter_context(agents.private())
        )


class SlowlyBuilt(Stagehand):
    """A backend that is held at the gate "building" while the file `slow` is there."""

    def __init__(self, stage: StageAddress, diary: str | None, slow: str) -> None:
        super().__init__(stage, diary)
        if os.path.exists(slow):
            stage.wait_at("building", GATE_S)


class Delegating(Agent):
    """Hands every event on to the agent "inner", works on it itself meanwhile, and keeps what becomes of
    both.
    """

    def init_agent(self, options: Mapping[str, Any]) -> tuple[Mapping[str, Any], Any]:
        return {"stage": options["stage"]}, ()

    def handle_event(self, event: Any, state: Any) -> Any:
        self.context.client.ask("inner", f"{event} hold:inner")
        return Prompt(f"{event} hold:outer", state)

    def handle_response(self, ref: RequestRef, response: Any, state: Any) -> Any:
        return NoReply((*state, f"outer {response.text}"))

    def handle_error(self, ref: RequestRef, error: Any, state: Any) -> Any:
        return NoReply((*state, f"outer {error.code}"))

    def handle_info(self, message: Any, sender: Any, state: Any) -> Any:
        assert isinstance(message, Reply)
        code = getattr(message.error, "code", "answered")
        return NoReply((*state, f"inner {code}"))


def running(troupe: Troupe, agent: Any) -> RequestRef:
    """The ref of the request that an agent works on."""
    active = troupe.agents.runtime_snapshot(agent).current_request
    assert active is not None
    return active.ref


def test_an_interrupt_of_the_outer_of_two_agents_ends_its_turn(troupe: Troupe) -> None:
    """C119, C120: an agent that waits for another one's answer is interrupted like any; the other one's turn
    is a request of its own, which ends by its own ref, and neither goes on by itself."""
    inner = troupe.start("inner")
    outer = troupe.agents.start_agent(Delegating, name="a", backend=Stagehand, stage=troupe.stage.address)
    troupe.agents.notify_ack(outer, "work")
    for gate in ("outer", "inner"):
        troupe.stage.wait_blocked(gate, PATIENCE_S)
    assert troupe.agents.interrupt_request(outer, running(troupe, outer)) == "accepted"
    troupe.stage.wait_gone("outer", PATIENCE_S)
    asked = running(troupe, inner)
    assert troupe.agents.poll(inner, asked) is PENDING
    assert troupe.agents.interrupt_request(inner, asked) == "accepted"
    troupe.stage.wait_gone("inner", PATIENCE_S)
    heard = ("outer interrupted", "inner interrupted")
    troupe.until(lambda: troupe.agents.status(outer).agent_state == heard)
    assert [troupe.agents.status(one).state for one in (outer, inner)] == ["idle", "idle"]


def test_what_comes_while_a_worker_is_being_replaced_waits(troupe: Troupe, tmp_path: Path) -> None:
    """C137, C147: asks, tells and submits that arrive between a worker's end and its successor are queued,
    and all of them are answered."""
    slow = tmp_path / "slow"
    agent = troupe.start(backend=SlowlyBuilt, forward={"slow": str(slow)})
    ref = troupe.hold(agent)
    slow.touch()
    assert troupe.agents.interrupt_request(agent, ref) == "accepted"
    troupe.stage.wait_blocked("building", PATIENCE_S)
    slow.unlink()
    refs = [
        troupe.agents.submit_with_completion(agent, "submitted"),
        troupe.agents.tell_with_completion(agent, "told"),
    ]
    asking = troupe.asking(agent, "asked")
    troupe.until(lambda: troupe.agents.runtime_snapshot(agent).pending_prompts == 2)
    assert [troupe.agents.poll(agent, ref) for ref in refs] == [PENDING, PENDING]
    troupe.release("building")
    assert troupe.outcomes(ref, *refs) == ["interrupted", "submitted", "told"]
    assert asking.ended() == "asked"
