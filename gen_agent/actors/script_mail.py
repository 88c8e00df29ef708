"""What a script receives: deliveries, completions, streams, and messages of other actors."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from gen_agent.actors.scriptside import ScriptSide
from gen_agent.actors.stream import Stream, ended_as
from gen_agent.client.protocol import Lookup
from gen_agent.client.targets import ADDRESS_TIMEOUT_S, checked_target, checked_timeout
from gen_agent.errors import AgentNotFound, CallTimeout, GenAgentError
from gen_agent.messages import CancelRequest, Completion, InterruptRequest, Submit, Tell
from gen_agent.values import RequestRef, is_address


def _anything(_: Any) -> bool:
    return True


class Mail(ScriptSide):
    """The part of `AgentSystem` that receives."""

    @property
    def address(self) -> Any:
        """The `ActorAddress` of this script's mailbox, to give to others; it stays the same."""
        with self._guard:
            return self._pickup.address

    def receive(
        self, match: Callable[[Any], builtins.object] | None = None, timeout: float | None = None
    ) -> Any:
        """The next message for this script for which `match(message)` is true; None after `timeout` seconds.

        The others stay queued, in order. `match` None takes any.
        """
        seconds = checked_timeout(timeout)
        if match is not None and not callable(match):
            raise TypeError(f"match: a function or None is needed, not {type(match).__name__}")
        with self._guard:
            return self._pickup.receive(match or _anything, seconds)

    def completion(self, ref: RequestRef, timeout: float | None = None) -> Completion:
        """The `Completion` of a request whose recipient is this script; consumes nothing else.

        Raises the admission's error if the request was refused, `RequestNotFound` at once if this script is
        not its recipient, has had its completion, or lost it with its mailbox' process (it can be polled);
        `AgentDown` if the agent ended without one, `CallTimeout`.
        """
        if not isinstance(ref, RequestRef):
            raise TypeError(f"ref: a RequestRef is needed, not {type(ref).__name__}")
        seconds = checked_timeout(timeout)
        with self._guard:
            completion = self._pickup.completion(ref, seconds)
        if completion is None:
            raise CallTimeout(ref, seconds)
        return completion

    def stream(self, target: Any, prompt: str, timeout: float | None = None) -> Stream:
        """Run a prompt and iterate over its events as they come; `timeout` is for the whole request.

        Raises `AgentNotFound`; what the request ends with comes out of the iteration, after the last event.
        """
        target = checked_target(target)
        seconds = checked_timeout(timeout)
        Tell(prompt)
        with self._guard:
            agent = target if is_address(target) else self._find(target)
            mailbox = self._pickup.address
            message = Submit(prompt, mailbox, stream_to=mailbox, stream_batch=True)
            self._pickup.watch(agent)
            stream = Stream(self._pickup, self._guard, target, agent, message.ref, seconds, self._take_back)
            self._line.cast(agent, message, self._line.unheard.ticket(message.ref, agent))
            return stream

    def _find(self, name: Any) -> Any:
        address = self._line.ask_supervisor(Lookup(name))
        if address is None:
            raise AgentNotFound(name)
        return address

    def _take_back(self, agent: Any, ref: RequestRef) -> GenAgentError | None:
        cancelled = self._line.call(agent, CancelRequest(ref), ADDRESS_TIMEOUT_S)
        return ended_as(cancelled, lambda: self._line.call(agent, InterruptRequest(ref), ADDRESS_TIMEOUT_S))
