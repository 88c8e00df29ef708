"""The outposts of one supervisor: one in another system for each set of requirements its own does not meet.

The law: an outpost is made with the first agent that needs it and dismissed with the last, so that nothing
beats where there is nobody to ask about; an agent that can't be placed in `PLACING_S` is refused with the
reason; when an outpost is not heard of any more, its agents are unreachable, all at once and once. The
supervisor never waits for an actor on another machine, not even at its own end.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import attrs
from thespian.actors import Actor

from gen_agent.actors.children import CannotCreate, Child
from gen_agent.actors.convention import LEADER, meets
from gen_agent.actors.heartbeat import BEAT_S, Pulse
from gen_agent.actors.identity import machine, same_named, this_process
from gen_agent.actors.internal import Beat, Dismiss, Kill, Settle, Settled, Spawn
from gen_agent.client.placing import nobody_has
from gen_agent.client.protocol import VERSION_CAPABILITY
from gen_agent.errors import InitFailed
from gen_agent.messages import StartAgent

PLACING_S = 5.0
"""How long a system that meets the requirements is looked for, in seconds: members may still be joining."""

AGAIN_S = 0.25
"""How long after a refusal it is looked for again, in seconds."""

OUTPOST = "outpost"
"""What the deadlines of outposts are called."""


class Host(Protocol):
    """What outposts need of the supervisor."""

    @property
    def capabilities(self) -> Mapping[str, Any]:
        """What this system is capable of."""

    def send(self, address: Any, message: Any) -> None:
        """Send a message."""

    def send_or(self, address: Any, message: Any, dead: Callable[[], None]) -> None:
        """Send a message; `dead` is called if nobody is at that address any more."""

    def create_away(self, actor: type[Actor], requirements: Mapping[str, Any]) -> Child:
        """Have a child made in a system that meets the requirements."""

    def disown(self, child: Child) -> None:
        """Never wait for that child's end."""

    def give_up(self, address: Any) -> None:
        """Drop what waits to be sent there."""

    def refused(self, token: int, error: InitFailed) -> None:
        """There will be no process for that start."""

    def lost(self, token: int, reason: str) -> None:
        """The process of that agent is not to be seen any more."""

    def set_deadline(self, key: Any, seconds: float) -> None:
        """Come back after `seconds`."""

    def clear_deadline(self, key: Any) -> None:
        """Do not."""


@attrs.define(eq=False)
class _Post:
    """One outpost: what it was made for, the tokens of its agents, and what waits until it has settled."""

    number: int
    requirements: Mapping[str, Any]
    child: Child
    tokens: set[int] = attrs.field(factory=set)
    held: dict[int, StartAgent] = attrs.field(factory=dict)
    pulse: Pulse = attrs.field(factory=Pulse)
    settled: bool = False


