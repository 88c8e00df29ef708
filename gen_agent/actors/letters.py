"""What our transport and our actors hand to Thespian: its intents and envelopes, described by class alone.

Thespian describes each of them in full for its debug log, whether that is written or not, which costs more
than sealing the message. This module must not know agents.
"""

from __future__ import annotations

from thespian.system.transport import ReceiveEnvelope, TransmitIntent


class Letter(TransmitIntent):
    """A message on its way whose answer need not wake us: nobody waits for it."""

    patient = True

    def identify(self) -> str:
        """The class of the message."""
        return type(self.message).__name__


class Received(ReceiveEnvelope):
    """A message that has arrived."""

    def identify(self) -> str:
        """The class of the message."""
        return type(self.message).__name__
