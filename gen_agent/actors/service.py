"""What a worker does for its agent, without the process: builds the backend, runs turns, ends the session.

Used by `WorkerActor` and, where there are no processes, in the agent itself. Orders in, reports out; whatever
the backend raises is in the report. The session held here always equals the bytes the agent has. No Thespian
in here.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from gen_agent.actors import orders
from gen_agent.agent import Agent, scoped_name
from gen_agent.backend import Backend
from gen_agent.core import hooks
from gen_agent.core.resetting import run_reset
from gen_agent.core.turn import OfferCheckpoint, Ports, StreamCallback, TurnJob, run_turn
from gen_agent.errors import (
    BackendError,
    BackendStartFailed,
    GenAgentError,
    InitFailed,
    StartError,
    Unpicklable,
)
from gen_agent.events import Event
from gen_agent.options import AgentOptions
from gen_agent.sealed import Sealed
from gen_agent.values import Name


@attrs.frozen(slots=True, eq=False)
class Seed:
    """What a worker is grown from: inherited by the fork, so none of it needs to be picklable."""

    name: Name | None
    agent: type[Agent]
    backend: type[Backend]
    backend_options: Mapping[str, Any]
    options: AgentOptions

    @property
    def stream_callback(self) -> StreamCallback | None:
        """The class's stream callback under the agent's name, or None where it has none of its own."""
        if not hooks.streams(self.agent):
            return None
        name: Any = self.name
        callback = self.agent.handle_stream_event

        def under_name(event: Event, state: Any) -> Any:
            with scoped_name(name):
                return callback(event, state)

        return under_name


Log = Callable[[str, str], None]


class Service:
    """One backend and the session it works on."""

    def __init__(self, seed: Seed, log: Log) -> None:
        self._seed, self._log = seed, log
        self._backend: Backend | None = None
        self._held: Sealed | None = None

    def _take(self, session: Sealed | None) -> Sealed:
        """The session to work on: the one just sent, or the one held."""
        if session is not None:
            self._held = session
        if self._held is None:
            raise LookupError("no session")
        return self._held

    # ---------------------------------------------------------------- orders

    def boot(self, order: orders.Boot) -> orders.Booted:
        """Build the backend; start the session for an agent's first worker."""
        try:
            self._backend = self._build()
            if not order.start_session:
                return orders.Booted()
            self._held = Sealed.of(self._backend.start_session(), "session")
            return orders.Booted(self._held)
        except BaseException as error:
            # Foreign code, SystemExit included: the agent is told and ends this process.
            return orders.Booted(error=sealed_error(_start_error(error)))

    def _build(self) -> Backend:
        cls = self._seed.backend
        try:
            return cls(**self._seed.backend_options)
        except (TypeError, ValueError, ImportError) as error:
            # These speak of the options the starter gave, to the starter, in words made for people.
            raise BackendStartFailed(f"{cls.__qualname__}: {error}") from error

    def run(
        self, order: orders.RunTurn, on_event: Callable[[bytes], None], offer: OfferCheckpoint
    ) -> orders.Ended:
        """Run one attempt to its end."""
        job = TurnJob(
            order.tag.ref,
            order.tag.attempt,
            order.prompt,
            self._take(order.session),
            None if order.state is None else order.state.open(),
        )
        ports = Ports(time.monotonic, on_event, offer, self._log, self._seed.stream_callback)
        report = run_turn(self._running(), job, self._seed.options, ports)
        self._held = report.held
        outcome = report.sealed or sealed_error(report.outcome)
        return orders.Ended(outcome, report.session, report.state, report.duration_s)

    def reset(self, order: orders.Reset) -> orders.WasReset:
        """Run `reset_session`."""
        held = self._take(order.session)
        _, session, error = run_reset(self._running(), held.open())
        # What a failed reset did to the object is forgotten with it.
        self._held = session or Sealed(held.data)
        return orders.WasReset(session, None if error is None else sealed_error(error))

    def close(self, order: orders.Close) -> orders.Closed:
        """Run `terminate_session` if asked to, then the backend's `close`."""
        failed: str | None = None
        backend = self._running()
        if order.terminate:
            try:
                backend.terminate_session(self._take(order.session).open())
            except BaseException as error:
                failed = type(error).__name__
        try:
            backend.close()
        except BaseException as error:
            self._log("error", str(hooks.failure("close", error)))
        return orders.Closed(failed)

    def adopt(self) -> None:
        """Build the backend for the end of a session only: whatever it raises comes out."""
        self._backend = self._build()

    def _running(self) -> Backend:
        if self._backend is None:
            raise LookupError("no backend")
        return self._backend


def _start_error(error: BaseException) -> StartError:
    if isinstance(error, BackendStartFailed):
        return error.fresh()
    if isinstance(error, StartError):
        return BackendStartFailed(error.fields.get("reason"))
    if isinstance(error, BackendError):
        return BackendStartFailed(error.fresh())
    return InitFailed("error" if isinstance(error, Exception) else "exit", type(error).__name__)


def sealed_error(error: Any) -> Sealed:
    """An error as it may travel; where a field can't, it is told by class."""
    with contextlib.suppress(Unpicklable):
        return Sealed.of(error, "error")
    return Sealed.of(
        InitFailed("error", type(error).__name__) if isinstance(error, StartError) else _plain(error)
    )


def _plain(error: GenAgentError) -> GenAgentError:
    """An error whose fields can't travel, as far as they can: their classes in their place."""
    return Unpicklable("error", type(error).__name__)
