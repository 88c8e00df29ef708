"""What else a transport is asked for: which descriptors it needs, what waits in it, and its end.

The law: `close` ends every connection for both sides and every queued intent as failed; a forked process'
copy of its parent's transport is only ever abandoned, which the parent must not notice. Reports name classes,
never contents. This module must not know how messages travel.
"""

from __future__ import annotations

import os
from typing import Any

from thespian.actors import ActorAddress

from gen_agent.actors.runloop import RunLoop


class Upkeep(RunLoop):
    """The rest of the transport beside waiting and sending."""

    _pid: int

    @property
    def closed(self) -> bool:
        """Whether `close` was called, or this is a forked process' copy of somebody else's transport."""
        return self._closed

    @property
    def pending(self) -> int:
        """How many messages were neither taken nor given up yet."""
        return 0 if self._closed else self._outbox.pending

    def protectedFileNumList(self) -> list[int]:
        """The descriptors without which this transport does not work."""
        if self._closed:
            return []
        with self._lock:
            parts = (self._poller, self._watched, self._bell, self._outbox)
            own = [part.fileno() for part in parts]
            return [*own, *self._inbox.descriptors(), *self._outbox.descriptors()]

    def childResetFileNumList(self) -> list[int]:
        """The descriptors a forked child has to close by number: none, its transport closes them."""
        return []

    def leaving_fileno(self) -> int:
        """A descriptor that is readable when what is queued can get on."""
        return self._outbox.fileno()

    def refuse(self) -> None:
        """Take nothing any more: whoever sends to this process finds nobody. What is queued still leaves."""
        with self._lock:
            self._inbox.refuse()

    def lostRemote(self, rmtaddr: ActorAddress) -> None:
        """Take note that another system is gone: the kernel ends the connections to it."""

    def _updateStatusResponse(self, resp: Any) -> None:
        with self._lock:
            queued, arrived, wakeups = self._outbox.intents(), list(self._arrived), self._wakeups.pending()
        for intent in queued:
            resp.addPendingMessage(self.myAddress, intent.targetAddr, type(intent.message).__name__)
        for envelope in arrived:
            resp.addReceivedMessage(envelope.sender, self.myAddress, type(envelope.message).__name__)
        resp.addWakeups([(self.myAddress, wakeup.timer) for wakeup in wakeups])

    def close(self) -> None:
        """End this transport; what is still queued fails. Safe to call twice, and from a forked process."""
        if getattr(self, "_closed", True):
            return
        if self._pid != os.getpid():
            self._abandon()
            return
        with self._lock:
            self._outbox.close()
            self._inbox.close()
            self._end()
        while self._finished:
            intent, status = self._finished.popleft()
            intent.tx_done(status)

    def disown(self) -> None:
        """In a forked process that closes by number all it does not need: do nothing any more, and do not
        close those numbers again, which may be another's by then.
        """
        self._closed = True

    def _abandon(self) -> None:
        """Close this process' copies of another's descriptors, none of which may be shut down or changed."""
        if not self._closed:
            self._outbox.abandon()
            self._inbox.abandon()
            self._finished.clear()
            self._end()

    def _end(self) -> None:
        self._closed = True
        self._arrived.clear()
        self._poller.close()
        self._watched.close()
        self._bell.close()

    def __del__(self) -> None:
        self.close()
