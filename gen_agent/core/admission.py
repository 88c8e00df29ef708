"""Prompts from outside: dispatched, queued or refused; and how each kind of sender learns which (C051-C056).

An ask hears its outcome or a refusal, a tell its ref or a refusal, a submit's recipient an Admission either
way.
"""

from __future__ import annotations

from gen_agent.core import report
from gen_agent.core.delivery import enqueue
from gen_agent.core.dispatch import dispatch
from gen_agent.core.model import Model
from gen_agent.core.requests import Origin, Request
from gen_agent.core.signals import Admit, Answer, Asked, Submitted, Told
from gen_agent.errors import Draining, GenAgentError, Halted, UnknownRequest
from gen_agent.values import RequestRef

Prompted = Asked | Told | Submitted


def start(m: Model, event: Prompted) -> None:
    """Dispatch on an idle agent; what `pre_turn` rejects has been accepted all the same (C031, C201)."""
    if known(m, event.ref):
        _refuse(m, event, UnknownRequest())
        return
    request = _request(event)
    dispatch(m, request)
    if isinstance(event, Submitted) and m.turn is not None:
        m.turn.admit = event.recipient
    else:
        _accept(m, event)


def queue(m: Model, event: Prompted) -> None:
    """Queue while a turn runs, or refuse what doesn't fit (C147-C152)."""
    if known(m, event.ref):
        _refuse(m, event, UnknownRequest())
        return
    request = _request(event)
    refusal = m.prompts.refusal(request.size)
    if refusal is None:
        enqueue(m, request)
        _accept(m, event)
        return
    report.refused(m, refusal)
    report.rejected(m, request, refusal)
    _refuse(m, event, refusal)


def queue_halted(m: Model, event: Prompted) -> None:
    """Queue until `resume`, unless the sender wants to fail instead; that leaves no trace (C054, C237)."""
    if not isinstance(event, Asked) and event.on_halt == "fail":
        _refuse(m, event, Halted())
    else:
        queue(m, event)


def refuse(m: Model, event: Prompted) -> None:
    """A draining agent takes nothing more (C088)."""
    report.refused(m, Draining())
    report.rejected(m, _request(event), Draining())
    _refuse(m, event, Draining())


def known(m: Model, ref: RequestRef) -> bool:
    """Whether this agent has `ref` already: a ref names one request for ever."""
    return ref in m.results.entries or is_pending(m, ref)


def is_pending(m: Model, ref: RequestRef) -> bool:
    """Whether `ref` is active, queued or waiting in the slot (C117, C118)."""
    if ref in m.prompts.entries or (m.turn is not None and m.turn.request.ref == ref):
        return True
    return m.slot is not None and m.slot.request.ref == ref


def _request(event: Prompted) -> Request:
    if isinstance(event, Asked):
        return Request(event.ref, event.prompt, event.size, Origin.ASK, 1, event.by, event.caller)
    fails = event.on_halt == "fail"
    owner = (event.recipient, fails, event.stream_to, event.stream_batch)
    return Request(event.ref, event.prompt, event.size, Origin.TELL, 1, None, None, *owner)


def _accept(m: Model, event: Prompted) -> None:
    if isinstance(event, Told):
        m.out.append(Answer(event.by, event.ref))
    elif isinstance(event, Submitted):
        m.out.append(Admit(event.recipient, event.ref, None))


def _refuse(m: Model, event: Prompted, error: GenAgentError) -> None:
    if isinstance(event, Submitted):
        if not isinstance(error, UnknownRequest):
            m.out.append(Admit(event.recipient, event.ref, error))
    else:
        m.out.append(Answer(event.by, error=error))
