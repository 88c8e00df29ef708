"""A script's own way into an actor system: post without waiting, receive with a bound, be woken by a
descriptor.

The law: every client has an endpoint of its own, so that nobody's messages get mixed; an endpoint whose call
was broken off by an exception is replaced, never used again. This module knows no agent, but Thespian's side
of a script.
"""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any, Protocol

from thespian.actors import ActorSystem, WatchMessage
from thespian.system import isInternalActorSystemMessage
from thespian.system.transport import ReceiveEnvelope

from gen_agent.actors.express import Express
from gen_agent.actors.letters import Letter
from gen_agent.actors.localendpoint import SimpleEndpoint
from gen_agent.actors.stock import close_properly, refuse, release
from gen_agent.values import CallRef

_LONGEST_S = 86_400.0
_POSTING = timedelta(milliseconds=2)
_ROUND = timedelta(milliseconds=1)


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

    def post_parcel(self, address: Any, message: Any, ticket: CallRef | None) -> None:
        """Hand a message over that leaves at once, whatever its target does; with a ticket `failed` or
        `delivered` will tell of it.
        """

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

    def give_up(self, address: Any) -> None:
        """Drop what has not left for that address."""

    def answers(self) -> bool:
        """Whether somebody listens where the system's admin is; known within a second."""

    def flush(self, seconds: float) -> bool:
        """Wait until what was posted has left; whether it has."""

    def clone(self) -> Endpoint:
        """Another endpoint into the same system."""

    def retire(self) -> None:
        """Make an endpoint whose call was broken off fit for `flush` and `close`; whoever sends to it finds
        nobody from now on.
        """

    def descriptor(self) -> int | None:
        """What is readable when a retired endpoint can get on with what has not left; None where nothing
        tells.
        """

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
        self._watched: int | None = None
        self.keeps_order = hasattr(self._base, "post")
        self._express = None if self.keeps_order else Express(self._base.transport)

    def post(self, address: Any, message: Any, call: CallRef | None = None) -> None:
        """Hand a message to the transport; what does not leave at once leaves during later calls."""
        if call is not None and self._express is not None:
            self._express.call(address, lambda: self._track(address, message, call))
        elif call is not None:
            self._track(address, message, call)
        elif self.keeps_order:
            self._base.post(address, message)
        else:
            self._base._tx_to_actor(address, message)
            self._base._run_transport(_POSTING, txonly=True)

    def _track(self, address: Any, message: Any, call: CallRef) -> None:
        # Its answer is waited for next, which transmits.
        self._tracks[call] = self._base._tx_to_actor(address, message)

    def post_parcel(self, address: Any, message: Any, ticket: CallRef | None) -> None:
        """Hand a message to the transport, and note what becomes of it."""
        letter = Letter(address, message)
        if ticket is not None:
            letter.addCallback(
                lambda result, intent: self._arrived.append(ticket),
                lambda result, intent: self._come_back(ticket),
            )
        if self._express is not None:
            self._express.cast(letter)
            return
        self._base.transport.scheduleTransmit(None, letter)
        if self._base.transport.behind:
            # It has not left as far as it can.
            self._base._run_transport(timedelta(0), txonly=True)

    def _come_back(self, ticket: CallRef) -> None:
        self._returned.append(ticket)
        # Whoever waits is to hear of it.
        self._base.transport.abort_run()

    def receive(self, seconds: float, descriptor: int) -> Any:
        """Run the transport until something comes."""
        self._watch(descriptor)
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
            if not self.keeps_order:
                self._watch(None)

    def _watch(self, descriptor: int | None) -> None:
        """Be woken by that descriptor; ours goes on with it, for setting it costs, and transmits without."""
        if descriptor != self._watched:
            self._watched = descriptor
            self._base.transport.set_watch([] if descriptor is None else [descriptor])

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
        self._watch(None)
        return self._base.newPrimaryActor(actor, None, global_name)

    def give_up(self, address: Any) -> None:
        """Drop what has not left for that address."""
        if self.keeps_order:
            self._base.transport.deadAddress(None, address)

    def answers(self) -> bool:
        """Whether anybody listens at the admin's address."""
        return bool(self._base.transport.probeAdmin(self._base.adminAddr))

    def flush(self, seconds: float) -> bool:
        """Transmit until nothing is left."""
        if self.keeps_order:
            return bool(self._base.flush(seconds))
        end = time.monotonic() + seconds
        while True:
            left = end - time.monotonic()
            pending = self._base._run_transport(max(_ROUND, timedelta(seconds=left)), txonly=True)
            # A run whose time was over says that it is false, but not 0.
            if pending == 0 or left <= 0:
                return bool(pending == 0)

    def clone(self) -> ProcessEndpoint:
        """Another endpoint; this one is not touched, so that a broken one can be replaced."""
        return ProcessEndpoint(self._system)

    def retire(self) -> None:
        """Take back what the stock transport holds while it runs: it would wait for itself for ever. Refuse
        what is sent here: an agent that ends waits for those it has sent to.
        """
        transport = self._base.transport
        if self.keeps_order:
            transport.refuse()
        else:
            release(transport)
            refuse(transport)

    def descriptor(self) -> int | None:
        """What is readable when somebody has taken a message; the stock transport has nothing of the kind."""
        return int(self._base.transport.leaving_fileno()) if self.keeps_order else None

    def close(self) -> None:
        """Close the sockets; what has not left is lost."""
        self._base.exit_context()


def endpoint_of(system: ActorSystem) -> ProcessEndpoint | SimpleEndpoint:
    """An endpoint into a running system; raises `ValueError` for a base that gen_agent refuses, with the
    reason.
    """
    base = system._systemBase
    if hasattr(base, "transport"):
        return ProcessEndpoint(system)
    return SimpleEndpoint(system)
