"""What comes of a script's streams: a queue for each, and the end of those that were dropped.

The law: a stream that nobody holds any more is ended like one that was closed, by the next use of its client;
where it is dropped nothing is sent, for the collector runs in any thread and at any moment.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any

from gen_agent.actors.fetching import Fetching
from gen_agent.client.targets import ADDRESS_TIMEOUT_S
from gen_agent.messages import CancelRequest, InterruptRequest
from gen_agent.values import RequestRef


class StreamQueues(Fetching):
    """The part of a script's mailbox that is read by streams."""

    def open_queue(self, ref: RequestRef) -> deque[Any]:
        """What comes of that request goes into a queue of its own from now on."""
        return self._queues.setdefault(ref, deque())

    def has_queue(self, ref: RequestRef) -> bool:
        """Whether something may still come of that request."""
        return ref in self._queues

    def end_queue(self, ref: RequestRef) -> None:
        """Nothing more can come of that request."""
        self._queues.pop(ref, None)
        self._line.unheard.forget(ref)

    def close_queue(self, ref: RequestRef, came: Iterable[Any]) -> bool:
        """Nobody wants more of that request, of which `came` has been read; what still comes of it is
        dropped. Whether anything will.
        """
        self._unwanted.add(ref, (*came, *self._queues.get(ref, ())))
        self.end_queue(ref)
        return ref in self._unwanted

    def drop(self, agent: Any, ref: RequestRef, came: Iterable[Any]) -> None:
        """Have a stream's request ended by the next use of this client; for any thread, at any moment."""
        self._dropped.append((agent, ref, came))

    def take_back_dropped(self) -> None:
        """End the requests of dropped streams: cancelled while they wait, interrupted while they run."""
        while self._dropped:
            agent, ref, came = self._dropped[0]
            if self.close_queue(ref, came):
                # The second one is for an attempt that ended and waits for the next.
                for message in (CancelRequest(ref), InterruptRequest(ref), CancelRequest(ref)):
                    self._line.order_of_nobody(agent, message, ADDRESS_TIMEOUT_S)
            self._dropped.popleft()
