"""What the internal envelopes are, and those of them that every process of ours knows, a script's too.

All others are in `internal`. They never leave the package, so their names and fields may change with its
version. What users wrote stays sealed in them, and none of them shows its content: the transport formats
every message for its log. This module must not know Thespian or any process.
"""

from __future__ import annotations

from typing import Any

import attrs

from gen_agent.wire import Wire


class Internal(Wire):
    """Base of the internal envelopes: told from users' messages by this class, and silent in logs."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    __str__ = __repr__


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class Again(Internal):
    """An actor to itself: go on with what was put off until the sends of the last message had left."""


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class Bundle(Internal):
    """Agent to a script's mailbox: deliveries in order, put together while an earlier one was under way."""

    messages: tuple[Any, ...]
