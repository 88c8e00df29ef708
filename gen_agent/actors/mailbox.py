"""MailboxActor: takes at once what is sent to a script, and hands it over when the script asks.

A script is often not listening, and whoever sends to it would have to keep what it does not take. The law:
nothing is forgotten before the script has said that it has it, but stream events that there is no room for;
what agents send is handed over in order, `Down` last; the mailbox opens none of it and ends with its script.
"""

from __future__ import annotations

import itertools
import time
from collections import deque
from collections.abc import Iterable
from typing import Any

import attrs
from thespian.actors import ActorExitRequest, ActorSystemMessage

from gen_agent.actors.eventroom import EventRoom, size_of
from gen_agent.actors.identity import local_process, this_process
from gen_agent.actors.inner import Bundle, Internal
from gen_agent.actors.letters import Letter
from gen_agent.actors.shell import Shell
from gen_agent.actors.watching import Ready
from gen_agent.client.ordering import Ordering
from gen_agent.envelopes import Call, Delivery, Envelope
from gen_agent.errors import Unpicklable
from gen_agent.messages import Reply
from gen_agent.sealed import Sealed
from gen_agent.soundness import is_sound
from gen_agent.values import Caller, CallRef

BATCH = 256
BATCH_BYTES = 1 << 20
"""How many messages, and bytes of stream events, are handed over at a time."""

AHEAD = 2
"""How many batches are on their way to a script at a time."""

_OWNER = "the script"


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class Open(Internal):
    """Script to its new mailbox: whose it is."""

    owner: Caller


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class Opened(Internal):
    """Mailbox to its script: the process it lives in, whose end is its end."""

    who: Caller


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class Take(Call):
    """Script to its mailbox: I have everything up to number `acked`; give me what comes after.

    Answered by a `Batch`: at once if there is something, or if not `wait`; else as soon as something comes,
    and by more of them as they come, `credit` in all. A newer `Take` that waits replaces an older one.
    """

    acked: int
    wait: bool = True
    credit: int = 1


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class More(Internal):
    """Script to its mailbox: I have everything up to `acked`; the `Take` of that number is good for so many
    more batches.
    """

    call: CallRef
    acked: int
    credit: int


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class Batch(Internal):
    """Mailbox to script: messages from number `first` on; users' own messages are sealed."""

    call: CallRef
    first: int
    items: tuple[Any, ...]


class MailboxActor(Shell):
    """One script's mailbox."""

    def __init__(self) -> None:
        super().__init__()
        self._ordering = Ordering(lambda: self.has_processes and self.sends_at_once)
        self._items: deque[Any] = deque()
        self._room = EventRoom()
        self._first = 1
        self._given = self._flying = self._credit = 0
        self._parked: tuple[Any, CallRef] | None = None

    def handle(self, message: Any, sender: Any) -> None:
        """Deal with one message: the script's own, or one to keep for it."""
        if isinstance(message, Envelope) and not is_sound(message):
            return
        if isinstance(message, Bundle):
            self._arrived(one for one in message.messages if isinstance(one, Delivery) and is_sound(one))
        elif isinstance(message, Take):
            self._take(message, sender)
        elif isinstance(message, More):
            self._more(message)
        elif isinstance(message, Open):
            self._open(message, sender)
        elif not isinstance(message, (ActorSystemMessage, Reply)):
            self._arrived((message,))

    def _arrived(self, messages: Iterable[Any]) -> None:
        now = time.monotonic()
        self._keep([ready for message in messages for ready in self._ordering.arrived(message, now)])

    def _open(self, message: Open, sender: Any) -> None:
        if not self.has_processes:
            return
        process = local_process(message.owner)
        if process is None or self.watcher.add_process(process, _OWNER):
            self.send(sender, Opened(this_process()))
        else:
            self._leave()

    def on_ready(self, ready: Ready) -> None:
        """The script is gone."""
        self.watcher.remove(ready.key)
        self._leave()

    def _leave(self) -> None:
        self.send(self.myAddress, ActorExitRequest())

    def on_deadline(self, key: Any) -> None:
        """Something has waited for its predecessors long enough."""
        self._keep(self._ordering.due(time.monotonic()))

    def _keep(self, messages: list[Any]) -> None:
        for message in messages:
            self._items.extend(_portable(kept) for kept in self._room.taken(message))
        due = self._ordering.deadline()
        if due is None:
            self.clear_deadline("order")
        else:
            self.set_deadline("order", max(0.0, due - time.monotonic()))
        self._push()

    def _forget(self, acked: int) -> None:
        while self._items and self._first <= acked:
            self._room.give_back(self._items.popleft())
            self._first += 1

    def _take(self, message: Take, sender: Any) -> None:
        self._forget(message.acked)
        # What was given under an earlier one may have been lost with the script's endpoint.
        self._given = self._first - 1
        if message.wait:
            self._parked, self._credit, self._flying = (sender, message.call), message.credit, 0
        elif self._items or not self.has_processes:
            self._give(sender, message.call)
        else:
            # What had arrived before it was asked is read by then; what still travels is not (C120, C123).
            self.soon(lambda: self.soon(lambda: self._give(sender, message.call)))
        self._push()

    def _more(self, message: More) -> None:
        if self._parked is not None and self._parked[1] == message.call:
            self._forget(message.acked)
            self._credit += message.credit
            self._push()

    def _push(self) -> None:
        # The rest is put together while some are on their way.
        while self._parked is not None and self._credit and self._given < self._first + len(self._items) - 1:
            if self._flying >= AHEAD:
                self.hasten()
                return
            self._credit -= 1
            self._give(*self._parked)

    def _give(self, sender: Any, call: CallRef) -> None:
        batch = Batch(call, self._given + 1, self._next_items())
        self._given += len(batch.items)
        if not self.has_processes:
            self.send(sender, batch)
            return
        self._flying += 1
        self.post_letter(Letter(sender, batch, self._landed, self._landed))

    def _next_items(self) -> tuple[Any, ...]:
        start, items, size = self._given + 1 - self._first, [], 0
        for item in itertools.islice(self._items, start, start + BATCH):
            items.append(item)
            size += size_of(item)
            if size >= BATCH_BYTES:
                break
        return tuple(items)

    def _landed(self, result: Any, letter: Any) -> None:
        self._flying = max(0, self._flying - 1)
        self._push()


def _portable(message: Any) -> Any:
    if isinstance(message, Envelope):
        return message
    try:
        return Sealed.of(message, "message")
    except Unpicklable as error:
        return error
