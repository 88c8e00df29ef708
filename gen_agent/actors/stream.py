"""A request as a stream of its events.

The law: events in order, then the end: the response, or the request's error raised by the iteration. Closed
before its end, it takes back exactly its own request, queued or running, and nothing else.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

from gen_agent.actors.guard import OneThread
from gen_agent.actors.pickup import Pickup
from gen_agent.errors import AgentDown, CallTimeout, Cancelled, GenAgentError, Interrupted, RequestNotFound
from gen_agent.events import Event, Response
from gen_agent.messages import Admission, Completion, EventBatch, EventMessage
from gen_agent.values import RequestRef

_TRIES = 3

TakeBack = Callable[[Any, RequestRef], "GenAgentError | None"]
"""Cancel or interrupt a request; None if it was moving between the two states and is to be tried again."""


class Stream(Iterator[Event]):
    """The events of one request, as they come; made by `AgentSystem.stream`.

    Iterating blocks until the next event; at the end it stops, or raises the request's error, `AgentDown` or
    `CallTimeout`. Use it in a `with` block: leaving early cancels the request if it waits and interrupts it
    if it runs. Where it is dropped unclosed, the next use of its client does so. `ref` is the request's.
    """

    def __init__(
        self,
        pickup: Pickup,
        guard: OneThread,
        target: Any,
        agent: Any,
        ref: RequestRef,
        timeout: float | None,
        take_back: TakeBack,
    ) -> None:
        self.ref = ref
        self.dropped_events = 0
        self._pickup = pickup
        self._guard = guard
        self._target = target
        self._agent = agent
        self._timeout = timeout
        self._end = None if timeout is None else time.monotonic() + timeout
        self._take_back = take_back
        self._queue = pickup.open_queue(ref)
        self._events: deque[Event] = deque()
        self._came: list[Admission | Completion] = []
        self._last: Response | GenAgentError | None = None
        self._outcome: Response | GenAgentError | None = None

    @property
    def response(self) -> Response:
        """The response, once the iteration has ended; raises the request's error, or `RuntimeError` before
        the end.
        """
        if self._outcome is None:
            raise RuntimeError("the stream has not ended: iterate over it first")
        if isinstance(self._outcome, GenAgentError):
            raise self._outcome.fresh()
        return self._outcome

    def __iter__(self) -> Stream:
        return self

    def __next__(self) -> Event:
        while not self._events:
            if self._outcome is not None:
                if isinstance(self._outcome, GenAgentError):
                    raise self._outcome.fresh()
                raise StopIteration
            self._more()
        return self._events.popleft()

    def _more(self) -> None:
        with self._guard:
            if not self._queue:
                self._wait()
            self._read()

    def _wait(self) -> None:
        if not self._pickup.has_queue(self.ref):
            raise RequestNotFound(self.ref)
        try:
            self._pickup.raise_if_ended(self._agent, self.ref)
        except AgentDown as down:
            self._finish(self._last or AgentDown(self._target, down.reason, down.detail))
            return
        left = None if self._end is None else self._end - time.monotonic()
        if left is not None and left <= 0:
            raise CallTimeout(self._target, self._timeout)
        if not self._pickup.fetch(left) and not self._pickup.can_wait:
            raise CallTimeout(self._target, self._timeout)

    def _read(self) -> None:
        while self._queue:
            message = self._queue.popleft()
            if isinstance(message, EventBatch):
                self._events.extend(message.events)
            elif isinstance(message, EventMessage):
                self._events.append(message.event)
            else:
                self._note(message)
        # A turn that never started is completed before it is admitted (C201): both are this stream's to take.
        if self._last is not None and any(isinstance(message, Admission) for message in self._came):
            self._finish(self._last)

    def _note(self, message: Admission | Completion) -> None:
        self._came.append(message)
        if isinstance(message, Completion):
            self.dropped_events, self._last = message.dropped_events, message.outcome
        else:
            self._last = message.error or self._last

    def _finish(self, outcome: Response | GenAgentError) -> None:
        if self._outcome is None:
            self._outcome = outcome
            self._pickup.end_queue(self.ref)

    def close(self) -> None:
        """End the request if it has not ended: cancelled while it waits, interrupted while it runs.

        An agent that is gone or does not answer is no error here. Harmless after the end, and twice.
        """
        if self._outcome is not None:
            return
        with self._guard:
            error = self._end_request()
            self._pickup.fetch_all()
            self._read()
            if self._outcome is None:
                self._outcome = self._last or error
                self._pickup.close_queue(self.ref, self._came)
        self._events.clear()

    def __del__(self) -> None:
        if self._outcome is None:
            self._pickup.drop(self._agent, self.ref, self._came)

    def _end_request(self) -> GenAgentError:
        try:
            for _ in range(_TRIES):
                ended = self._take_back(self._agent, self.ref)
                if ended is not None:
                    return ended
        except (AgentDown, CallTimeout) as error:
            return error
        return Interrupted()

    def __enter__(self) -> Stream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def ended_as(cancelled: str, interrupted: Callable[[], str]) -> GenAgentError | None:
    """How a request ended that was cancelled with this answer, or else interrupted; None to try again."""
    if cancelled != "current":
        return Cancelled()
    return Interrupted() if interrupted() == "accepted" else None
