"""What a script can do on our base beyond Thespian's `ask`, `tell` and `listen`, and what those do better on
it.

The law: posts, tells and asks of one script to one target arrive in call order; a call waits for its own
message only, and the late failure of an earlier one never ends it. This module must not know agents.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from thespian.actors import ActorAddress, ActorSystemFailure, ActorSystemRequestTimeout, DeadEnvelope
from thespian.system import isInternalActorSystemMessage
from thespian.system.systemBase import BaseContext, ExternalOpsToActors, TransmitTrack
from thespian.system.timing import toTimeDeltaOrNone
from thespian.system.transport import ReceiveEnvelope, SendStatus, Thespian__Run_Terminated, TransmitIntent

from gen_agent.actors.letters import Letter
from gen_agent.actors.runloop import deadline, remaining

TELL_S = 60.0
"""How long `tell` waits for the target to take the message, in seconds."""

_NOW = timedelta(0)


class Track(TransmitTrack):
    """What becomes of one message of a script; ends the script's wait only if that is for this message."""

    def __init__(self, transport: Any, admin: ActorAddress, *, awaited: bool) -> None:
        super().__init__(transport, admin)
        self.awaited = awaited
        self.taken = False

    def transmit_taken(self, result: Any, intent: TransmitIntent) -> None:
        """The target has the message."""
        self.taken = True

    def transmit_failed(self, result: Any, intent: TransmitIntent) -> None:
        """The target will never have it; what was for a dead one goes to the dead letters."""
        if result == SendStatus.DeadTarget and intent.targetAddr != self._adminAddr:
            dead = DeadEnvelope(intent.targetAddr, intent.message)
            self._transport.scheduleTransmit(None, TransmitIntent(self._adminAddr, dead))
        self._pcrFAILED = result
        if self.awaited:
            self._transport.abort_run()


class Posting(ExternalOpsToActors):
    """The calls of a script into its system, for one thread at a time."""

    def _tx_to_actor(self, actorAddress: ActorAddress, message: Any, *, awaited: bool = True) -> Track:
        track = Track(self.transport, self.adminAddr, awaited=awaited)
        # Whoever waits for the target to take it says so by transmitting only.
        letter = Letter(actorAddress, message, onSuccess=track.transmit_taken, onError=track.transmit_failed)
        self.transport.scheduleTransmit(None, letter)
        return track

    def post(self, address: ActorAddress, message: Any) -> None:
        """Hand a message to the transport, in call order, without waiting until the target has it (about 40
        us).

        What has not left yet leaves during later calls, or in `flush`. Raises `LaneFull`, and what pickling
        raises; nothing is sent then. A message to a dead target goes to the dead letters, silently.
        """
        self._tx_to_actor(address, message, awaited=False)
        if self.transport.behind:
            self._run_transport(_NOW, txonly=True)

    def flush(self, timeout_s: float | None = None) -> bool:
        """Wait until everything sent so far was taken or given up; whether that was so within `timeout_s`."""
        until = deadline(timeout_s)
        while self.transport.pending:
            left = remaining(until)
            self._run_transport(left, txonly=True)
            if left is not None and left <= _NOW:
                break
        return not self.transport.pending

    def tell(self, anActor: ActorAddress, msg: Any) -> None:
        """Send a message and wait until the target's process has it; a dead target is no error.

        Raises `ActorSystemRequestTimeout` after 60 s, in which case the message still waits, and
        `ActorSystemFailure` if it can't be sent.
        """
        track = self._tx_to_actor(anActor, msg)
        until = deadline(TELL_S)
        while not track.taken and not track.failed:
            left = remaining(until)
            if left is not None and left <= _NOW:
                track.awaited = False
                raise ActorSystemRequestTimeout(f"{anActor} has not taken a message for {TELL_S:.0f} s")
            self._run_transport(left, txonly=True)
        if track.failed and track.failure != SendStatus.DeadTarget:
            raise ActorSystemFailure(f"Error sending to {anActor}: {track.failure}")

    def ask(self, anActor: ActorAddress, msg: Any, timeout: timedelta | float | None = None) -> Any:
        """Send a message and return the next one that arrives, whoever sent it; None if none does or the
        target is dead.

        Raises `ActorSystemFailure` if the target can't unpickle the message.
        """
        track = self._tx_to_actor(anActor, msg)
        try:
            return self._next_message(track, deadline(toTimeDeltaOrNone(timeout)))
        finally:
            track.awaited = False

    def _next_message(self, track: Track, until: float | None) -> Any:
        while True:
            left = remaining(until)
            response = self._run_transport(left)
            if isinstance(response, ReceiveEnvelope):
                if not isInternalActorSystemMessage(response.message):
                    return response.message
            elif track.failed and track.failure == SendStatus.BadPacket:
                raise ActorSystemFailure(f"{track.failure}: the message could not be unpickled where it went")
            elif track.failed or not isinstance(response, Thespian__Run_Terminated) or self.transport.closed:
                return None
            if left is not None and left <= _NOW:
                return None


class PrivateEndpoint(Posting, BaseContext):
    """What `ActorSystem.private()` gives on our base: the same calls with an address of its own."""
