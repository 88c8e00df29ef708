"""Requests whose answers nobody wants any more: what still comes of them is dropped.

The law: a request is forgotten as soon as nothing more can come of it, in whichever order its last messages
come.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gen_agent.messages import Admission, Completion
from gen_agent.values import RequestRef


class Unwanted:
    """The requests whose messages to this script are dropped."""

    def __init__(self) -> None:
        self._left: dict[RequestRef, set[type]] = {}

    def __contains__(self, ref: object) -> bool:
        return ref in self._left

    def add(self, ref: RequestRef, came: Iterable[Any]) -> None:
        """Drop what comes of that request from now on; these messages of it have come already."""
        self._left[ref] = {Admission, Completion}
        for message in came:
            self.drop(message)

    def drop(self, message: Any) -> None:
        """Take note of one message of such a request."""
        left = self._left.get(message.ref)
        if left is None:
            return
        left.discard(type(message))
        # A turn that never started is completed before it is admitted (C201): both have to have come.
        if not left or (isinstance(message, Admission) and not message.accepted):
            del self._left[message.ref]
