"""How many stream events a mailbox keeps for a script that does not read them.

The law: events there is no room for are dropped, counted, and told with the completion of their request
(C181); nothing but events is ever dropped, and none of them is opened. This module must not know mailboxes.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from gen_agent.messages import Completion, EventBatch, EventMessage
from gen_agent.sealed import Sealed
from gen_agent.values import RequestRef
from gen_agent.wire import changed

EVENT_BYTES = 64 << 20
"""How many bytes of stream events wait for one script at most."""

EACH_BYTES = 512
"""What a delivery takes beside the bytes of its events."""

_REMEMBERED_REFS = 1_000


def size_of(message: Any) -> int:
    """How many bytes a delivery of stream events takes; 0 for anything else."""
    if isinstance(message, EventMessage):
        event = message._event
        return EACH_BYTES + (len(event.data) if isinstance(event, Sealed) else 0)
    return EACH_BYTES + len(message._events.raw) if isinstance(message, EventBatch) else 0


class EventRoom:
    """The room for the events of one mailbox, and what was dropped for want of it."""

    def __init__(self, most: int = EVENT_BYTES) -> None:
        self._left = most
        self._dropped: OrderedDict[RequestRef, int] = OrderedDict()

    def taken(self, message: Any) -> tuple[Any, ...]:
        """A message as it is to be kept: a completion with the count of what was dropped before it; nothing
        for events there is no room for.
        """
        size = size_of(message)
        if size > self._left:
            self._drop(message)
            return ()
        self._left -= size
        dropped = self._dropped.pop(message.ref, 0) if isinstance(message, Completion) else 0
        return (changed(message, dropped_events=message.dropped_events + dropped) if dropped else message,)

    def give_back(self, message: Any) -> None:
        """A message that was kept is kept no more."""
        self._left += size_of(message)

    def _drop(self, message: EventMessage | EventBatch) -> None:
        count = len(message) if isinstance(message, EventBatch) else 1
        self._dropped[message.ref] = self._dropped.pop(message.ref, 0) + count
        if len(self._dropped) > _REMEMBERED_REFS:
            self._dropped.popitem(last=False)
