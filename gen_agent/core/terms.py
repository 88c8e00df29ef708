"""What events and effects both speak of: outcomes, attempts, deadlines."""

from __future__ import annotations

from typing import Literal, NamedTuple

import attrs

from gen_agent.errors import GenAgentError
from gen_agent.events import Response
from gen_agent.values import RequestRef
from gen_agent.wire import flat

Outcome = Response | GenAgentError
OnHalt = Literal["queue", "fail"]


@attrs.frozen(slots=True)
class Tag:
    """One attempt of one turn. `turn` counts the agent's attempts and is never reused: the fence."""

    ref: RequestRef
    attempt: int
    turn: int


def _tag(issuer: str, number: int, attempt: int, turn: int) -> Tag:
    return Tag(RequestRef(issuer, number), attempt, turn)


flat(Tag, "ref.issuer", "ref.number", "attempt", "turn", build=_tag)


class Deadline(NamedTuple):
    """What a deadline is for: "watchdog" and "idle" of one turn, or "paced" (C033) under its own number.

    A tuple, because it is a key: every turn sets it, asks for it and clears it.
    """

    kind: Literal["watchdog", "idle", "paced"]
    turn: int
