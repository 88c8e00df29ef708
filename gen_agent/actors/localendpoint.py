"""A script's way into a system without processes, where everything runs inside `receive`.

The law: the same face as `endpoint.ProcessEndpoint`; what is posted to an actor that has ended comes back.
This module knows Thespian's side of a script and no agent.
"""

from __future__ import annotations

import contextlib
from typing import Any

from thespian.actors import ActorSystem

from gen_agent.values import CallRef

_LONGEST_S = 86_400.0


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
        self._returned: list[CallRef] = []
        self._arrived: list[CallRef] = []

    @property
    def _reference(self) -> Any:
        return self._base.actorRegistry[self._box.actorAddressString]

    def post(self, address: Any, message: Any, call: CallRef | None = None) -> None:
        """Queue a message; it is handled during the next `receive`. A call to an actor that has ended comes
        back.
        """
        if call is not None and not self._is_there(address):
            self._returned.append(call)
            return
        self._base.actor_send(self._box, address, message)
        if call is not None:
            self._arrived.append(call)

    def _is_there(self, address: Any) -> bool:
        reference = self._base.actorRegistry.get(getattr(address, "actorAddressString", None))
        return reference is not None and reference.instance is not None

    def post_parcel(self, address: Any, message: Any, ticket: CallRef | None) -> None:
        """Queue a message; with a ticket it comes back as a call does."""
        self.post(address, message, ticket)

    def receive(self, seconds: float, descriptor: int) -> Any:
        """Run the actors until a message for us is there, or nothing is left to do within `seconds`."""
        box = self._reference
        if not box.instance.responses:
            self._base._realizeWakeups()
            # Without any time at all the base would not even run what is queued.
            self._base._runSends(min(max(seconds, 0.001), _LONGEST_S), stop_on_available=box)
        return box.instance.responses.pop(0) if box.instance.responses else None

    def failed(self) -> list[CallRef]:
        """What was posted to an actor that had ended."""
        returned, self._returned = self._returned, []
        return returned

    def delivered(self) -> list[CallRef]:
        """What was posted to an actor that was there."""
        arrived, self._arrived = self._arrived, []
        return arrived

    def settled(self, call: CallRef) -> None:
        """Nothing is kept of calls here."""

    def create(self, actor: Any, global_name: str | None = None) -> Any:
        """Create the actor in this process."""
        return self._base.newPrimaryActor(actor, None, global_name, None)

    def give_up(self, address: Any) -> None:
        """Nothing is on its way here."""

    def answers(self) -> bool:
        """Everything is in this process."""
        return True

    def flush(self, seconds: float) -> bool:
        """Run what is queued."""
        self._base._runSends()
        return not self._base._pendingSends

    def clone(self) -> SimpleEndpoint:
        """Another endpoint in the same process."""
        return SimpleEndpoint(self._system)

    def retire(self) -> None:
        """Nothing is held here."""

    def descriptor(self) -> int | None:
        """Nothing stays behind here."""
        return None

    def close(self) -> None:
        """Forget the collecting actor."""
        with contextlib.suppress(KeyError):
            self._base.actorRegistry[self._box.actorAddressString] = None
