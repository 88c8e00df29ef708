"""From envelopes to the machine's events: sizes measured, users' values opened, the sender remembered.

Whom an answer goes to is a `Caller` handle, which the machine only carries. This module decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from gen_agent import messages
from gen_agent.actors import scripts
from gen_agent.actors.callers import watchable
from gen_agent.core import signals
from gen_agent.envelopes import Call, Cast
from gen_agent.errors import Unpicklable
from gen_agent.sealed import Sealed
from gen_agent.values import CallRef, payload_size


@attrs.frozen(slots=True, eq=False)
class Asker:
    """Who waits for a `Reply`, and under which number."""

    sender: Any
    call: CallRef


def _asked(message: messages.Ask, by: Asker) -> signals.Event:
    caller = watchable(message.caller, by.sender)
    return signals.Asked(by, message.ref, message.prompt, payload_size(message.prompt), caller)


def _told(message: messages.Tell, by: Asker) -> signals.Event:
    return signals.Told(
        by,
        message.ref,
        message.prompt,
        payload_size(message.prompt),
        message.recipient,
        message.on_halt,
        message.stream_to,
        message.stream_batch,
    )


def _submitted(message: messages.Submit) -> signals.Event:
    return signals.Submitted(
        message.ref,
        message.prompt,
        payload_size(message.prompt),
        message.recipient,
        message.on_halt,
        message.stream_to,
        message.stream_batch,
    )


def _event_of(message: messages.Notify | messages.NotifyAck) -> Any:
    sealed = message._event
    return scripts.opened(sealed) if isinstance(sealed, Sealed) else message.event


_CALLS: dict[type, Callable[[Any, Asker], signals.Event]] = {
    messages.Ask: _asked,
    messages.Tell: _told,
    messages.Poll: lambda message, by: signals.Polled(by, message.ref),
    messages.NotifyAck: lambda message, by: signals.Notified(_event_of(message), message.size, by),
    messages.InterruptRequest: lambda message, by: signals.InterruptRequested(by, message.ref),
    messages.CancelRequest: lambda message, by: signals.CancelRequested(by, message.ref),
    messages.Drain: lambda message, by: signals.DrainAsked(by),
    messages.ResetSession: lambda message, by: signals.ResetAsked(by),
    messages.GetStatus: lambda message, by: signals.StatusAsked(by),
    messages.GetSnapshot: lambda message, by: signals.SnapshotAsked(by),
}

_CASTS: dict[type, Callable[[Any], signals.Event]] = {
    messages.Submit: _submitted,
    messages.Notify: lambda message: signals.Notified(_event_of(message), message.size),
    messages.Interrupt: lambda message: signals.InterruptAsked(),
    messages.HaltAgent: lambda message: signals.HaltAsked(),
    messages.ResumeAgent: lambda message: signals.ResumeAsked(),
}


def event_of_call(message: Call, sender: Any) -> signals.Event:
    """The event of a call; one that an agent does not answer is `UnknownAsked` (C076)."""
    by = Asker(sender, message.call)
    make = _CALLS.get(type(message))
    return signals.UnknownAsked(by) if make is None else make(message, by)


def event_of_cast(message: Cast) -> signals.Event | None:
    """The event of a cast; None for one that an agent does not know (C076)."""
    make = _CASTS.get(type(message))
    return None if make is None else make(message)


def event_of_info(message: Any, sender: Any) -> signals.InfoArrived:
    """The event of an ordinary message; what came without pickling and can't be pickled counts as nothing."""
    try:
        size = payload_size(message)
    except Unpicklable:
        size = 0
    return signals.InfoArrived(message, sender, size)
