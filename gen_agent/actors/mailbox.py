"""MailboxActor: takes at once what is sent to a script, and hands it over when the script asks.

A script is often not listening, and whoever sends to it would have to keep what it does not take. The law:
nothing is forgotten before the script has said that it has it; what agents send is handed over in order,
`Down` last; the mailbox opens none of it and ends with its script.
"""

from __future__ import annotations

import time
from collections import deque
from typing import Any

import attrs
from thespian.actors import ActorExitRequest, ActorSystemMessage

from gen_agent.actors.identity import local_process
from gen_agent.actors.internal import Internal
from gen_agent.actors.shell import Shell
from gen_agent.actors.watching import Ready
from gen_agent.client.ordering import Ordering
from gen_agent.envelopes import Call, Envelope
from gen_agent.errors import Unpicklable
from gen_agent.messages import Reply
from gen_agent.sealed import Sealed
from gen_agent.soundness import is_sound
from gen_agent.values import Caller, CallRef

BATCH = 256
"""How many messages are handed over at a time."""

_OWNER = "the script"


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class Open(Internal):
    """Script to its new mailbox: whose it is."""

    owner: Caller


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class Take(Call):
    """Script to its mailbox: I have everything up to number `acked`; give me what comes after.

    Answered by a `Reply` whose value is a `Batch`: at once if there is something, or if not `wait`; else as
    soon as something comes. A newer `Take` replaces one that waits.
    """

    acked: int
    wait: bool = True


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
        self._ordering = Ordering()
        self._items: deque[Any] = deque()
        self._first = 1
        self._parked: tuple[Any, CallRef] | None = None

    def handle(self, message: Any, sender: Any) -> None:
        """Deal with one message: the script's own, or one to keep for it."""
        if isinstance(message, Envelope) and not is_sound(message):
            return
        if isinstance(message, Take):
            self._take(message, sender)
        elif isinstance(message, Open):
            self._open(message)
        elif not isinstance(message, (ActorSystemMessage, Reply)):
            self._keep(self._ordering.arrived(message, time.monotonic()))

    def _open(self, message: Open) -> None:
        process = local_process(message.owner)
        if self.has_processes and process is not None and not self.watcher.add_process(process, _OWNER):
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
        self._items.extend(_portable(message) for message in messages)
        due = self._ordering.deadline()
        if due is None:
            self.clear_deadline("order")
        else:
            self.set_deadline("order", max(0.0, due - time.monotonic()))
        if self._parked is not None and self._items:
            self._give(*self._parked)

    def _take(self, message: Take, sender: Any) -> None:
        while self._items and self._first <= message.acked:
            self._items.popleft()
            self._first += 1
        if self._items or not message.wait:
            self._give(sender, message.call)
        else:
            self._parked = (sender, message.call)

    def _give(self, sender: Any, call: CallRef) -> None:
        self._parked = None
        items = tuple(self._items[index] for index in range(min(BATCH, len(self._items))))
        self.send(sender, Batch(call, self._first, items))


def _portable(message: Any) -> Any:
    if isinstance(message, Envelope):
        return message
    try:
        return Sealed.of(message, "message")
    except Unpicklable as error:
        return error
