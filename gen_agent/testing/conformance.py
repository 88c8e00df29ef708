"""What every backend must keep, as checks that any test run can use.

Write ``@pytest.mark.parametrize("check", CHECKS, ids=check_name)`` and call ``check(Case(make))``, where
`make` builds a backend from keyword options. A check raises `AssertionError` saying what was broken. Law: a
check knows the contract of `gen_agent.backend` and no backend, and leaves nothing running.
"""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import attrs

from gen_agent.backend import Backend
from gen_agent.events import Event
from gen_agent.values import RequestRef, mint

__all__ = ["CHECKS", "Case", "ConformanceTurn", "Played", "check_name"]


@attrs.define
class ConformanceTurn:
    """The turn a checked backend sees."""

    session: Any
    ref: RequestRef = attrs.field(factory=mint.request)
    attempt: int = 1
    checkpoints: list[str] = attrs.field(factory=list)

    def checkpoint(self, session_id: str) -> None:
        """Note the id."""
        self.checkpoints.append(session_id)


@attrs.frozen
class Played:
    """One whole turn: its events and the session it left behind."""

    events: tuple[Event, ...]
    session: Any

    @property
    def terminal(self) -> Event:
        """The last event."""
        return self.events[-1]

    @property
    def text(self) -> str:
        """The answer: the terminal event's text, else that of the text events."""
        said = self.terminal.data.get("text")
        if isinstance(said, str):
            return said
        return "".join(event.data["text"] for event in self.events if event.kind == "text")


@attrs.frozen
class Case:
    """A backend under check: how it is made, and prompts it answers with a result."""

    make: Callable[..., Backend] = attrs.field(repr=False)
    prompts: tuple[str, str] = ("Say hello.", "Say hello again.")
    secrets: tuple[str, ...] = attrs.field(default=(), repr=False)

    @contextlib.contextmanager
    def backend(self) -> Iterator[Backend]:
        """A new backend, closed at the end."""
        made = self.make()
        try:
            yield made
        finally:
            made.close()

    @contextlib.contextmanager
    def started(self) -> Iterator[tuple[Backend, Any]]:
        """A new backend with a session, which is terminated at the end."""
        with self.backend() as backend:
            session = backend.start_session()
            try:
                yield backend, session
            finally:
                backend.terminate_session(session)

    def play(self, backend: Backend, session: Any, prompt: str) -> Played:
        """Run one turn as a worker does, up to and including its terminal event."""
        turn = ConformanceTurn(session)
        events: list[Event] = []
        for event in backend.prompt(session, prompt, turn):
            assert isinstance(event, Event), f"a turn is made of events, not {type(event).__name__}"
            events.append(event)
            if event.terminal:
                break
        assert events, "a turn has at least its terminal event"
        assert events[-1].kind == "result", f"the turn ended with {events[-1].kind!r}"
        return Played(tuple(events), backend.update_session(turn.session, events[-1]))


def check_one_terminal_event(case: Case) -> None:
    """A turn ends with exactly one terminal event, and nothing follows it (C162, C163)."""
    with case.started() as (backend, session):
        events = list(backend.prompt(session, case.prompts[0], ConformanceTurn(session)))
    terminal = [event.terminal for event in events]
    assert terminal.count(True) == 1, f"{terminal.count(True)} terminal events"
    assert terminal[-1], "events after the terminal one"


def check_text(case: Case) -> None:
    """An answer has text, and where it is streamed the pieces are the answer (C171)."""
    with case.started() as (backend, session):
        played = case.play(backend, session, case.prompts[0])
    assert played.text.strip(), "an empty answer"
    pieces = [event for event in played.events if event.kind == "text"]
    if pieces and not any(event.data.get("message_boundary") for event in pieces):
        streamed = "".join(event.data["text"] for event in pieces)
        assert streamed == played.text, "the pieces are not the answer"


