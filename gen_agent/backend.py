"""The contract of a backend: what talks to a provider.

A backend lives in a worker process, one instance per worker, and never crosses processes; only the session
does. It knows nothing of agents, queues or actors.
"""

from __future__ import annotations

import abc
from collections.abc import Iterable
from typing import Any, Protocol

from gen_agent.events import Event
from gen_agent.values import RequestRef


class Turn(Protocol):
    """What `Backend.prompt` knows of the turn it serves."""

    ref: RequestRef
    """The request, the same for every attempt."""

    attempt: int
    """1, 2, ... under one ref (C130)."""

    session: Any
    """Assign to replace the session that this turn leaves behind (C095)."""

    def checkpoint(self, session_id: str) -> None:
        """Keep `session_id` whatever becomes of the turn; returns once the agent has it (C188-C191).

        Runs `checkpoint_session` in the worker; a raise there is `WorkerCrashed`. Raises
        `UnsupportedCheckpoint`, `InvalidSessionId`, `ConflictingSessionId` (each of which also fails the
        turn) or `NotCurrent`.
        """


class Backend(abc.ABC):
    """Base of backends. Runs in a worker process; live resources (clients, subprocesses) belong into
    `__init__`.

    Three more methods may be defined, and what is not defined is not supported:

    * `checkpoint_session(session, session_id)` returns the session that goes on from `session_id` (C188);
    * `reset_session(session)` returns an empty session (C126);
    * `resume_session(session_id)` returns a session for `session_id`; reserved, never called by an agent.
    """

    def __init__(self, **options: Any) -> None:
        """Takes what `init_agent` returned as backend options."""
        if options:
            raise TypeError(f"{type(self).__name__}: unknown option {sorted(options)[0]!r}")

    @abc.abstractmethod
    def start_session(self) -> Any:
        """Return a new session, any picklable value; called once per agent (C185).

        Raise `StartError(reason)` to refuse (`BackendStartFailed`); any other raise is `InitFailed` (C017).
        """

    @abc.abstractmethod
    def prompt(self, session: Any, prompt: str, turn: Turn) -> Iterable[Event]:
        """Yield the turn's events, lazily; the last one, and only the last, is terminal (C162-C164).

        A `BackendError` raised here or while iterating is the turn's error, unchanged; any other exception is
        `WorkerCrashed`. An interrupt, a watchdog or a stop kills the process: no finalizer runs then (C101).
        """

    def update_session(self, session: Any, result: Event) -> Any:
        """Return the session after a `result` event, and only then (C187). Default: `session` as it is."""
        return session

    def terminate_session(self, session: Any) -> None:  # noqa: B027 - optional
        """The agent ends orderly; bounded by `shutdown_s`. A raise is logged by class (C047, C048)."""

    def close(self) -> None:  # noqa: B027 - optional
        """The worker ends: give back what `__init__` took."""
