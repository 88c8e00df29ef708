"""What an agent and its worker say to each other over the link.

Orders go to the worker, reports come back, users' values and errors sealed in both; events travel beside them
as bare pickles (see `linkframes`). A link joins one agent to one worker for that worker's whole life, so
nothing here names either; what belongs to a turn carries its number. This module must not know Thespian or
any process.
"""

from __future__ import annotations

import attrs

from gen_agent.core.signals import Tag
from gen_agent.errors import GenAgentError
from gen_agent.sealed import Sealed
from gen_agent.wire import Wire

# ---------------------------------------------------------------- to the worker


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class Boot(Wire):
    """Build the backend and, for an agent's first worker, start the session."""

    start_session: bool


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class RunTurn(Wire):
    """Run one attempt.

    `session` is None where the worker holds it already, `state` None where the class has no stream callback.
    `limit_s` ends the process by the kernel's alarm (None: no limit); `listening` says whether anybody wants
    the events; `life_s` asks for a sign of life at most that often where nobody does.
    """

    tag: Tag
    prompt: str
    session: Sealed | None
    state: Sealed | None
    limit_s: float | None
    listening: bool
    life_s: float | None


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class CheckpointAnswer(Wire):
    """The agent has the session of that checkpoint (None), or says why not."""

    error: GenAgentError | None


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class Reset(Wire):
    """Run `reset_session`."""

    session: Sealed | None


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class Close(Wire):
    """Run `terminate_session` if there is a session to end, give everything back and exit."""

    terminate: bool
    session: Sealed | None = None


# ---------------------------------------------------------------- from the worker


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class Attached(Wire):
    """The process runs and reads the link."""


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class Booted(Wire):
    """The backend is built; `session` is that of a first worker. Or the error of the start."""

    session: Sealed | None = None
    error: Sealed | None = None


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class Alive(Wire):
    """The backend gave an event that nobody wants to see."""


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class Checkpoint(Wire):
    """The turn offers a session id (None: something that is no text), and waits for a `CheckpointAnswer`."""

    session_id: str | None
    supported: bool
    session: Sealed | None


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class Ended(Wire):
    """How the turn ended; see `core.signals.TurnEnded`."""

    outcome: Sealed
    session: Sealed | None
    state: Sealed | None
    duration_s: float


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class WasReset(Wire):
    """The new session, or why there is none."""

    session: Sealed | None
    error: Sealed | None


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class Closed(Wire):
    """`terminate_session` has run; `error_class` names what it raised."""

    error_class: str | None


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class Broken(Wire):
    """The worker met a defect of ours and ends: class name and places."""

    text: str
