"""Who has which name, who watches whom, and who may be restarted: the supervisor's memory as plain data.

The law: a name is reserved before anything is spawned and free again only when its process is gone; every
monitor is taken out exactly once; nothing here knows a clock, a process, a message or Thespian. Names are
compared together with their type. Addresses of recipients and parents are the shell's own handles, which are
only carried.
"""

from __future__ import annotations

import enum
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import attrs

from gen_agent.remembered import Remembered, Tidying
from gen_agent.values import REASONS, AgentAddress, Incarnation, MonitorRef, Name, is_address, name_key

REMEMBERED = 10_000
"""How many ended incarnations are remembered with their reasons."""

RESTARTS = 3
"""How many restarts of one name are allowed within `RESTART_WINDOW_S`."""

RESTART_WINDOW_S = 5.0
"""The window in which restarts are counted, in seconds."""

_NEVER_AGAIN = frozenset({"normal", "shutdown", "registry_lost"})


class Phase(enum.Enum):
    """Where one agent stands: its name is reserved, it serves, or it has been told to end."""

    STARTING = "starting"
    UP = "up"
    STOPPING = "stopping"


@attrs.frozen
class Entry:
    """One agent under one token. `start` is what it was started with; `parent` is None for one of our own;
    one without a name is known by its address only.
    """

    token: int
    name: Name | None
    phase: Phase = Phase.STARTING
    address: AgentAddress | None = None
    start: Any = attrs.field(default=None, repr=False)
    parent: Any = attrs.field(default=None, repr=False)


@attrs.frozen
class Watch:
    """One monitor: its ref, who gets the Down, and the agent's address."""

    ref: MonitorRef
    recipient: Any = attrs.field(repr=False)
    address: AgentAddress


@attrs.frozen
class Ended:
    """How an incarnation ended."""

    reason: str
    detail: tuple[str, ...] = ()


_PLAIN = {reason: Ended(reason) for reason in REASONS}


class Directory:
    """Names, tokens and incarnations of the agents of one system."""

    def __init__(self) -> None:
        self._entries: dict[int, Entry] = {}
        self._names: dict[Any, int] = {}
        self._incarnations: dict[Incarnation, int] = {}
        self._ended: Remembered[Ended] = Remembered(REMEMBERED)

    def reserve(self, entry: Entry) -> Entry | None:
        """Take the name for `entry`; returns who has it already, or None when it is taken now."""
        if entry.name is not None:
            holder = self.holder(entry.name)
            if holder is not None:
                return holder
            self._names[name_key(entry.name)] = entry.token
        self._entries[entry.token] = entry
        return None

    def up(self, token: int, address: AgentAddress) -> Entry | None:
        """The agent under `token` serves at `address`; None if that token has been given up meanwhile."""
        entry = self._entries.get(token)
        if entry is None:
            return None
        self._incarnations[address.incarnation] = token
        return self._put(attrs.evolve(entry, phase=Phase.UP, address=address))

    def stopping(self, token: int) -> None:
        """The agent under `token` has been told to end: it is never restarted."""
        entry = self._entries.get(token)
        if entry is not None:
            self._put(attrs.evolve(entry, phase=Phase.STOPPING))

    def _put(self, entry: Entry) -> Entry:
        self._entries[entry.token] = entry
        return entry

    def release(self, token: int, ended: Ended | None = None) -> Entry | None:
        """Free the name under `token`; `ended` is remembered for late questions. Returns what was there,
        once.
        """
        entry = self._entries.pop(token, None)
        if entry is None:
            return None
        if entry.name is not None:
            del self._names[name_key(entry.name)]
        if entry.address is not None:
            del self._incarnations[entry.address.incarnation]
            self._remember(entry.address.incarnation, ended)
        return entry

    def _remember(self, incarnation: Incarnation, ended: Ended | None) -> None:
        if ended is not None:
            # What thousands may share is kept once.
            self._ended.add(incarnation, _PLAIN.get(ended.reason, ended) if not ended.detail else ended)

    def holder(self, name: Name) -> Entry | None:
        """Who has `name`, in whatever phase."""
        token = self._names.get(name_key(name))
        return None if token is None else self._entries[token]

    def find(self, name: Name) -> AgentAddress | None:
        """The address registered under `name`: None while it is still starting."""
        entry = self.holder(name)
        return None if entry is None else entry.address

    def entry(self, token: int) -> Entry | None:
        """The entry under `token`."""
        return self._entries.get(token)

    def incarnation(self, incarnation: Incarnation) -> Entry | None:
        """The entry whose process is exactly this one."""
        token = self._incarnations.get(incarnation)
        return None if token is None else self._entries[token]

    def at(self, actor: Any) -> Entry | None:
        """The entry whose Thespian address equals `actor`; addresses have no hash, so this walks."""
        return next(
            (entry for entry in self if entry.address is not None and entry.address.actor == actor), None
        )

    def whom(self, target: Any) -> Entry | None:
        """The entry that a target means: exactly that incarnation, that Thespian address, or that name."""
        if isinstance(target, AgentAddress):
            return self.incarnation(target.incarnation)
        return self.at(target) if is_address(target) else self.holder(target)

    def ended(self, incarnation: Incarnation) -> Ended | None:
        """How an incarnation that was here ended, as far back as is remembered."""
        return self._ended.get(incarnation)

    def names(self) -> tuple[Name, ...]:
        """The registered names, unordered to the reader; agents still starting and nameless ones are left
        out (C019).
        """
        return tuple(entry.name for entry in self if entry.address is not None and entry.name is not None)

    def __iter__(self) -> Iterator[Entry]:
        return iter(tuple(self._entries.values()))

    def __len__(self) -> int:
        return len(self._entries)


