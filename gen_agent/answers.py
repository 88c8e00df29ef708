"""What comes to recipients and callers: admissions, events, completions, replies, downs.

For one recipient and one request: the admission, then the events, then the one completion (C243). User values
in here are opened by the attribute that shows them, never before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from gen_agent.envelopes import Delivery, Envelope, opened, sealed
from gen_agent.errors import GenAgentError, Undecodable
from gen_agent.events import Event, Response
from gen_agent.sealed import Sealed, SealedRun
from gen_agent.values import CallRef, MonitorRef, Name, RequestRef


def _sealed_event(value: object) -> Any:
    return sealed(value, "event")


def _sealed_outcome(value: object) -> Any:
    if not isinstance(value, (Response, GenAgentError, Sealed)):
        raise TypeError(f"outcome: a Response or a GenAgentError is needed, not {type(value).__name__}")
    return sealed(value, "outcome")


def _sealed_value(value: object) -> Any:
    return sealed(value, "value")


def _sealed_error(value: object) -> Any:
    if value is not None and not isinstance(value, (GenAgentError, Sealed)):
        raise TypeError(f"error: a GenAgentError or None is needed, not {type(value).__name__}")
    return sealed(value, "error")


def _run(value: SealedRun | Iterable[Event]) -> SealedRun:
    return value if isinstance(value, SealedRun) else SealedRun.of(tuple(value))


def _words(value: Iterable[str]) -> tuple[str, ...]:
    return tuple(value)


def _opened_run(run: SealedRun) -> tuple[Any, ...]:
    return run.open()


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class Admission(Delivery):
    """The answer to a submit: accepted, or why not (C198, C199). `agent` is the agent's name."""

    agent: Name | None
    ref: RequestRef
    _error: Any = attrs.field(default=None, converter=_sealed_error, eq=opened)

    @property
    def error(self) -> GenAgentError | None:
        """Why the request was refused: then no completion follows. None: accepted."""
        error: GenAgentError | None = opened(self._error)
        return error

    @property
    def accepted(self) -> bool:
        """Whether a completion will follow, or has come already (C201)."""
        return self._error is None


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class EventMessage(Delivery):
    """One event of a request's turn, for its `stream_to` (C175); `attempt` counts from 1 (C140)."""

    agent: Name | None
    ref: RequestRef
    attempt: int
    _event: Any = attrs.field(converter=_sealed_event, eq=opened)

    @property
    def event(self) -> Event:
        """The event, or an `Undecodable` in its place."""
        event: Event = opened(self._event)
        return event


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class EventBatch(Delivery):
    """A run of events, in order, for a recipient that asked for `stream_batch`."""

    agent: Name | None
    ref: RequestRef
    attempt: int
    _events: SealedRun = attrs.field(converter=_run, eq=_opened_run)

    @property
    def events(self) -> tuple[Event, ...]:
        """The events; each that can't be opened here is an `Undecodable` in its place."""
        return self._events.open()

    def __len__(self) -> int:
        return len(self._events)


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class Completion(Delivery):
    """The one outcome of an accepted request (C112); `dropped_events` were not relayed to it."""

    agent: Name | None
    ref: RequestRef
    _outcome: Any = attrs.field(converter=_sealed_outcome, eq=opened)
    dropped_events: int = 0

    @property
    def outcome(self) -> Response | GenAgentError:
        """The response or the error, as a value."""
        outcome: Response | GenAgentError = opened(self._outcome)
        return outcome

    def result(self) -> Response:
        """Return the response, or raise a fresh copy of the request's error."""
        outcome = self.outcome
        if isinstance(outcome, GenAgentError):
            raise outcome.fresh()
        return outcome


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class Reply(Envelope):
    """The answer to the call of that number: a value, or an error."""

    call: CallRef
    _value: Any = attrs.field(default=None, converter=_sealed_value, eq=opened)
    _error: Any = attrs.field(default=None, converter=_sealed_error, eq=opened)

    @property
    def value(self) -> Any:
        """What was asked for; an `Undecodable` where it can't be opened here; None beside an error."""
        return opened(self._value)

    @property
    def error(self) -> GenAgentError | None:
        """The error as a value, or None."""
        error: GenAgentError | None = opened(self._error)
        return error

    def result(self) -> Any:
        """Return the value, or raise a fresh copy of the error."""
        value, error = self.value, self.error
        if error is None and isinstance(value, Undecodable):
            error = value
        if error is not None:
            raise error.fresh()
        return value


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class Down(Delivery):
    """A monitored agent is gone: one per monitor, after everything of that incarnation (C255).

    `agent` is the address that was watched; `reason` is one of `values.REASONS`; `detail` holds kinds and
    class names.
    """

    monitor: MonitorRef
    agent: Any
    name: Name | None
    reason: str
    detail: tuple[str, ...] = attrs.field(default=(), converter=_words)


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class TelemetryMessage(Envelope):
    """A content-free `turn.*` event for `telemetry_to` (C235); measurements in seconds."""

    name: tuple[str, ...] = attrs.field(converter=_words)
    measurements: Mapping[str, Any] = attrs.field(converter=dict)
    metadata: Mapping[str, Any] = attrs.field(converter=dict)
