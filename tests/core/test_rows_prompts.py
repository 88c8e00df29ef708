"""The rows of the contract's matrix about prompts, polls and notifications (C051-C060), in all five
columns.
"""

from __future__ import annotations

from typing import Any

import pytest

from gen_agent.agent import Prompt
from gen_agent.core import signals as on
from gen_agent.core.model import State
from gen_agent.errors import Draining, Halted, Overloaded, RequestNotFound
from gen_agent.values import PENDING, Caller
from tests.core.rig import COLUMNS, rig_in
from tests.core.rig_agents import InfoAgent

ME = Caller("host", 1, 2)
QUEUEING = ("P", "PH", "H")

each = pytest.mark.parametrize("column", COLUMNS)


@each
def test_ask(column: str) -> None:
    """C051: an ask runs at once, waits in the queue with its caller watched, or is refused while draining."""
    rig = rig_in(column)
    ref = rig.ask("question", caller=ME)
    if column == "I":
        assert rig.started() == ["question"]
        assert rig.asked(ref) is None
    elif column == "D":
        assert rig.asked(ref) == Draining()
        assert rig.snapshot().pending_prompts == 0
    else:
        assert rig.all(on.WatchCaller) == [on.WatchCaller(ME)]
        assert (rig.snapshot().pending_prompts, rig.poll(ref), rig.asked(ref)) == (1, PENDING, None)


@each
@pytest.mark.parametrize("on_halt", ["queue", "fail"])
@pytest.mark.parametrize("recipient", [None, "to"])
def test_tell(column: str, on_halt: Any, recipient: Any) -> None:
    """C052-C054: a tell is answered with its ref when it runs or is queued; halted, `on_halt="fail"` is
    refused.
    """
    rig = rig_in(column)
    ref = rig.tell("work", recipient, on_halt=on_halt)
    if column == "D":
        assert (rig.asked(ref), rig.poll(ref)) == (Draining(), RequestNotFound(ref))
    elif column == "H" and on_halt == "fail":
        assert (rig.asked(ref), rig.poll(ref)) == (Halted(), RequestNotFound(ref))
        assert rig.snapshot().pending_prompts == 0
    else:
        assert (rig.asked(ref), rig.poll(ref)) == (ref, PENDING)
        assert rig.started() == (["work"] if column == "I" else [])
        assert rig.snapshot().pending_prompts == (1 if column in QUEUEING else 0)
    assert rig.completions(ref) == []


@each
@pytest.mark.parametrize("on_halt", ["queue", "fail"])
def test_submit(column: str, on_halt: Any) -> None:
    """C055, C056: a submit's recipient gets one admission: accepted when it runs or is queued, or the
    refusal.
    """
    rig = rig_in(column)
    ref = rig.submit("work", on_halt=on_halt)
    refused = {"D": Draining()}.get(column, Halted() if (column, on_halt) == ("H", "fail") else None)
    assert rig.admissions(ref) == [refused]
    assert rig.poll(ref) == (PENDING if refused is None else RequestNotFound(ref))
    assert rig.completions(ref) == []


@each
def test_submit_overload(column: str) -> None:
    """C055, C199: where a submit would be queued and doesn't fit, the admission carries the overload."""
    rig = rig_in(column, max_pending_prompts=0)
    ref = rig.submit("work")
    (error,) = rig.admissions(ref)
    assert isinstance(error, Overloaded) == (column in QUEUEING)
    assert rig.completions(ref) == []


@each
def test_poll(column: str) -> None:
    """C057: finished is answered from the cache, active or queued is pending, anything else is not found."""
    rig = rig_in(column)
    unknown = rig.ref()
    assert rig.poll(unknown) == RequestNotFound(unknown)
    if column in ("P", "PH", "D"):
        assert rig.poll(rig.active) == PENDING
    queued = rig.tell()
    if column in QUEUEING:
        assert rig.poll(queued) == PENDING
    if column == "P":
        rig.end("done")
        assert rig.poll(rig.active).text == "done"


