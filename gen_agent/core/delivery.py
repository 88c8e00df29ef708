"""Outcomes on their way to the request's owner: the completion, the cache, the answer (C090, C112, C158)."""

from __future__ import annotations

from gen_agent.core import report
from gen_agent.core.model import Model
from gen_agent.core.requests import Origin, Request
from gen_agent.core.results import Result
from gen_agent.core.signals import Answer, Complete, Outcome, UnwatchCaller, WatchCaller
from gen_agent.errors import GenAgentError, Unpicklable
from gen_agent.sealed import Sealed
from gen_agent.values import payload_size


def deliver(m: Model, request: Request, outcome: Outcome, sealed: Sealed | None = None) -> Answer | None:
    """Complete and cache a tell now; return the answer to an ask, which leaves later (C091)."""
    if request.origin is Origin.ASK:
        return _answer(request, outcome, sealed)
    if request.origin is Origin.TELL:
        m.results.put(request.ref, Result(outcome, sealed, _size(request, outcome, sealed)))
        if request.recipient is not None:
            m.out.append(Complete(request.recipient, request.ref, outcome, sealed))
    return None


def settle(m: Model, request: Request, error: GenAgentError) -> None:
    """Give a request that will never be dispatched its error: telemetry, then delivery, asks included."""
    report.rejected(m, request, error)
    answer = deliver(m, request, error)
    if answer is not None:
        m.out.append(answer)


def enqueue(m: Model, request: Request) -> None:
    """Queue a request that fits."""
    if m.prompts.put(request) and request.caller is not None:
        m.out.append(WatchCaller(request.caller))
    report.queued(m)


def left(m: Model, request: Request) -> Request:
    """A request has just left the queue: a caller is watched while one of its asks is queued (C108)."""
    caller = request.caller
    if caller is not None and request.origin is Origin.ASK and not m.prompts.waits(caller):
        m.out.append(UnwatchCaller(caller))
    return request


def _answer(request: Request, outcome: Outcome, sealed: Sealed | None) -> Answer:
    if isinstance(outcome, GenAgentError):
        return Answer(request.by, error=outcome)
    return Answer(request.by, outcome, sealed=sealed)


def _size(request: Request, outcome: Outcome, sealed: Sealed | None) -> int:
    # The pair of ref and outcome (C159): its pickle, or an error's code where there is no more to it. What
    # can't be pickled can't be sent either: its ref alone counts.
    ref = len(str(request.ref))
    if sealed is not None:
        return ref + len(sealed)
    if isinstance(outcome, GenAgentError) and not outcome.names:
        return ref + len(outcome.code)
    try:
        return ref + payload_size(outcome)
    except Unpicklable:
        return ref
