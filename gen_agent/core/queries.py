"""Questions that change nothing (C057, C070, C076)."""

from __future__ import annotations

from gen_agent.core import status
from gen_agent.core.admission import is_pending
from gen_agent.core.model import Model
from gen_agent.core.signals import Answer, Polled, SnapshotAsked, StatusAsked, UnknownAsked
from gen_agent.errors import GenAgentError, RequestNotFound, UnknownRequest
from gen_agent.values import PENDING


def poll(m: Model, event: Polled) -> None:
    """The cached outcome, PENDING, or not found (C117, C118)."""
    result = m.results.get(event.ref)
    if result is not None:
        failed = isinstance(result.outcome, GenAgentError)
        value, error = (None, result.outcome) if failed else (result.outcome, None)
        m.out.append(Answer(event.by, value, error, result.sealed))  # type: ignore[arg-type]
    elif is_pending(m, event.ref):
        m.out.append(Answer(event.by, PENDING))
    else:
        m.out.append(Answer(event.by, error=RequestNotFound(event.ref)))


def tell_status(m: Model, event: StatusAsked) -> None:
    """C192."""
    m.out.append(Answer(event.by, status.status(m)))


def tell_snapshot(m: Model, event: SnapshotAsked) -> None:
    """C193."""
    m.out.append(Answer(event.by, status.snapshot(m)))


def unknown(m: Model, event: UnknownAsked) -> None:
    """C076."""
    m.log("debug", "an unknown call")
    m.out.append(Answer(event.by, error=UnknownRequest()))
