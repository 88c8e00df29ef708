"""What a turn is made of: events out of a backend, and the response they add up to.

Values only: nothing here runs a turn. Payloads (data, texts, prompts) never show in a `repr`, because
messages are logged by their `repr`.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterable, Mapping
from typing import Any, Literal

import attrs

from gen_agent.sealed import PROTOCOL, SealedRun, dump
from gen_agent.wire import READ_FROM, Wire, flat, slots

TERMINAL = frozenset({"result", "error"})
"""The kinds that end a turn; every other kind, also one of the backend's own making, does not (C162)."""

_UNSET: Any = object()
_new = object.__new__


def _text(_: Any, field: attrs.Attribute[Any], value: object) -> None:
    if type(value) is not str and not isinstance(value, str):
        raise TypeError(f"{field.name}: a str is needed, not {type(value).__name__}")


def _kept(value: Iterable[Event]) -> tuple[Event, ...] | SealedRun:
    return value if isinstance(value, SealedRun) else tuple(value)


def _restore_event(kind: str, data: Mapping[str, Any], timestamp_s: float) -> Event:
    # The one object that is unpickled in bulk: no loop over fields, no second copy of the data.
    event = _new(Event)
    _put_kind(event, kind)
    _put_data(event, data)
    _put_timestamp(event, timestamp_s)
    return event


def _made(cls: type[Event], kind: str, data: dict[str, Any]) -> Event:
    # The data was made for this event alone and the kind is one of ours: nothing to copy or to check.
    return _restore_event(kind, data, time.monotonic()) if cls is Event else cls(kind, data)


@attrs.frozen(slots=True, getstate_setstate=False)
class Event:
    """One thing that happened in a turn.

    `kind` is session, text, tool_use, tool_result, usage, result, error, or a backend's own; `data` holds the
    rest and is copied; `timestamp_s` is `time.monotonic()` of the worker. Raises `TypeError` for a kind that
    is not a str or data that is not a mapping.
    """

    kind: str = attrs.field(validator=_text)
    data: Mapping[str, Any] = attrs.field(factory=dict, converter=dict, repr=False)
    timestamp_s: float = attrs.field(factory=time.monotonic)

    @property
    def terminal(self) -> bool:
        """Whether a turn ends with this event."""
        return self.kind in TERMINAL

    @classmethod
    def text(cls, text: str, **data: Any) -> Event:
        """A piece of the answer; `message_boundary=True` in `data` begins a new paragraph (C171)."""
        return _made(cls, "text", {"text": text, **data})

    @classmethod
    def session(cls, **data: Any) -> Event:
        """The provider's word on its session."""
        return _made(cls, "session", data)

    @classmethod
    def tool_use(cls, **data: Any) -> Event:
        """A tool is being used."""
        return _made(cls, "tool_use", data)

    @classmethod
    def tool_result(cls, **data: Any) -> Event:
        """What a tool gave back."""
        return _made(cls, "tool_result", data)

    @classmethod
    def usage(cls, input_tokens: int, output_tokens: int, **data: Any) -> Event:
        """What the turn has cost so far; the last one counts (C173)."""
        return _made(cls, "usage", {"input_tokens": input_tokens, "output_tokens": output_tokens, **data})

    @classmethod
    def result(cls, text: str | None = None, **data: Any) -> Event:
        """The turn succeeded; without `text` the answer is that of the text events (C171)."""
        return _made(cls, "result", data if text is None else {"text": text, **data})

    @classmethod
    def error(cls, reason: Any = _UNSET, **data: Any) -> Event:
        """The turn failed; without a reason it is `BackendFailed("unknown")` (C164)."""
        return _made(cls, "error", data if reason is _UNSET else {"reason": reason, **data})

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore_event, (self.kind, self.data, self.timestamp_s)


_put_kind, _put_data, _put_timestamp = (vars(Event)[name].__set__ for name in ("kind", "data", "timestamp_s"))

_SHORT = 500
_HEAD = pickle.PROTO + bytes((PROTOCOL,))
_BEGUN = _HEAD + pickle.GLOBAL + f"{__name__}\n{_restore_event.__name__}\n".encode()
_BEGUN_BYTES = len(_BEGUN)
_FRAMED = len(_HEAD) + len(pickle.FRAME) + 8
_CALLED = pickle.REDUCE + pickle.STOP

