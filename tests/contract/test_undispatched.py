"""Requests that no worker ever saw, on real processes: which callbacks and telemetry they have."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from gen_agent.actors.processes import Watched
from tests.actors.boss import Boss
from tests.contract.cast import BAD, HALT, RAISE, SKIP
from tests.contract.history_actor import Numbered
from tests.contract.troupe import PATIENCE_S, Troupe

pytestmark = pytest.mark.bases

ACCOUNTANT = ("tests.contract.diary:accountant",)
UNAVAILABLE = "task_supervisor_unavailable"


def told(troupe: Troupe) -> list[str]:
    """What callbacks and telemetry have written of turns so far."""
    kinds = ("handle_error", "post_turn", "told turn.", "told prompt.")
    return [line for line in troupe.written() if line.startswith(kinds)]


def test_without_a_worker_nothing_starts(troupe: Troupe, tmp_path: Path) -> None:
    """C043, C137, C236: who can't be given to a worker is rejected and has a prompt.error without a duration,
    no start; handle_error and post_turn hear of it, and the next request has a worker again."""
    barred = tmp_path / "barred"
    agent = troupe.start(forward={"barred": str(barred)}, telemetry=ACCOUNTANT)
    barred.touch()
    assert troupe.ask(agent, "a exit:3") == "task_crashed"
    before = len(told(troupe))
    assert troupe.ask(agent, "b") == UNAVAILABLE
    assert told(troupe)[before:] == [
        f"told turn.rejected: system_time_s | attempt origin reason_kind ref {UNAVAILABLE}",
        "told prompt.error: system_time_s | agent_state attempt reason ref",
        f"handle_error {UNAVAILABLE}",
        f"post_turn {UNAVAILABLE}",
    ]
    os.unlink(barred)
    assert troupe.ask(agent, "c") == "c"


def test_post_turn_is_for_turns_only(troupe: Troupe) -> None:
    """C043: what pre_turn refuses, what is cancelled, fails on a halt or is drained away has no post_turn."""
    acts = {"skip": SKIP, "halt": HALT, "bad": BAD, "raise": RAISE}
    agent = troupe.start(book={("pre_turn", word): act for word, act in acts.items()})
    codes = [troupe.ask(agent, word) for word in ("skip", "bad", "raise")]
    assert codes == ["pre_turn_skipped", "pre_turn_invalid", "pre_turn_skipped"]
    assert troupe.ask(agent, "halt") == "pre_turn_halted"
    cancelled, drained = (troupe.agents.tell_with_completion(agent, name) for name in ("b", "c"))
    assert troupe.agents.cancel_request(agent, cancelled) == "cancelled"
    troupe.agents.drain(agent, timeout=PATIENCE_S)
    assert troupe.outcomes(cancelled, drained) == ["cancelled", "draining"]
    assert not [line for line in troupe.written() if line.startswith(("post_turn", "handle_error"))]


def test_what_fails_on_a_halt_has_no_post_turn(troupe: Troupe) -> None:
    """C043, C085: the turn that halted has its post_turn, and the requests that it ended have none."""
    agent = troupe.start()
    held = troupe.hold(agent)
    ended = troupe.agents.tell_with_completion(agent, "b", on_halt="fail")
    troupe.agents.halt(agent)
    troupe.release()
    assert troupe.outcomes(held, ended) == ["held", "halted"]
    assert [line for line in troupe.lines(agent) if line.startswith("post_turn")] == ["post_turn ok"]


def test_a_queued_ask_goes_with_its_caller(troupe: Troupe) -> None:
    """C077, C108, C225: when the process that asked dies, its queued ask is gone, no backend ever sees it,
    and it is told as cancelled; what runs goes on, and what else waits runs."""
    agent = troupe.start(telemetry=("tests.contract.diary:clerk",))
    held = troupe.hold(agent)
    boss = Boss(troupe.more(), Numbered)
    boss.do("ask", agent, "asked")
    troupe.until(lambda: troupe.agents.status(agent).queued == 1)
    other = troupe.agents.tell_with_completion(agent, "other")
    with Watched(boss.do("pid")) as process:
        process.signal(signal.SIGKILL)
        assert process.wait(PATIENCE_S)
    troupe.until(lambda: troupe.agents.status(agent).queued == 1)
    troupe.release()
    assert troupe.outcomes(held, other) == ["held", "other"]
    written = troupe.written()
    assert "booked turn.cancelled: origin=ask attempt=1 reason_kind=caller_down" in written
    prompts = [line for line in written if line.startswith("prompt ")]
    assert prompts == ["prompt held hold:here", "prompt other"]
