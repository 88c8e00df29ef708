"""That a message is meant for this process and arrives once: what a recorded one, sent again, is not.

Whoever can listen to a network can send again what was said on it, seal and all. So every message bears a
stamp under its seal: to whom it goes, where it is from, which process sends it, and how many that process has
sent before. The law: a process takes only what is addressed to it, and of each sender only what is later than
all before; lanes keep their order, so nothing genuine comes late but what was sent twice because its answer
was lost. This module must not know connections, keys or messages.
"""

from __future__ import annotations

import itertools
import os
import struct

from gen_agent.actors.places import PLACE_BYTES, packed
from gen_agent.actors.sockets import Key

_NUMBER = struct.Struct(">QQ")
_NUMBER_AT = 2 * PLACE_BYTES
STAMP_BYTES = _NUMBER_AT + _NUMBER.size
_SENDER_BYTES = 8

SENDERS = 10_000
"""Of how many senders it is remembered what came last."""


class Stamps:
    """The stamps of one sending process, to be taken in the order in which the messages leave; `own` is where
    it listens.
    """

    def __init__(self, own: Key) -> None:
        self._own = packed(own)
        self._sender = int.from_bytes(os.urandom(_SENDER_BYTES), "big")
        self._numbers = itertools.count(1)

    def stamp(self, to: Key) -> bytes:
        """The stamp of the next message."""
        return packed(to) + self._own + _NUMBER.pack(self._sender, next(self._numbers))


def sent_from(body: bytes | bytearray) -> bytes:
    """The place of who sent the message with this stamp."""
    return bytes(body[PLACE_BYTES:_NUMBER_AT])


class Foreign(Exception):
    """A message that was not sent to this process."""


class Seen:
    """What one receiving process has had of whom; `own` is where it listens."""

    def __init__(self, own: Key) -> None:
        self._own = packed(own)
        self._last: dict[int, int] = {}

    def is_fresh(self, body: bytes | bytearray) -> bool:
        """Whether the message with this stamp has not been here; raises `Foreign` if it is not for us."""
        if len(body) < STAMP_BYTES or body[:PLACE_BYTES] != self._own:
            raise Foreign
        sender, number = _NUMBER.unpack_from(body, _NUMBER_AT)
        if number <= self._last.get(sender, 0):
            return False
        if sender not in self._last and len(self._last) >= SENDERS:
            del self._last[next(iter(self._last))]
        self._last[sender] = number
        return True
