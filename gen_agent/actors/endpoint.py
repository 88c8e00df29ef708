"""A script's own way into an actor system: post without waiting, receive with a bound, be woken by a
descriptor.

The law: every client has an endpoint of its own, so that nobody's messages get mixed; an endpoint whose call
was broken off by an exception is replaced, never used again. On a base without processes everything runs
inside `receive`. This module knows Thespian's side of a script and no agent.
"""

from __future__ import annotations

import contextlib
import time
from datetime import timedelta
from typing import Any, Protocol

from thespian.actors import ActorSystem, WatchMessage
from thespian.system import isInternalActorSystemMessage
from thespian.system.transport import ReceiveEnvelope, TransmitIntent

from gen_agent.actors.stock import close_properly, release
from gen_agent.values import CallRef

_LONGEST_S = 86_400.0
_POSTING_S = 0.002


class Woken:
    """What `receive` returns when the watched descriptor is readable."""


WOKEN = Woken()


class Endpoint(Protocol):
    """What a client needs of a base."""

    has_processes: bool
    keeps_order: bool

    def post(self, address: Any, message: Any, call: CallRef | None = None) -> None:
        """Hand a message to the base in call order; `call` is reported by `failed`
        if nobody is at `address`.
        """

    def post_parcel(self, address: Any, message: Any, ticket: CallRef) -> None:
        """Hand a message over, of which `failed` or `delivered` will tell."""

    def receive(self, seconds: float, descriptor: int) -> Any:
        """The next message, `WOKEN`, or None after at most `seconds`, or earlier for no reason."""

    def failed(self) -> list[CallRef]:
        """The calls and parcels posted to addresses where nobody is, each once, in no order."""

    def delivered(self) -> list[CallRef]:
        """The parcels that have arrived, each once."""

    def settled(self, call: CallRef) -> None:
        """That call has its answer: its delivery is of no more interest."""

    def create(self, actor: Any, global_name: str | None = None) -> Any:
        """Create a top-level actor, or find the one with that global name."""

    def flush(self, seconds: float) -> bool:
        """Wait until what was posted has left; whether it has."""

    def clone(self) -> Endpoint:
        """Another endpoint into the same system."""

    def mend(self) -> None:
        """Make an endpoint whose call was broken off fit for `flush` and `close`."""

    def close(self) -> None:
        """Give everything back."""


class ProcessEndpoint:
    """An endpoint on a base whose actors are processes: Thespian's private context,
    one address of its own.
    """

    has_processes = True

    def __init__(self, system: ActorSystem) -> None:
        self._system = system
        self._base = system._systemBase.external_clone()
        close_properly(self._base.transport)
        self._tracks: dict[CallRef, Any] = {}
        self._returned: list[CallRef] = []
        self._arrived: list[CallRef] = []
        self.keeps_order = hasattr(self._base, "post")

    def post(self, address: Any, message: Any, call: CallRef | None = None) -> None:
        """Hand a message to the transport; what does not leave at once leaves during later calls."""
        if call is None and self.keeps_order:
            self._base.post(address, message)
            return
        track = self._base._tx_to_actor(address, message)
        if call is not None:
            self._tracks[call] = track
        self._transmit()

    def _transmit(self) -> None:
        seconds = 0.0 if self.keeps_order else _POSTING_S
        self._base._run_transport(timedelta(seconds=seconds), txonly=True)

    def post_parcel(self, address: Any, message: Any, ticket: CallRef) -> None:
        """Hand a message to the transport, and note what becomes of it."""
        intent = TransmitIntent(
            address,
            message,
            onSuccess=lambda result, intent: self._arrived.append(ticket),
            onError=lambda result, intent: self._returned.append(ticket),
        )
        self._base.transport.scheduleTransmit(None, intent)
        self._transmit()

    def receive(self, seconds: float, descriptor: int) -> Any:
        """Run the transport until something comes."""
        transport = self._base.transport
        transport.set_watch([descriptor])
        try:
            end = time.monotonic() + min(seconds, _LONGEST_S)
            while True:
                got = self._base._run_transport(timedelta(seconds=max(0.0, end - time.monotonic())))
                if not isinstance(got, ReceiveEnvelope):
                    return None
                if isinstance(got.message, WatchMessage):
                    return WOKEN
                if not isInternalActorSystemMessage(got.message):
                    return got.message
        finally:
            transport.set_watch([])

    def failed(self) -> list[CallRef]:
        """The calls and parcels that could not be delivered."""
        failed = [call for call, track in self._tracks.items() if track.failed]
        for call in failed:
            del self._tracks[call]
        returned, self._returned = self._returned, []
        return failed + returned

    def delivered(self) -> list[CallRef]:
        """The parcels that have arrived."""
        arrived, self._arrived = self._arrived, []
        return arrived

    def settled(self, call: CallRef) -> None:
        """That call has its answer: its delivery is of no more interest."""
        self._tracks.pop(call, None)

    def create(self, actor: Any, global_name: str | None = None) -> Any:
        """Ask the admin for an actor; raises what Thespian raises."""
        return self._base.newPrimaryActor(actor, None, global_name)

    def flush(self, seconds: float) -> bool:
        """Transmit until nothing is left."""
        if self.keeps_order:
            return bool(self._base.flush(seconds))
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if not self._base._run_transport(timedelta(seconds=left), txonly=True):
                return True
        return False

    def clone(self) -> ProcessEndpoint:
        """Another endpoint; this one is not touched, so that a broken one can be replaced."""
        return ProcessEndpoint(self._system)

    def mend(self) -> None:
        """Take back what the stock transport holds while it runs: it would wait for itself for ever."""
        release(self._base.transport)

    def close(self) -> None:
        """Close the sockets; what has not left is lost."""
        self._base.exit_context()


