"""Status and snapshot (C192-C194, C216, C217)."""

from __future__ import annotations

import attrs
import pytest

from gen_agent.agent import Prompt
from gen_agent.core import signals as on
from gen_agent.values import RuntimeSnapshot, Status
from tests.core.rig import COLUMNS, Rig, rig_in

SECRET = "secret"


def keys(cls: type) -> set[str]:
    return {field.name for field in attrs.fields(cls)}


@pytest.mark.parametrize("column", COLUMNS)
def test_keys(column: str) -> None:
    """C192, C193: exactly the contract's keys, in every column."""
    rig = rig_in(column)
    assert isinstance(rig.status(), Status)
    assert isinstance(rig.snapshot(), RuntimeSnapshot)
    assert keys(Status) == {
        "state", "name", "queued", "current_request", "halted", "halt_pending", "draining", "agent_state",
    }  # fmt: skip
    assert keys(RuntimeSnapshot) == {
        "phase", "halted", "halt_pending", "draining", "pending_prompts", "pending_notifications",
        "self_chain_pending", "current_request",
    }  # fmt: skip


def test_status_of_a_turn() -> None:
    """C192: name, active ref and number of queued prompts."""
    rig = rig_in("P")
    rig.tell("a")
    rig.ask("b")
    status = rig.status()
    assert (status.name, status.current_request, status.queued) == ("n", rig.active, 2)


def test_snapshot_holds_no_content() -> None:
    """C193, C216: neither prompts nor states nor events are in a snapshot, nor shown by a status."""
    rig = Rig()
    rig.model().agent_state = (SECRET,)
    rig.ask(SECRET, by=("ask", SECRET))
    rig.tell(SECRET)
    rig.notify(SECRET)
    assert SECRET not in repr(rig.snapshot())
    assert SECRET not in repr(rig.status())


def test_status_is_not_redacted() -> None:
    """C217: whoever asks for the status gets the real state."""
    rig = Rig()
    rig.notify("seen")
    assert rig.status().agent_state == ("seen",)


def test_origins() -> None:
    """C194: ask, tell of every kind, event, self-chain."""
    rig = Rig().plan("handle_event", lambda event, state: Prompt("follow", state))

    def origin() -> str:
        current = rig.snapshot().current_request
        assert current is not None
        return current.origin

    for start, name in ((rig.ask, "ask"), (rig.tell, "tell"), (rig.submit, "tell")):
        start()
        assert origin() == name
        rig.end()
    rig.notify("e")
    assert origin() == "event"
    rig.plan("handle_response", lambda ref, response, state: Prompt("chain", state))
    rig.end()
    assert origin() == "self_chain"


def test_effects_and_events_hide_what_users_wrote() -> None:
    """C216: nothing a user wrote shows in the repr of an event or effect."""
    rig = Rig()
    rig.plan("handle_event", lambda event, state: Prompt(SECRET, (SECRET,)))
    rig.notify(SECRET)
    rig.end(SECRET)
    rig.tell(SECRET, "to")
    rig.end(SECRET)
    rig.call(on.StatusAsked)
    effects = [entry for entry in rig.trace if type(entry).__module__ == "gen_agent.core.effects"]
    events = [
        on.Asked("by", rig.ref(), SECRET, 6),
        on.Notified(SECRET, 6),
        on.InfoArrived(SECRET, None, 6),
        on.Booted(SECRET, None),  # type: ignore[arg-type]
    ]
    assert SECRET not in repr(effects) + repr(events)
