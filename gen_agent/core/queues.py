"""The two bounded queues of an agent (C147-C157). They count and refuse, and don't know what for.

Every operation costs the same however long the queue is: prompts are found by ref, by caller and by
`on_halt`.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterator
from typing import Any

import attrs

from gen_agent.core.requests import Origin, Request
from gen_agent.errors import Overloaded
from gen_agent.values import Caller, RequestRef


@attrs.frozen(slots=True)
class Limits:
    """A count and a byte bound; `queue` is the name an `Overloaded` gives. 0 bytes refuse everything."""

    queue: str
    max_count: int
    max_bytes: int

    def refusal(self, count: int, size: int, incoming: int) -> Overloaded | None:
        """Why `incoming` bytes more don't fit beside `count` entries of `size` bytes: count first (C149)."""
        if count >= self.max_count:
            limit = "count"
        elif incoming > self.max_bytes - size or not self.max_bytes:
            limit = "bytes"
        else:
            return None
        return Overloaded(self.queue, limit, count, size, incoming, self.max_count, self.max_bytes)


class PromptQueue:
    """FIFO of requests, by admission; a ref is in it once at most."""

    __slots__ = ("_asks", "_failing", "_limits", "entries", "size")

    entries: OrderedDict[RequestRef, Request]
    """What is queued, by ref and in order; to be read only."""

    size: int

    def __init__(self, max_count: int, max_bytes: int) -> None:
        self._limits = Limits("prompts", max_count, max_bytes)
        self.entries = OrderedDict()
        self._failing: OrderedDict[RequestRef, None] = OrderedDict()
        self._asks: dict[Caller, dict[RequestRef, None]] = {}
        self.size = 0

    def __len__(self) -> int:
        return len(self.entries)

    def __contains__(self, ref: RequestRef) -> bool:
        return ref in self.entries

    def __iter__(self) -> Iterator[Request]:
        return iter(self.entries.values())

    def refusal(self, incoming: int) -> Overloaded | None:
        """The error for a prompt of `incoming` bytes that doesn't fit, else None."""
        return self._limits.refusal(len(self.entries), self.size, incoming)

    def put(self, request: Request) -> bool:
        """Append; returns whether this is the first queued ask of its caller. Ask `refusal` before."""
        self.entries[request.ref] = request
        self.size += request.size
        if request.fails_on_halt:
            self._failing[request.ref] = None
        if request.caller is None or request.origin is not Origin.ASK:
            return False
        asks = self._asks.get(request.caller)
        if asks is None:
            self._asks[request.caller] = {request.ref: None}
            return True
        asks[request.ref] = None
        return False

    def get(self, ref: RequestRef) -> Request | None:
        """The queued request of `ref`."""
        return self.entries.get(ref)

    def pop(self) -> Request:
        """Take the head; `KeyError` when empty."""
        ref, request = self.entries.popitem(last=False)
        self._forget(ref, request)
        return request

    def remove(self, ref: RequestRef) -> Request:
        """Take out the request of `ref`; `KeyError` when it isn't queued."""
        request = self.entries.pop(ref)
        self._forget(ref, request)
        return request

    def asks_of(self, caller: Caller) -> tuple[RequestRef, ...]:
        """The refs of this caller's queued asks, in order."""
        return tuple(self._asks.get(caller, ()))

    def waits(self, caller: Caller) -> bool:
        """Whether an ask of this caller is queued."""
        return caller in self._asks

    def failing(self) -> tuple[RequestRef, ...]:
        """The refs of queued requests that fail when the agent halts, in order (C085)."""
        return tuple(self._failing)

    def _forget(self, ref: RequestRef, request: Request) -> None:
        self.size -= request.size
        if request.fails_on_halt:
            del self._failing[ref]
        if request.caller is not None and request.origin is Origin.ASK:
            asks = self._asks[request.caller]
            del asks[ref]
            if not asks:
                del self._asks[request.caller]


class NoticeQueue:
    """FIFO of deferred notifications and ordinary messages (C147, C242); each has a `size`."""

    __slots__ = ("_entries", "_limits", "size")

    size: int

    def __init__(self, max_count: int, max_bytes: int) -> None:
        self._limits = Limits("notifications", max_count, max_bytes)
        self._entries: deque[Any] = deque()
        self.size = 0

    def __len__(self) -> int:
        return len(self._entries)

    def put(self, notice: Any) -> Overloaded | None:
        """Append `notice`, or return why it doesn't fit."""
        refusal = self._limits.refusal(len(self._entries), self.size, notice.size)
        if refusal is None:
            self._entries.append(notice)
            self.size += notice.size
        return refusal

    def take(self) -> tuple[Any, ...]:
        """Everything, in order; the queue is empty afterwards."""
        taken = tuple(self._entries)
        self._entries.clear()
        self.size = 0
        return taken
