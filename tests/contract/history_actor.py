"""The actor in a real history: a client of agents inside another process, used like a script's from here."""

from __future__ import annotations

import functools
import os
import signal
from collections import deque
from collections.abc import Callable
from typing import Any

import attrs
from thespian.actors import ActorExitRequest

from gen_agent.actors.processes import Watched
from gen_agent.actors.system import Client
from gen_agent.messages import Reply
from gen_agent.values import CallRef
from tests.actors.boss import Boss
from tests.actors.crew import Customer
from tests.contract.history_desk import answer
from tests.contract.troupe import PATIENCE_S

Test = Callable[[Any], bool]


class Numbered(Customer):
    """A `Customer` that says in which process it is."""

    def attempt(self, method: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """The process's id, or what a `Customer` does."""
        return os.getpid() if method == "pid" else super().attempt(method, arguments, keywords)


class Behind:
    """The methods of an actor's client, each waited for; messages wait here until they are received."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._got: deque[Any] = deque()
        self._replies: dict[CallRef, Reply] = {}
        self._begin()

    def _begin(self) -> None:
        self._boss = Boss(self._client, Numbered)
        self._process = Watched(self._boss.do("pid"))

    @property
    def address(self) -> Any:
        """Where its messages go."""
        return self._boss.customer

    def __getattr__(self, method: str) -> Any:
        return functools.partial(self._call, method)

    def _call(self, method: str, *arguments: Any, **keywords: Any) -> Any:
        found = self._boss.do(method, *arguments, **keywords)
        return self.reply(found).result() if isinstance(found, CallRef) else found

    def post(self, method: str, *arguments: Any, **keywords: Any) -> CallRef:
        """Have it call, and wait for nothing."""
        call: CallRef = self._boss.do(method, *arguments, **keywords)
        return call

    def reply(self, call: CallRef) -> Reply:
        """The reply to a call, whatever else comes before."""
        while call not in self._replies:
            self._take()
        return self._replies.pop(call)

    def _take(self) -> None:
        message = self._boss.got()
        if isinstance(message, Reply):
            self._replies[message.call] = message
        else:
            self._got.append(message)

    def receive(self, match: Test = lambda message: True, timeout: float = PATIENCE_S) -> Any:
        """The next message that matches and is no reply; others stay, in order."""
        while (found := next((one for one in self._got if match(one)), None)) is None:
            self._take()
        self._got.remove(found)
        return found

    def die(self) -> None:
        """Have its process killed, and another actor made in its place."""
        self._end(lambda: self._process.signal(signal.SIGKILL))
        assert not self._got
        self._replies.clear()
        self._begin()

    def close(self) -> None:
        """End it."""
        self._end(lambda: self._boss.endpoint.post(self.address, ActorExitRequest()))

    def _end(self, call: Callable[[], None]) -> None:
        with self._process:
            call()
            assert self._process.wait(PATIENCE_S)


@attrs.define
class Posted:
    """A call of the actor whose reply is still to come."""

    actor: Behind
    call: CallRef
    ended: bool = False

    def read(self, due: list[Any]) -> None:
        """It has been answered as it had to be."""
        self.ended = True
        assert [("answer", answer(self.actor.reply(self.call).result))] == due
