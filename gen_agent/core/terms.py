"""What events and effects both speak of: outcomes, attempts, deadlines."""

from __future__ import annotations

from typing import Literal

import attrs

from gen_agent.errors import GenAgentError
from gen_agent.events import Response
from gen_agent.values import RequestRef

Outcome = Response | GenAgentError
OnHalt = Literal["queue", "fail"]


@attrs.frozen(slots=True)
class Tag:
    """One attempt of one turn. `turn` counts the agent's attempts and is never reused: the fence."""

    ref: RequestRef
    attempt: int
    turn: int


@attrs.frozen(slots=True)
class Deadline:
    """What a deadline is for: "watchdog" and "idle" of one turn, or "paced" (C033) under its own number."""

    kind: Literal["watchdog", "idle", "paced"]
    turn: int