class Outposts:
    """Where the agents are that this system can't have itself."""

    def __init__(self, host: Host, outpost: type[Actor]) -> None:
        self._host = host
        self._class = outpost
        self._posts: dict[int, _Post] = {}
        self._numbers = itertools.count(1)

    def __len__(self) -> int:
        return len(self._posts)

    def needed(self, requirements: Mapping[str, Any]) -> bool:
        """Whether this system can't have an agent with these requirements itself."""
        return not meets(self._host.capabilities, requirements)

    def has(self, token: int) -> bool:
        """Whether an outpost has that agent, or is to have it."""
        return self._of(token) is not None

    def _of(self, token: int) -> _Post | None:
        return next((post for post in self._posts.values() if token in post.tokens), None)

    def _at(self, address: Any) -> _Post | None:
        return next((post for post in self._posts.values() if post.child.address == address), None)

    # ---------------------------------------------------------------- agents

    def spawn(self, token: int, start: StartAgent, requirements: Mapping[str, Any]) -> None:
        """Have an agent made where the requirements are met; raises `CannotCreate`."""
        post = next((post for post in self._posts.values() if post.requirements == requirements), None)
        if post is None:
            post = self._open(requirements)
        post.tokens.add(token)
        if post.settled:
            self._host.send(post.child.address, Spawn(token, start, os.getpid()))
        else:
            post.held[token] = start

    def kill(self, token: int) -> None:
        """End the process of an agent: `lost`, `refused` or `Gone` tells when it is gone."""
        post = self._of(token)
        if post is not None and post.held.pop(token, None) is not None:
            self._host.refused(token, InitFailed("requirements", "given up"))
        elif post is not None:
            self._host.send(post.child.address, Kill(token))

    def left(self, token: int) -> None:
        """An agent is gone; with the last one its outpost goes."""
        post = self._of(token)
        if post is None:
            return
        post.tokens.discard(token)
        post.held.pop(token, None)
        if not post.tokens:
            self._forget(post)
            self._host.send(post.child.address, Dismiss())

    # ---------------------------------------------------------------- the outposts

    def _open(self, requirements: Mapping[str, Any]) -> _Post:
        number = next(self._numbers)
        post = self._posts[number] = _Post(number, requirements, self._make(requirements))
        self._host.set_deadline((OUTPOST, "placing", number), PLACING_S)
        return post

    def _make(self, requirements: Mapping[str, Any]) -> Child:
        own = self._host.capabilities
        # A system that speaks another version would take our messages for something else.
        same = {VERSION_CAPABILITY: own[VERSION_CAPABILITY]} if VERSION_CAPABILITY in own else {}
        child = self._host.create_away(self._class, {**same, **requirements})
        self._host.send(child.address, Settle(this_process(), machine()))
        return child

    def settled(self, message: Settled, sender: Any) -> None:
        """An outpost is ready: agents can be made there, and its beats are counted from now on."""
        post = self._at(sender)
        if post is None:
            # It was given up before it came.
            self._host.send(sender, Dismiss())
            return
        name = same_named(message.machine)
        if name is not None:
            self._refuse(post, InitFailed("machine", f"another machine is called {name} too: rename one"))
            self._host.send(sender, Dismiss())
            return
        post.settled = True
        self._host.disown(post.child)
        self._host.clear_deadline((OUTPOST, "placing", post.number))
        self._host.set_deadline((OUTPOST, "beat", post.number), BEAT_S)
        while post.held:
            token, start = post.held.popitem()
            self._host.send(post.child.address, Spawn(token, start, os.getpid()))

    def heard(self, sender: Any) -> None:
        """An outpost has answered a beat."""
        post = self._at(sender)
        if post is not None:
            post.pulse.heard()

    def evicted(self, sender: Any) -> tuple[int, ...]:
        """The system of an outpost ends: the tokens of its agents, which are to end before."""
        post = self._at(sender)
        return () if post is None else tuple(post.tokens)

    def exited(self, address: Any) -> bool:
        """An outpost has ended, or none could be made. False if the address is none of an outpost."""
        post = self._at(address)
        if post is None:
            return False
        if post.settled:
            # Whatever it had dies with it, by the kernel's doing, and may have said its last word before.
            self._lose(post, "killed")
        elif self._host.capabilities.get(LEADER) is None:
            self._refuse(post, self._nobody(post))
        else:
            self._host.set_deadline((OUTPOST, "again", post.number), AGAIN_S)
        return True

    def on_deadline(self, what: str, number: int) -> None:
        """It is time for a beat, for another try, or to give up."""
        post = self._posts.get(number)
        if post is None:
            return
        if what == "placing":
            self._refuse(post, self._nobody(post))
        elif what == "again":
            self._again(post)
        elif post.pulse.beat():
            self._host.send_or(post.child.address, Beat(), lambda: self._dead(post))
            self._host.set_deadline((OUTPOST, "beat", number), BEAT_S)
        else:
            self._lose(post, "unreachable")

    def _dead(self, post: _Post) -> None:
        if post.number in self._posts:
            self._lose(post, "killed")

    def _again(self, post: _Post) -> None:
        try:
            post.child = self._make(post.requirements)
        except CannotCreate:
            self._refuse(post, self._nobody(post))

    @staticmethod
    def _nobody(post: _Post) -> InitFailed:
        return nobody_has(post.requirements)

    def _refuse(self, post: _Post, error: InitFailed) -> None:
        self._forget(post)
        for token in post.tokens:
            self._host.refused(token, error)

    def _lose(self, post: _Post, reason: str) -> None:
        self._forget(post)
        if reason == "unreachable":
            self._host.give_up(post.child.address)
        for token in post.tokens:
            self._host.lost(token, reason)

    def _forget(self, post: _Post) -> None:
        del self._posts[post.number]
        self._host.disown(post.child)
        for what in ("placing", "again", "beat"):
            self._host.clear_deadline((OUTPOST, what, post.number))
