"""What may be told of a turn, and under which attribute names.

Law: an allowlist. A name, a ref, a count, a known origin, a known reason: all else is `_OTHER` or refused, so
a text put where one of these belongs gets no further. This module must not know OpenTelemetry.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import attrs

from gen_agent import errors
from gen_agent.values import Name, RequestRef, checked_name

OPERATION_NAME = "gen_ai.operation.name"
PROVIDER_NAME = "gen_ai.provider.name"
AGENT_NAME = "gen_ai.agent.name"
AGENT_ID = "gen_ai.agent.id"
ERROR_TYPE = "error.type"
REF = "gen_agent.ref"
ATTEMPT = "gen_agent.attempt"
ORIGIN = "gen_agent.origin"
REASON_KIND = "gen_agent.reason_kind"
END_LOST = "gen_agent.end_lost"

INVOKE_AGENT = "invoke_agent"
"""The operation that a turn is."""

OTHER = "_OTHER"
"""The conventions' word for a reason without a name of its own."""

ORIGINS = frozenset({"ask", "tell", "event", "self_chain"})
"""Where a prompt can come from (C194)."""

KINDS = frozenset(
    {
        *(error.code for error in vars(errors).values() if hasattr(error, "code")),
        "backend_or_callback_error",
        "caller_cancelled",
        "caller_down",
    }
)
"""Every reason that a turn event can give (C223-C225)."""


@attrs.frozen(slots=True)
class TurnFacts:
    """One turn event's metadata, checked; `kind` is None where the event gives no reason."""

    agent: Name | None
    ref: RequestRef
    attempt: int
    origin: str
    kind: str | None

    @classmethod
    def of(cls, metadata: Mapping[str, Any]) -> TurnFacts:
        """Read an event's metadata; raises `TypeError` or `KeyError` for what no turn event holds."""
        agent, ref, attempt = metadata["agent"], metadata["ref"], metadata["attempt"]
        if not isinstance(ref, RequestRef) or not isinstance(attempt, int):
            raise TypeError("ref: a RequestRef is needed, attempt: an int")
        name = None if agent is None else checked_name(agent)
        kind = _kind(metadata["reason_kind"]) if "reason_kind" in metadata else None
        return cls(name, ref, attempt, _known(metadata["origin"], ORIGINS), kind)

    @property
    def key(self) -> tuple[RequestRef, int]:
        """What pairs a start with its end: each attempt has one of both (C235)."""
        return self.ref, self.attempt

    @property
    def span_name(self) -> str:
        """The operation, and the agent's name if it has one."""
        return INVOKE_AGENT if self.agent is None else f"{INVOKE_AGENT} {shown(self.agent)}"

    def of_agent(self) -> dict[str, str]:
        """Which agent it was, as few values as there are agents."""
        return {} if self.agent is None else {AGENT_NAME: shown(self.agent)}

    def of_span(self) -> dict[str, str | int]:
        """All of it but the reason."""
        own: dict[str, str | int] = {REF: str(self.ref), ATTEMPT: self.attempt, ORIGIN: self.origin}
        # The id tells 1 from "1" from b"1", which are three agents (C011).
        identity = {} if self.agent is None else {AGENT_ID: repr(self.agent)}
        return {OPERATION_NAME: INVOKE_AGENT, **self.of_agent(), **identity, **own}

    def of_refusal(self) -> dict[str, str]:
        """What requests that never ran are counted by."""
        return {**self.of_agent(), ORIGIN: self.origin, REASON_KIND: self.kind or OTHER}


def shown(name: Name) -> str:
    """The name for people: a str as it is if it can be printed, all else as Python writes it."""
    return name if isinstance(name, str) and name.isprintable() else repr(name)


def seconds(value: object) -> float:
    """Return a duration or time of day; raises `TypeError` or `ValueError` for what is neither."""
    if not isinstance(value, (int, float)):
        raise TypeError(f"seconds: a number is needed, not {type(value).__name__}")
    if not math.isfinite(value) or value < 0:
        raise ValueError("seconds: a finite number from 0 on is needed")
    return float(value)


def _kind(value: object) -> str:
    # A crashed pre_turn is told with the class of its exception (C224); the kind alone keeps the values few.
    return _known(value[0] if isinstance(value, tuple) and value else value, KINDS)


def _known(value: object, known: frozenset[str]) -> str:
    return value if isinstance(value, str) and value in known else OTHER
