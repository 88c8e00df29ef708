"""What a client inside an actor sends, with word of what became of it.

The law: a parcel leaves where and when a message that the actor sends by itself would; either `arrived` or
`lost` is called, once, between two messages of the actor. An actor whose sends wait for others has a `parcel`
of its own that does all this. This module must not know agents or clients.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from gen_agent.actors.letters import Letter


@attrs.frozen(slots=True, eq=False)
class Fate:
    """What to call when it is known what became of a message."""

    arrived: Callable[[], None]
    lost: Callable[[], None]


def send(actor: Any, address: Any, message: Any, fate: Fate) -> None:
    """Send a message of an actor that is a process, and call one half of `fate` later."""
    own = getattr(actor, "parcel", None)
    if own is not None:
        own(address, message, fate)
        return
    letter = Letter(
        address,
        message,
        onSuccess=lambda result, intent: fate.arrived(),
        onError=lambda result, intent: fate.lost(),
    )
    actor._myRef._send_intent(letter)
