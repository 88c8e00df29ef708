"""What an agent says about itself: derived from its state, never stored (C192-C194)."""

from __future__ import annotations

from gen_agent.core.model import Model, State
from gen_agent.values import CurrentRequest, RuntimeSnapshot, Status


def _phase(m: Model) -> str:
    return "processing" if m.turn is not None else "idle"


def status(m: Model) -> Status:
    """The status with the last retained callback state, which is not redacted (C097, C217)."""
    return Status(
        state=_phase(m),
        name=m.name,
        queued=len(m.prompts.entries),
        current_request=m.turn.request.ref if m.turn is not None else None,
        halted=m.state is State.HALTED,
        halt_pending=m.turn is not None and m.turn.halt_pending,
        draining=m.state is State.DRAINING,
        agent_state=m.agent_state,
    )


def snapshot(m: Model) -> RuntimeSnapshot:
    """The counts and the active request; no prompt, caller, state, session or event (C193)."""
    return RuntimeSnapshot(
        phase=_phase(m),
        halted=m.state is State.HALTED,
        halt_pending=m.turn is not None and m.turn.halt_pending,
        draining=m.state is State.DRAINING,
        pending_prompts=len(m.prompts.entries),
        pending_notifications=len(m.notices),
        self_chain_pending=m.slot is not None,
        current_request=_current(m),
    )


def _current(m: Model) -> CurrentRequest | None:
    if m.turn is None:
        return None
    request = m.turn.request
    elapsed_s = max(0.0, m.now - m.turn.began_s)
    return CurrentRequest(request.ref, request.origin.value, request.attempt, elapsed_s, m.options.watchdog_s)