@each
def test_notify(column: str) -> None:
    """C058: a notification is handled at once when no turn runs, kept while one runs, dropped while
    draining.
    """
    rig = rig_in(column)
    rig.notify("news")
    assert len(rig.called("handle_event")) == (1 if column in ("I", "H") else 0)
    assert rig.snapshot().pending_notifications == (1 if column in ("P", "PH") else 0)
    reasons = [told.about["reason"] for told in rig.told("input.rejected")]
    assert reasons == ([Draining()] if column == "D" else [])


@each
def test_notify_that_does_not_fit(column: str) -> None:
    """C058, C059: a full notification queue drops a notification and refuses an acknowledged one."""
    rig = rig_in(column, max_pending_notifications=0)
    rig.notify("news")
    rig.notify("news", by="me")
    refused = rig.answer("me")
    if column in ("P", "PH"):
        assert isinstance(refused, Overloaded)
        assert len(rig.told("input.rejected")) == 2
    else:
        assert refused == (Draining() if column == "D" else None)


@each
def test_notify_prompt(column: str) -> None:
    """C058: what an event prompts runs at once when idle and is queued when halted."""
    rig = rig_in(column).always("handle_event", lambda event, state: Prompt("follow", state))
    rig.notify("news")
    assert rig.started() == (["follow"] if column == "I" else [])
    assert rig.snapshot().pending_prompts == (1 if column == "H" else 0)


@each
def test_notify_ack(column: str) -> None:
    """C059: an acknowledged notification is answered when it was handled or kept."""
    rig = rig_in(column)
    rig.notify("news", by="me")
    (answer,) = rig.all(on.Answer)
    assert answer == on.Answer("me", error=Draining() if column == "D" else None)


def test_notify_ack_whose_prompt_has_no_room() -> None:
    """C059: halted, an acknowledged notification whose prompt can't be queued is answered with the
    overload.
    """
    rig = rig_in("H", max_pending_prompts=0).always(
        "handle_event", lambda event, state: Prompt("follow", state)
    )
    rig.notify("news", by="me")
    assert isinstance(rig.answer("me"), Overloaded)
    assert [error.queue for _, error, _ in rig.called("handle_error")] == ["prompts"]


def test_notify_ack_whose_prompt_is_skipped() -> None:
    """C059: idle, an acknowledged notification is handled even if `pre_turn` skips what it prompts."""
    rig = rig_in("I").plan("handle_event", lambda event, state: Prompt("follow", state))
    rig.plan("pre_turn", RuntimeError())
    rig.notify("news", by="me")
    assert rig.all(on.Answer) == [on.Answer("me")]


@each
def test_info(column: str) -> None:
    """C060: an ordinary message is handled, kept or dropped like a notification, but silently while
    draining.
    """
    rig = rig_in(column, InfoAgent)
    rig.info("tick")
    assert len(rig.called("handle_info")) == (1 if column in ("I", "H") else 0)
    assert rig.snapshot().pending_notifications == (1 if column in ("P", "PH") else 0)
    assert rig.told("input.rejected") == []


@each
def test_info_that_does_not_fit(column: str) -> None:
    """C060, C156: an ordinary message beyond the notification limits is dropped with a warning and
    telemetry.
    """
    rig = rig_in(column, InfoAgent, max_pending_notifications=0)
    rig.info("secret")
    dropped = column in ("P", "PH")
    assert [level for level, _ in rig.logged] == (["warning"] if dropped else [])
    assert len(rig.told("input.rejected")) == (1 if dropped else 0)
    assert "secret" not in str(rig.logged)


def test_info_prompt_is_queued_when_halted() -> None:
    """C060: halted, what an ordinary message prompts is queued."""
    rig = rig_in("H", InfoAgent).plan("handle_info", lambda message, sender, state: Prompt("follow", state))
    rig.info("tick")
    assert rig.snapshot().pending_prompts == 1
    rig.feed(on.ResumeAsked())
    assert rig.started() == ["follow"]
    assert rig.state is State.PROCESSING