def check_values_pickle(case: Case) -> None:
    """Sessions and events survive pickling, for they cross processes."""
    with case.started() as (backend, session):
        played = case.play(backend, session, case.prompts[0])
        for value in (session, played.session, *played.events):
            assert pickle.loads(pickle.dumps(value, 5)) == value, f"{type(value).__name__} changed on its way"


def check_session_id(case: Case) -> None:
    """A session keeps its id from turn to turn (C173, C187)."""
    with case.started() as (backend, session):
        first = case.play(backend, session, case.prompts[0])
        second = case.play(backend, first.session, case.prompts[1])
    ids = [played.terminal.data.get("session_id") for played in (first, second)]
    assert ids[0] == ids[1], "the second turn has another session id"


def check_other_worker(case: Case) -> None:
    """A session goes on in another worker, which knows it only as bytes (C095)."""
    with case.backend() as first:
        played = case.play(first, first.start_session(), case.prompts[0])
    with case.backend() as second:
        session = pickle.loads(pickle.dumps(played.session, 5))
        again = case.play(second, session, case.prompts[1])
        second.terminate_session(again.session)


def check_abandoned_turn(case: Case) -> None:
    """A turn that is left in the middle changes nothing, and the next one works (C095, C101)."""
    with case.started() as (backend, session):
        before = pickle.dumps(session, 5)
        events = iter(backend.prompt(session, case.prompts[0], ConformanceTurn(session)))
        next(events)
        close = getattr(events, "close", None)
        if close is not None:
            close()
        assert pickle.dumps(session, 5) == before, "an abandoned turn changed the session"
        case.play(backend, session, case.prompts[1])


def check_usage(case: Case) -> None:
    """Where usage is told it is told in whole tokens (C173)."""
    with case.started() as (backend, session):
        played = case.play(backend, session, case.prompts[0])
    for event in (event for event in played.events if event.kind == "usage"):
        for name in ("input_tokens", "output_tokens"):
            count = event.data[name]
            assert isinstance(count, int), f"{name} is no whole number"
            assert count >= 0, f"{name} is negative"


def check_unknown_option(case: Case) -> None:
    """An option the backend does not know is refused by name, when it is made."""
    said = _refusal(case, no_such_option_here=1)
    assert said is not None, "an unknown option was taken"
    assert "no_such_option_here" in said, "the refusal does not name the option"


def _refusal(case: Case, **options: Any) -> str | None:
    try:
        case.make(**options).close()
    except (TypeError, ValueError) as error:
        return str(error)
    return None


def check_secrets(case: Case) -> None:
    """No repr shows a secret or what was said (C216)."""
    with case.started() as (backend, session):
        played = case.play(backend, session, case.prompts[0])
        shown = " ".join(map(repr, (backend, session, played.session, *played.events)))
    for secret in (*case.secrets, case.prompts[0]):
        assert secret not in shown, "a repr shows what it must not"


def check_close_twice(case: Case) -> None:
    """Closing again, or before any turn, is harmless."""
    with case.started() as (backend, session):
        case.play(backend, session, case.prompts[0])
    backend.close()
    case.make().close()


def check_reset(case: Case) -> None:
    """Where sessions can be reset, the new one answers (C126)."""
    with case.started() as (backend, session):
        reset = getattr(backend, "reset_session", None)
        if reset is None:
            return
        played = case.play(backend, session, case.prompts[0])
        case.play(backend, reset(played.session), case.prompts[1])


CHECKS: tuple[Callable[[Case], None], ...] = (
    check_one_terminal_event,
    check_text,
    check_values_pickle,
    check_session_id,
    check_other_worker,
    check_abandoned_turn,
    check_usage,
    check_unknown_option,
    check_secrets,
    check_close_twice,
    check_reset,
)
"""All checks, each a function of a `Case`."""


def check_name(check: Callable[[Case], None]) -> str:
    """The name of a check, for test ids."""
    return check.__name__.removeprefix("check_")