class SimpleEndpoint:
    """An endpoint on simpleSystemBase: an actor that collects, and the base's queue run until it has
    something.
    """

    has_processes = False
    keeps_order = True

    def __init__(self, system: ActorSystem) -> None:
        self._system = system
        self._base = system._systemBase
        self._box = self._base.newPrimaryActor(
            f"{__name__.rpartition('.')[0]}.letterbox.LetterBox", None, None, None
        )

    @property
    def _reference(self) -> Any:
        return self._base.actorRegistry[self._box.actorAddressString]

    def post(self, address: Any, message: Any, call: CallRef | None = None) -> None:
        """Queue a message; it is handled during the next `receive`."""
        self._base.actor_send(self._box, address, message)

    def post_parcel(self, address: Any, message: Any, ticket: CallRef) -> None:
        """Queue a message, of which nothing will be told."""
        self.post(address, message)

    def receive(self, seconds: float, descriptor: int) -> Any:
        """Run the actors until a message for us is there, or nothing is left to do within `seconds`."""
        box = self._reference
        if not box.instance.responses:
            self._base._realizeWakeups()
            # Without any time at all the base would not even run what is queued.
            self._base._runSends(min(max(seconds, 0.001), _LONGEST_S), stop_on_available=box)
        return box.instance.responses.pop(0) if box.instance.responses else None

    def failed(self) -> list[CallRef]:
        """Nothing is known of deliveries here."""
        return []

    def delivered(self) -> list[CallRef]:
        """Nothing is known of deliveries here."""
        return []

    def settled(self, call: CallRef) -> None:
        """Nothing is kept of calls here."""

    def create(self, actor: Any, global_name: str | None = None) -> Any:
        """Create the actor in this process."""
        return self._base.newPrimaryActor(actor, None, global_name, None)

    def flush(self, seconds: float) -> bool:
        """Run what is queued."""
        self._base._runSends()
        return not self._base._pendingSends

    def clone(self) -> SimpleEndpoint:
        """Another endpoint in the same process."""
        return SimpleEndpoint(self._system)

    def mend(self) -> None:
        """Nothing is held here."""

    def close(self) -> None:
        """Forget the collecting actor."""
        with contextlib.suppress(KeyError):
            self._base.actorRegistry[self._box.actorAddressString] = None


def endpoint_of(system: ActorSystem) -> ProcessEndpoint | SimpleEndpoint:
    """An endpoint into a running system; raises `ValueError` for a base that gen_agent refuses, with the
    reason.
    """
    base = system._systemBase
    if hasattr(base, "transport"):
        return ProcessEndpoint(system)
    return SimpleEndpoint(system)
