"""One sender's casts in the order in which they were sent, on a base that reorders.

Where a sender numbers its casts, one that came early waits for those before it, but not for ever: a cast that
got lost must not hold up the rest. Reads no clock. This module must not know Thespian.
"""

from __future__ import annotations

from typing import Any

import attrs

GAP_S = 30.0
"""How long an early cast waits for those before it: a kernel that had no room for a connection tries again
after one second, two, four and so on, for as long as the agent was blocked."""

_SENDERS = 10_000


@attrs.define(slots=True, eq=False)
class _Sender:
    next: int = 1
    early: dict[int, Any] = attrs.field(factory=dict)
    since: float = 0.0


class CastOrder:
    """The casts of all senders of one agent."""

    def __init__(self) -> None:
        self._senders: dict[str, _Sender] = {}

    def arrived(self, sender: str, number: int | None, cast: Any, now: float) -> list[Any]:
        """Take a cast; return those that are to be handled now, in order."""
        if number is None:
            return [cast]
        who = self._senders.setdefault(sender, _Sender())
        if number == 1 and who.next > 1:
            # A new sender has the address of one that is gone.
            who = self._senders[sender] = _Sender()
        if number < who.next:
            return [cast]
        if not who.early:
            who.since = now
        who.early[number] = cast
        ready = self._in_order(who, now)
        if len(self._senders) > _SENDERS:
            del self._senders[next(iter(self._senders))]
        return ready

    def overdue(self, now: float) -> list[Any]:
        """The casts that have waited long enough, in order."""
        ready = []
        for who in self._senders.values():
            if who.early and now >= who.since + GAP_S:
                who.next = min(who.early)
                ready += self._in_order(who, now)
        return ready

    def deadline(self) -> float | None:
        """When `overdue` should be called next; None while nothing waits."""
        return min((who.since + GAP_S for who in self._senders.values() if who.early), default=None)

    def _in_order(self, who: _Sender, now: float) -> list[Any]:
        """Take out what is next; whatever still waits then waits for another gap, from now on."""
        ready = []
        while who.next in who.early:
            ready.append(who.early.pop(who.next))
            who.next += 1
            who.since = now
        return ready
