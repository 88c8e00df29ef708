"""Whether a process of another machine is still there: asked once a second, given up after five.

No notice comes when another machine vanishes. The law: beats are counted, not seconds, so that whoever was
itself stopped for a while does not take everybody else for dead; one answer is enough to start counting anew.
Whoever is asked does nothing but answer, so that nobody who works for long is taken for dead. This module
must not know actors, messages or clocks.
"""

from __future__ import annotations

BEAT_S = 1.0
"""How long it is from one beat to the next, in seconds."""

MISSED = 5
"""How many beats in a row may go unanswered: after `BEAT_S * MISSED` seconds somebody is gone."""


class Pulse:
    """What is known of one peer."""

    def __init__(self) -> None:
        self._missed = 0

    def heard(self) -> None:
        """Something came from the peer."""
        self._missed = 0

    def beat(self) -> bool:
        """It is time for the next beat: whether the peer may still be there."""
        self._missed += 1
        return self._missed <= MISSED
