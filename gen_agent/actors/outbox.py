"""All lanes of a process: who gets on when, what bounds them, and what becomes of a lane whose target is
gone.

The law: the first frame of every lane is under way or waits for a known time; a lane with nothing to send and
no connection is forgotten. Lanes are driven by a loop, never by recursion: a dead target with thousands
queued costs their number and nothing else. An answer that nobody waits for wakes nobody for some time: it is
read when the process is awake anyway. This module must not know actors; an intent may say that it is
`patient`.
"""

from __future__ import annotations

from typing import Any

from thespian.system.timing import currentTime

from gen_agent.actors.frames import Answer, Seal
from gen_agent.actors.lanes import REFUSALS, Done, Lane, Result, Step
from gen_agent.actors.poller import READ, WRITE, Nested, Poller
from gen_agent.actors.sockets import Key

PATIENCE_S = 0.1
"""How long the answer to a patient intent wakes nobody, in seconds."""

SILENCE_S = 0.25
"""How long a process that ends listens to a target that has everything and says nothing, in seconds."""


class LaneFull(RuntimeError):
    """More is queued for one target than its lane holds; nothing was queued."""


class Outbox:
    """The lanes. Not thread-safe: the transport holds its lock around every call.

    `max_count` and `max_bytes` bound each lane by itself; a single frame of any size is always taken.
    """

    def __init__(self, poller: Poller, seal: Seal, done: Done, *, max_count: int, max_bytes: int) -> None:
        self._poller = Nested(poller)
        self._seal = seal
        self._done = done
        self._max_count = max_count
        self._max_bytes = max_bytes
        self._lanes: dict[Key, Lane] = {}
        self._paused: set[Lane] = set()
        self._hasty = 0
        self._hurried = False
        self._quiet_until: float | None = None
        self._ending_at: float | None = None
        self.pending = 0

    def submit(self, key: Key, intent: Any) -> None:
        """Queue an intent and send what goes out now; raises `LaneFull`."""
        lane = self._lanes.get(key)
        if lane is None:
            lane = self._lanes[key] = Lane(key, self._seal)
        elif lane.queue and self._is_full(lane, len(intent.serMsg.data)):
            raise LaneFull(
                f"{len(lane.queue)} messages ({lane.queued_bytes} bytes) already wait for one target"
            )
        lane.push(intent)
        self.pending += 1
        if _is_patient(intent):
            self._quiet_until = currentTime() + PATIENCE_S
        else:
            self._hasty += 1
        if lane.may_send:
            self._drive(lane)
        else:
            self._hurried = True

    def _is_full(self, lane: Lane, size: int) -> bool:
        return len(lane.queue) >= self._max_count or lane.queued_bytes + size > self._max_bytes

    def _drive(self, lane: Lane) -> None:
        while lane.queue and lane.resume_at is None:
            step = self._send(lane)
            if step in (Step.DONE, Step.BLOCKED):
                break
            self._mend(lane, step)
        self._settle(lane)

    def _send(self, lane: Lane) -> Step:
        if lane.sock is None:
            step = self._connect(lane)
            if step is not Step.DONE:
                return step
        wrote = lane.wants_write
        step = lane.send()
        if lane.sock is not None and lane.wants_write != wrote:
            self._hurried |= lane.wants_write
            self._poller.change(lane.sock.fileno(), READ | WRITE if lane.wants_write else READ)
        return step

    def _connect(self, lane: Lane) -> Step:
        step = lane.connect()
        if step is Step.CROWDED and self.close_idle():
            step = lane.connect()
        if lane.sock is not None:
            self._poller.add(lane.sock.fileno(), READ, lambda: self._ready(lane))
        return step

    def _mend(self, lane: Lane, step: Step) -> None:
        self._disconnect(lane)
        if step is Step.REFUSED:
            self._fail(lane, Result.DEAD)
        elif step in (Step.UNREACHABLE, Step.CROWDED):
            self._pause(lane)
        elif not lane.after_loss():
            if lane.refusals >= REFUSALS:
                self._fail(lane, Result.FAILED)
            else:
                self._pause(lane)

    def _pause(self, lane: Lane) -> None:
        lane.pause()
        self._paused.add(lane)

    def _finish(self, lane: Lane, result: Result) -> None:
        intent = lane.pop()
        self.pending -= 1
        self._hasty -= not _is_patient(intent)
        self._hurried &= self.pending > 0
        self._done(intent, result)

    def _fail(self, lane: Lane, result: Result) -> None:
        lane.refusals = 0
        while lane.queue:
            self._finish(lane, result)

    def _disconnect(self, lane: Lane) -> None:
        if lane.sock is not None:
            self._poller.remove(lane.sock.fileno())
            lane.disconnect()

    def _settle(self, lane: Lane) -> None:
        if not lane.queue and lane.sock is None and self._lanes.get(lane.key) is lane:
            del self._lanes[lane.key]

    def _ready(self, lane: Lane) -> None:
        if lane.queue:
            self._hear(lane)
            self._drive(lane)
        elif lane.idle_is_closed():
            self._disconnect(lane)
            self._settle(lane)

    def _hear(self, lane: Lane) -> None:
        step, answers = lane.receive()
        for answer in answers:
            self._finish(lane, Result.TAKEN if answer is Answer.TAKEN else Result.UNREADABLE)
        if step not in (Step.DONE, Step.BLOCKED):
            self._mend(lane, step)

    def end(self) -> None:
        """This process is about to end."""
        self._ending_at = currentTime()

    def may_end(self) -> bool:
        """Whether this process is about to end and need not stay for its sends.

        What has arrived is read when its target gets round to it, which may be a script that does something
        else for long: answers are waited for only as long as they come.
        """
        if self._ending_at is None:
            return False
        now, since = currentTime(), self._ending_at
        busy = [lane for lane in self._lanes.values() if lane.queue]
        return all(_silent_at(lane, since) <= now and lane.all_delivered for lane in busy)

    def hasten(self) -> None:
        """Somebody waits for what is under way: its answers are to be read as soon as they come."""
        self._hurried = True

    def mind(self, hurry: bool) -> None:
        """Decide whether the answers end the wait that is about to begin; with `hurry` they do."""
        if self._quiet_until is not None and self._quiet_until <= currentTime():
            self._quiet_until = None
        waited_for = hurry or self._hurried or self._hasty > 0
        self._poller.heed(waited_for or self._quiet_until is None)

    def run_due(self) -> None:
        """Read the answers that woke nobody, close what the dead have left, and get on with the lanes whose
        pause is over; what could not be sent for too long is given up.
        """
        if self._lanes and not self._poller.heeded:
            self._poller.look()
        if not self._paused:
            return
        now = currentTime()
        for lane in [lane for lane in self._paused if lane.resume_at is None or lane.resume_at <= now]:
            self._paused.discard(lane)
            lane.resume_at = None
            while lane.queue and lane.queue[0].expired():
                self._finish(lane, Result.FAILED)
            self._drive(lane)

    def next_due(self) -> float | None:
        """When the next pause is over, or the patience with answers; None for never."""
        quiet = None if self._poller.heeded else self._quiet_until
        if not self._paused and self._ending_at is None:
            return quiet
        moments = [quiet, *(lane.resume_at for lane in self._paused)]
        if self._ending_at is not None:
            written = [lane for lane in self._lanes.values() if lane.queue and lane.all_written]
            # That the other side's kernel has all of it is no event.
            soon = currentTime() + SILENCE_S / 10
            moments += [max(_silent_at(lane, self._ending_at), soon) for lane in written]
        return min((moment for moment in moments if moment is not None), default=None)

    def target_died(self, key: Key) -> None:
        """Give up everything queued for a target that is known to be dead."""
        lane = self._lanes.get(key)
        if lane is not None:
            self._paused.discard(lane)
            lane.resume_at = None
            self._disconnect(lane)
            self._fail(lane, Result.DEAD)
            self._settle(lane)

    def close_idle(self) -> bool:
        """Close the connection that has been idle longest, if any; whether there was one."""
        idle = [lane for lane in self._lanes.values() if lane.sock is not None and not lane.queue]
        if not idle:
            return False
        oldest = min(idle, key=lambda lane: lane.used_at)
        self._disconnect(oldest)
        self._settle(oldest)
        return True

    def intents(self) -> list[Any]:
        """Everything queued."""
        return [intent for lane in self._lanes.values() for intent in lane.queue]

    def fileno(self) -> int:
        """The descriptor behind which all connections are."""
        return self._poller.fileno()

    def descriptors(self) -> list[int]:
        """The descriptors of the connections."""
        return [lane.sock.fileno() for lane in self._lanes.values() if lane.sock is not None]

    def close(self) -> None:
        """Give up everything queued and close all connections."""
        for lane in list(self._lanes.values()):
            self._disconnect(lane)
            self._fail(lane, Result.FAILED)
        self._poller.heed(False)
        self.abandon()

    def abandon(self) -> None:
        """Close this process' copies of the connections and forget them; they stay open in their own."""
        for lane in self._lanes.values():
            lane.disconnect()
        self._lanes.clear()
        self._paused.clear()
        self.pending = self._hasty = 0
        self._poller.close()
        # Whoever made us would live until a collection otherwise, and with it what it holds.
        self._done = _untold


def _silent_at(lane: Lane, ending_at: float) -> float:
    return max(lane.used_at, ending_at) + SILENCE_S


def _untold(intent: Any, result: Result) -> None:
    """What becomes of an intent after the end is told to nobody."""


def _is_patient(intent: Any) -> bool:
    return getattr(intent, "patient", False) is True
