"""A client's reach into its system: an endpoint that can be replaced, the supervisor, and who has died.

The law: any exception that breaks off a Thespian call costs the endpoint, which is replaced, and nothing
else. A supervisor is used only while its process lives. This module knows no call but the supervisor's
greeting.
"""

from __future__ import annotations

import abc
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any

from thespian.actors import ActorSystemException

from gen_agent.actors.endpoint import WOKEN, Endpoint
from gen_agent.actors.far import FarSupervisor
from gen_agent.actors.identity import local_process
from gen_agent.actors.processes import ProcessId
from gen_agent.actors.retired import Retired
from gen_agent.actors.watching import Watcher
from gen_agent.client.protocol import SUPERVISOR, SUPERVISOR_CLASS, Hello
from gen_agent.envelopes import Call
from gen_agent.messages import Reply
from gen_agent.remembered import Remembered
from gen_agent.values import AgentAddress, CallRef, Incarnation

SUPERVISOR_S = 10.0
"""How long a supervisor has to answer, a new one included."""

GREETING_S = 1.0
"""How long one greeting may take before the supervisor is looked up anew."""

QUIET_S = 0.01
"""How long nothing has to come before what was sent by a dead process has all been read."""

_WATCHED = 256
_REMEMBERED = 10_000
_SUPERVISOR_KEY = "the supervisor"
MAILBOX_KEY = "the mailbox"