class Monitors:
    """Monitors by ref and by incarnation: each is handed out once, for its one Down.

    Whoever is killed takes no monitor back: with many of them those whose recipient `is_gone` are dropped.
    """

    def __init__(self, is_gone: Callable[[Any], bool] = lambda _: False) -> None:
        self._is_gone = is_gone
        self._tidying = Tidying()
        self._watches: dict[MonitorRef, Watch] = {}
        self._by_incarnation: dict[Incarnation, dict[MonitorRef, None]] = {}

    def add(self, watch: Watch) -> None:
        """Remember `watch`; the same ref again changes nothing."""
        if watch.ref not in self._watches:
            if self._tidying.is_due(len(self._watches)):
                self._tidy()
            self._watches[watch.ref] = watch
            self._by_incarnation.setdefault(watch.address.incarnation, {})[watch.ref] = None

    def _tidy(self) -> None:
        for watch in tuple(self._watches.values()):
            if self._is_gone(watch.recipient):
                self.drop(watch.ref)
        self._tidying.done(len(self._watches))

    def drop(self, ref: MonitorRef) -> None:
        """Forget a monitor: no Down will carry its ref. Unknown refs are ignored."""
        watch = self._watches.pop(ref, None)
        if watch is None:
            return
        refs = self._by_incarnation[watch.address.incarnation]
        del refs[ref]
        if not refs:
            del self._by_incarnation[watch.address.incarnation]

    def take(self, incarnation: Incarnation) -> tuple[Watch, ...]:
        """All monitors of an incarnation that has ended, in the order they were made; they are forgotten
        here.
        """
        refs = self._by_incarnation.pop(incarnation, {})
        return tuple(self._watches.pop(ref) for ref in refs)

    def __len__(self) -> int:
        return len(self._watches)


class Restarts:
    """Counts restarts per name: at most `RESTARTS` within `RESTART_WINDOW_S`, then no more (C013)."""

    def __init__(self) -> None:
        self._times: dict[Any, deque[float]] = {}

    def allowed(self, name: Name, policy: str, reason: str, now: float) -> bool:
        """Whether an agent that ended with `reason` is started again; an allowed restart is counted."""
        if policy == "temporary" or (policy == "transient" and reason in _NEVER_AGAIN):
            self.forget(name)
            return False
        times = self._times.setdefault(name_key(name), deque())
        while times and now - times[0] >= RESTART_WINDOW_S:
            times.popleft()
        if len(times) >= RESTARTS:
            self.forget(name)
            return False
        times.append(now)
        return True

    def forget(self, name: Name | None) -> None:
        """The name has been stopped or given up: its next holder starts counting anew."""
        if name is not None:
            self._times.pop(name_key(name), None)
