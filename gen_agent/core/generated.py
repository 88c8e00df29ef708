"""Prompts an agent makes for itself: the reserved slot, event prompts, and what happens when they don't fit.

Nobody waits for these, so a refusal goes to `handle_error` under a fresh ref (C032, C135, C145, C146).
Functions that run it return whether the agent is to halt.
"""

from __future__ import annotations

from gen_agent.agent import Halt, Prompt
from gen_agent.core import report
from gen_agent.core.callbacks import decide
from gen_agent.core.delivery import enqueue
from gen_agent.core.model import Model, State
from gen_agent.core.queues import Limits
from gen_agent.core.requests import Origin, Request, Slot
from gen_agent.core.signals import ClearDeadline, Deadline, SetDeadline
from gen_agent.errors import GenAgentError, Overloaded
from gen_agent.values import RequestRef, payload_size

PACING_S = 0.01
"""How long a generated prompt waits after a rejection, so that calls are served in between (C033)."""


def generated(m: Model, text: str, origin: Origin) -> Request:
    """A request without an owner."""
    return Request(m.mint(), text, payload_size(text), origin)


def slot_refusal(m: Model, size: int) -> Overloaded | None:
    """Why `size` bytes don't fit into the slot: one place, and the queue's byte cap (C141, C144)."""
    taken = m.slot.request.size if m.slot is not None else 0
    limits = Limits("self_chain", 1, m.options.max_pending_prompt_bytes)
    return limits.refusal(int(m.slot is not None), taken, size)


def chain(m: Model, text: str) -> bool:
    """Put a self-chain into the slot, or report why it doesn't fit."""
    refusal = slot_refusal(m, payload_size(text))
    if refusal is not None:
        return unchained(m, refusal)
    m.slot = Slot(generated(m, text, Origin.SELF_CHAIN))
    return False


def unchained(m: Model, refusal: Overloaded, *, paced: bool = False) -> bool:
    """A follow-up didn't fit into the slot (C135, C145)."""
    ref = m.mint()
    report.refused(m, refusal)
    report.prompt_error(m, ref, 1, refusal)
    return reconsider(m, ref, refusal, paced=paced)


def queue_event_prompt(m: Model, request: Request) -> tuple[bool, Overloaded | None]:
    """Queue a prompt that came of a notification; whether to halt, and why it was refused (C146, C152)."""
    refusal = m.prompts.refusal(request.size)
    if refusal is None:
        enqueue(m, request)
        return False, None
    report.refused(m, refusal)
    report.rejected(m, request, refusal)
    report.prompt_error(m, request.ref, 1, refusal)
    return reconsider(m, request.ref, refusal), refusal


def reconsider(m: Model, ref: RequestRef, error: GenAgentError, *, paced: bool = False) -> bool:
    """Ask `handle_error` about a refused prompt that nobody owns; what it prompts goes to the slot.

    What doesn't fit there is reported in turn, but an answer to such a report is dropped (C135, C145).
    """
    decision = decide(m, "handle_error", ref, error)
    if not isinstance(decision, Prompt) or m.state is State.DRAINING:
        return isinstance(decision, Halt)
    refusal = slot_refusal(m, payload_size(decision.text))
    if refusal is None:
        _take_slot(m, decision.text, paced)
    elif not isinstance(error, Overloaded):
        return unchained(m, refusal, paced=paced)
    return False


def _take_slot(m: Model, text: str, paced: bool) -> None:
    request = generated(m, text, Origin.SELF_CHAIN)
    if not paced:
        m.slot = Slot(request)
        return
    m.pacing += 1
    m.slot = Slot(request, m.pacing)
    m.out.append(SetDeadline(Deadline("paced", m.pacing), PACING_S))


def unpace(m: Model) -> None:
    """Let the slot be served with the next work, whatever its deadline."""
    if m.slot is not None and m.slot.pacing:
        m.out.append(ClearDeadline(Deadline("paced", m.slot.pacing)))
        m.slot = Slot(m.slot.request)