_ANY = Event("text")
_ADDED = len(_BEGUN) - _FRAMED - len(pickle.STOP) + len(_CALLED)
_LONGER = len(dump(_ANY)) - len(pickle.dumps((_ANY.kind, _ANY.data, _ANY.timestamp_s), PROTOCOL)) - _ADDED
"""By so much pickle's own way is longer; what is short enough has no other difference."""


def pickled(event: Event) -> tuple[bytes, int]:
    """The bytes as which `event` travels, and how long its pickle is; raises `Unpicklable("event", type)`.

    Both are pickles of it. A short event, as there are thousands in a turn, is written around the pickle of
    its parts, because pickle imports this module anew for every event that it writes by itself.
    """
    if type(event) is Event:
        try:
            parts = pickle.dumps((event.kind, event.data, event.timestamp_s), PROTOCOL)
        except Exception:
            # Told below, with the class of the event.
            parts = b""
        if 0 < len(parts) < _SHORT:
            body = _BEGUN + parts[_FRAMED:-1] + _CALLED
            return body, len(body) + _LONGER
    whole = dump(event, "event")
    return whole, len(whole)


def _read(raw: bytes, at: int, end: int) -> Any:
    # As pickle does it, but for finding out anew for every event what to call with its parts.
    if not raw.startswith(_BEGUN, at):
        return pickle.loads(memoryview(raw)[at:end])
    parts = pickle.loads(_HEAD + raw[at + _BEGUN_BYTES : end - len(_CALLED)] + pickle.STOP)
    if type(parts) is not tuple:
        raise pickle.UnpicklingError("no event")
    return _restore_event(*parts)


SealedRun.read = staticmethod(_read)


@attrs.frozen(slots=True, getstate_setstate=False)
class Omission(Wire):
    """The first event that compact capture left out: which limit, and what kind of event (C166)."""

    limit: Literal["events", "bytes"]
    event_kind: str


@attrs.frozen(slots=True, getstate_setstate=False)
class EventCoverage(Wire):
    """What a response retains of its turn; observed = retained + omitted, terminal included (C166)."""

    mode: Literal["exact", "compact"] = "exact"
    observed_events: int = 0
    retained_events: int = 0
    omitted_events: int = 0
    retained_bytes: int = 0
    first_omission: Omission | None = None


flat(EventCoverage, *slots(EventCoverage))


@attrs.frozen(slots=True, getstate_setstate=False)
class Response(Wire):
    """The outcome of a turn that succeeded (C170-C173).

    `text` is the whole answer and `final_message` its last message; `usage` is the data of the last usage
    event; `duration_s` the worker's wall time in seconds; `prompt` what was dispatched, after `pre_turn`.
    `events` are what was retained: they travel as the worker wrote them, and are opened where they are first
    asked for.
    """

    text: str = attrs.field(default="", repr=False)
    final_message: str = attrs.field(default="", repr=False)
    events: tuple[Event, ...] = attrs.field(
        default=(), converter=_kept, repr=False, metadata={READ_FROM: "_retained"}
    )
    terminal: Event | None = attrs.field(default=None, repr=False)
    event_coverage: EventCoverage = attrs.field(factory=EventCoverage)
    usage: Mapping[str, Any] | None = attrs.field(default=None, repr=False)
    duration_s: float = 0.0
    metadata: Mapping[str, Any] = attrs.field(factory=dict, repr=False)
    session_id: Any = attrs.field(default=None, repr=False)
    prompt: str = attrs.field(default="", repr=False)

    @property
    def _retained(self) -> tuple[Event, ...] | SealedRun:
        retained: tuple[Event, ...] | SealedRun = _events_slot.__get__(self)
        return retained

    def _opened(self) -> tuple[Event, ...]:
        """The retained events in order; what can't be opened here is an `Undecodable` in its place."""
        retained = self._retained
        return retained.open() if isinstance(retained, SealedRun) else retained


_events_slot: Any = vars(Response)["events"]
# Thousands of events that hardly anybody asks for are not opened in every process that reads the text.
type.__setattr__(Response, "events", property(Response._opened, _events_slot.__set__))
