"""The contract of an agent: callbacks, and what they may return.

An `Agent` is a plain class without any actor in it, so that every callback can be tested as a function. Each
callback says when it fires, where it runs, what it may return, and what a raise means. State is committed
when a callback returns; what a raising callback did to its attributes stays, what it did to the state is
forgotten.
"""

from __future__ import annotations

import abc
import contextlib
import os
import threading
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import attrs

from gen_agent.errors import GenAgentError
from gen_agent.events import Event, Response
from gen_agent.options import ChildSpec, child_spec
from gen_agent.values import AgentAddress, Name, RequestRef, plain_text
from gen_agent.wire import Wire


@attrs.frozen(slots=True, getstate_setstate=False)
class NoReply(Wire):
    """Keep `state` and do nothing more."""

    state: Any = attrs.field(repr=False)


@attrs.frozen(slots=True, getstate_setstate=False)
class Prompt(Wire):
    """Keep `state` and run `text` next: a self-chain, an event's prompt, or a retry after an error (C093)."""

    text: str = attrs.field(converter=plain_text, repr=False)
    state: Any = attrs.field(repr=False)


@attrs.frozen(slots=True, getstate_setstate=False)
class Halt(Wire):
    """Keep `state` and halt: nothing is dispatched until `resume`."""

    state: Any = attrs.field(repr=False)


@attrs.frozen(slots=True, getstate_setstate=False)
class Proceed(Wire):
    """Let `prompt` go to the backend, rewritten or not (C026)."""

    prompt: str = attrs.field(converter=plain_text, repr=False)
    state: Any = attrs.field(repr=False)


@attrs.frozen(slots=True, getstate_setstate=False)
class Skip(Wire):
    """Don't run this prompt: the request ends with `PreTurnSkipped` (C029)."""

    state: Any = attrs.field(repr=False)


Decision = NoReply | Prompt | Halt
"""What a deciding callback may return."""

Gate = Proceed | Skip | Halt
"""What `pre_turn` may return."""

Outcome = Response | GenAgentError
"""How a turn ended."""


class Context(Protocol):
    """What an agent callback may reach besides its arguments; not there in `handle_stream_event`."""

    @property
    def name(self) -> Name:
        """The agent's name."""

    @property
    def address(self) -> AgentAddress:
        """The agent's address, for others."""

    @property
    def client(self) -> Any:
        """An `AgentClient` for talking to other agents; what comes back arrives in `handle_info`."""

    def send(self, address: Any, message: object) -> None:
        """Send an ordinary actor message; it leaves when the callback has returned."""

    def create_actor(self, cls: type) -> Any:
        """Create a child actor of this agent and return its address."""

    def wakeup_after(self, seconds: float, payload: object = None) -> None:
        """Have `payload` delivered to `handle_info` after `seconds`."""


class Agent(abc.ABC):
    """Base of agents: built once, without arguments, in the agent's process. Only two callbacks are required
    (C021).

    There is no default `handle_info(self, message, sender, state)`, on purpose: without one, ordinary
    messages are logged by class and dropped (C022, C041). With one: fires for every ordinary actor message,
    runs in the agent, may return a `Decision`; a raise is logged and counts as `NoReply` with the old state
    (C040).
    """

    context: Context

    @abc.abstractmethod
    def init_agent(self, options: Mapping[str, Any]) -> tuple[Mapping[str, Any], Any]:
        """Return the backend's options and the first state.

        Fires first, in the agent, with the options nobody else took. Raise `StartError(reason)` to refuse
        (`InitAgentFailed`); any other raise is `InitFailed`, a wrong shape `InitAgentFailed` (C017).
        """

    @abc.abstractmethod
    def handle_response(self, ref: RequestRef, response: Response, state: Any) -> Decision:
        """Decide after a turn that succeeded. Runs in the agent; a raise or a wrong shape stops it (C036)."""

    def handle_error(self, ref: RequestRef, error: GenAgentError, state: Any) -> Decision:
        """Decide after a turn that failed (C037); `Prompt` retries a caller's request under its ref (C130).

        Runs in the agent. A raise or a wrong shape is logged and counts as the default: `NoReply(state)`
        (C038).
        """
        return NoReply(state)

    def handle_event(self, event: Any, state: Any) -> Decision:
        """Decide on a notification: at once when no turn runs, else after `post_turn` (C039).

        Runs in the agent. A raise or a wrong shape is logged and counts as the default: `NoReply(state)`.
        """
        return NoReply(state)

    @classmethod
    def handle_stream_event(cls, event: Event, state: Any) -> Any:
        """Return the state after one event of the running turn; a classmethod, because it runs in the worker.

        A raise, or None for a state that was not None, is `WorkerCrashed` (C096). Default: `state`.
        """
        return state

    def pre_run(self, state: Any) -> Any:
        """Return the state to begin with; fires once, after the start was answered, before any message
        (C024).

        Runs in the agent. `StartError(reason)` ends it as pre_run_failed, another raise as pre_run_crashed,
        None for a state that was not None as pre_run_invalid (C025). Default: `state`.
        """
        return state

    def pre_turn(self, prompt: str, state: Any) -> Gate:
        """Let a prompt pass, rewrite it, skip it or halt; fires before every dispatch, retries included
        (C026).

        Runs in the agent. A raise or a wrong shape rejects the prompt and keeps the old state (C028, C034).
        Default: `Proceed(prompt, state)`.
        """
        return Proceed(prompt, state)

    def post_turn(self, outcome: Outcome, ref: RequestRef, state: Any) -> Any:
        """Return the state after a turn; fires after the decision, which it can't change (C042).

        Runs in the agent. A raise, or None for a state that was not None, is logged and keeps the old state.
        Default: `state`.
        """
        return state

    def post_run(self, state: Any) -> None:  # noqa: B027 - optional
        """The agent has just halted (C044). Runs in the agent; the return is ignored, a raise is logged."""

    def terminate_agent(self, reason: str, state: Any) -> None:  # noqa: B027 - optional
        """The agent ends in an orderly way; bounded by `shutdown_s`, not run on a kill (C047).

        Runs in the agent. A raise is logged; the session is terminated all the same (C048).
        """

    @classmethod
    def child_spec(cls, **options: Any) -> ChildSpec:
        """The spec under which a parent starts this agent; override it to change some fields (C009)."""
        return child_spec(cls, **options)


# A callback's own thread and process, and no other: threads it starts and processes it forks see None (C020).
_here = threading.local()


def current_name() -> Name | None:
    """The name of the agent whose callback is running in this very thread, else None (C020)."""
    pid, name = getattr(_here, "scope", (0, None))
    return name if pid == os.getpid() else None


@contextlib.contextmanager
def scoped_name(name: Name) -> Iterator[None]:
    """Let `current_name()` answer `name` inside the block; for those who run callbacks."""
    before = getattr(_here, "scope", (0, None))
    _here.scope = (os.getpid(), name)
    try:
        yield
    finally:
        _here.scope = before


_scoped_name = scoped_name