class Reach(abc.ABC):
    """The part of a line that knows processes; what a line makes of them is in the methods it overrides."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self._watcher = Watcher()
        self._retired = Retired(self._watcher)
        self._watched: OrderedDict[Incarnation, None] = OrderedDict()
        self._dead: Remembered[None] = Remembered(_REMEMBERED)
        self._suspects: deque[Incarnation] = deque()
        self._failed: list[CallRef] = []
        self._supervisor: Any = None
        self._supervisor_process: ProcessId | None = None
        self._supervisor_doubted = False
        self._far: FarSupervisor | None = None
        self._lost_reason = "registry_lost"

    # ---------------------------------------------------------------- for the line

    @abc.abstractmethod
    def _route(self, message: Any) -> None:
        """Take in what has arrived."""

    @abc.abstractmethod
    def _supervisor_gone(self) -> None:
        """The supervisor is gone: what was asked of it fails or is asked again."""

    @abc.abstractmethod
    def _mailbox_gone(self) -> None:
        """The mailbox' process is gone."""

    @abc.abstractmethod
    def _resend(self) -> None:
        """The endpoint was replaced: ask anew what may be asked twice."""

    @abc.abstractmethod
    def _holders(self) -> frozenset[Incarnation]:
        """Whom calls are waiting for."""

    @abc.abstractmethod
    def _is_asked_about(self, incarnation: Incarnation) -> bool:
        """Whether it is being asked how that one ended."""

    @abc.abstractmethod
    def _watch_afar(self, address: AgentAddress) -> None:
        """Have the death of an agent elsewhere become known."""

    # ---------------------------------------------------------------- the endpoint

    def _guarded(self, use: Callable[[], Any]) -> Any:
        try:
            return use()
        except BaseException:
            # Thespian's loop is left half-way, with its locks held.
            self._replace()
            raise

    def _replace(self) -> None:
        old, self.endpoint = self.endpoint, self.endpoint.clone()
        self._retired.add(old)
        self._resend()

    def _post(self, address: Any, message: Any, call: CallRef | None) -> None:
        self._guarded(lambda: self.endpoint.post(address, message, call))

    def post(self, address: Any, message: Any) -> None:
        """Send a message that is none of the book's."""
        self._guarded(lambda: self.endpoint.post(address, message))

    def _read(self, seconds: float) -> Any:
        """The next message, `WOKEN`, or None; deaths are noted, what is a message is the caller's to
        route."""
        self._retired.go_on()
        now = time.monotonic()
        if self._far is not None and not self._far.seconds(now) and not self._beat(self._far, now):
            return WOKEN
        most = seconds if self._far is None else min(seconds, self._far.seconds(now))
        message = self._guarded(lambda: self.endpoint.receive(most, self._watcher.fileno()))
        if message is WOKEN:
            self._on_deaths()
        elif self._far is not None and self._far.answered(message):
            return WOKEN
        return WOKEN if message is None and most < seconds else message

    def _beat(self, far: FarSupervisor, now: float) -> bool:
        hello = far.beat(now)
        if hello is not None:
            self.post(self._supervisor, hello)
            return True
        self._lost_reason = "unreachable"
        self._lose_supervisor()
        return False

    def _failures(self) -> list[CallRef]:
        """What could not be delivered, until somebody empties it."""
        self._failed += self.endpoint.failed()
        return self._failed

    def create(self, actor: str, global_name: str | None = None) -> Any:
        """Have a top-level actor made; None where the system is gone."""

        def make() -> Any:
            if self._lost_reason == "unreachable" and not self.endpoint.answers():
                return None
            try:
                return self.endpoint.create(actor, global_name)
            except ActorSystemException:
                # An answer, or the lack of one, which leaves the endpoint whole.
                return None

        return self._guarded(make)

    # ---------------------------------------------------------------- the supervisor

    def settle_supervisor(self) -> None:
        """Have the supervisor made now where it would be the child of whoever asks first, and end with it."""
        if not self.endpoint.has_processes:
            self._find_supervisor()

    def _find_supervisor(self) -> Any:
        """The supervisor's address, a new one's if the last is gone; None where there can be none any
        more."""
        if self._supervisor is not None and not self._supervisor_lives():
            self._lose_supervisor()
        end = time.monotonic() + SUPERVISOR_S
        while self._supervisor is None and time.monotonic() < end:
            address = self.create(SUPERVISOR_CLASS, SUPERVISOR)
            if address is None:
                return None
            who = self._greet(address)
            if who is not None and self._is_there(who):
                self._supervisor, self._lost_reason = address, "registry_lost"
        return self._supervisor

    def _supervisor_lives(self) -> bool:
        process = self._supervisor_process
        if process is not None and not process.alive():
            return False
        # One that was killed takes no messages any more some time before its process is gone.
        doubted, self._supervisor_doubted = self._supervisor_doubted, False
        return not doubted or self._greet(self._supervisor) is not None

    def _greet(self, address: Any) -> Any:
        """Who answers at that address; None if nobody does. Raises `RuntimeError` for another version's."""
        hello = Hello()
        self._post(address, hello, hello.call)
        try:
            reply = self._await_greeting(hello)
        finally:
            self.endpoint.settled(hello.call)
        if reply is None:
            # The admin may not have noticed yet that the last one is gone.
            time.sleep(QUIET_S)
            return None
        if reply.error is not None:
            raise RuntimeError("this system runs another version of gen_agent: end it and start it anew")
        return reply.value

    def _await_greeting(self, hello: Hello) -> Reply | None:
        end = time.monotonic() + GREETING_S
        while (left := end - time.monotonic()) > 0:
            message = self._read(left)
            if isinstance(message, Reply) and message.call == hello.call:
                return message
            if message is not None and message is not WOKEN:
                self._route(message)
            if hello.call in self._failures():
                return None
        return None

    def _is_there(self, who: Any) -> bool:
        process = self._supervisor_process = local_process(who) if who.pid else None
        self._far = FarSupervisor(time.monotonic()) if who.pid and process is None else None
        self._watcher.remove(_SUPERVISOR_KEY)
        return process is None or self._watcher.add_process(process, _SUPERVISOR_KEY)

    def _lose_supervisor(self) -> None:
        self._watcher.remove(_SUPERVISOR_KEY)
        self._supervisor = self._supervisor_process = self._far = None
        self._supervisor_gone()

    def tell_supervisor(self, message: Call) -> None:
        """Send the supervisor something without waiting for the answer; nothing if it is gone."""
        if self._supervisor is not None:
            self.post(self._supervisor, message)

    # ---------------------------------------------------------------- deaths

    def known_dead(self, incarnation: Incarnation) -> bool:
        """Whether that agent has been found to be dead, or not to be reached."""
        return incarnation in self._dead

    def _alive(self, address: AgentAddress) -> bool:
        if not self.endpoint.has_processes or address.incarnation in self._dead:
            return False
        process = local_process(address.incarnation)
        return process is None or process.alive()

    def _watch(self, address: AgentAddress) -> None:
        incarnation = address.incarnation
        if (
            not self.endpoint.has_processes
            or incarnation in self._watcher
            or self._is_asked_about(incarnation)
        ):
            return
        process: ProcessId | None = local_process(incarnation)
        if process is None and incarnation not in self._dead:
            self._watch_afar(address)
            return
        if process is None:
            self._suspects.append(incarnation)
            return
        if len(self._watched) >= _WATCHED:
            self._unwatch_idle()
        if self._watcher.add_process(process, incarnation):
            self._watched[incarnation] = None
        else:
            self._suspects.append(incarnation)

    def _unwatch_idle(self) -> None:
        for incarnation in self._watched.keys() - self._holders():
            del self._watched[incarnation]
            self._watcher.remove(incarnation)

    def _on_deaths(self) -> None:
        for ready in self._watcher.ready():
            if ready.key in self._retired:
                continue
            self._watcher.remove(ready.key)
            if ready.key == _SUPERVISOR_KEY:
                self._lose_supervisor()
            elif ready.key == MAILBOX_KEY:
                self._mailbox_gone()
            elif isinstance(ready.key, Incarnation):
                del self._watched[ready.key]
                self._suspects.append(ready.key)

    def _remember_dead(self, incarnation: Incarnation) -> None:
        if self.endpoint.has_processes:
            self._dead.add(incarnation, None)
