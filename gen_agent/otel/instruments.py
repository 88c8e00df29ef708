"""The metrics of turns: how long they took, how many requests never became one."""

from __future__ import annotations

from opentelemetry import metrics

from gen_agent.otel.facts import ERROR_TYPE, INVOKE_AGENT, OPERATION_NAME, PROVIDER_NAME, TurnFacts

_OPERATION_BOUNDARIES_S = tuple(0.01 * 2**power for power in range(14))
_INVOCATION_BOUNDARIES_S = tuple(0.1 * 2**power for power in range(13))


class Instruments:
    """One meter's instruments.

    `gen_ai.client.operation.duration` holds turns beside whatever else the process measures as generative AI,
    `gen_ai.invoke_agent.duration` holds them by agent; both in seconds, both with `error.type` if the turn
    failed. `gen_agent.turn.rejected` and `gen_agent.turn.cancelled` count requests that never ran, by agent,
    origin and reason.
    """

    def __init__(self, meter: metrics.Meter, provider: str) -> None:
        self._common = {OPERATION_NAME: INVOKE_AGENT, PROVIDER_NAME: provider}
        self._operations = meter.create_histogram(
            "gen_ai.client.operation.duration",
            "s",
            "GenAI operation duration.",
            explicit_bucket_boundaries_advisory=_OPERATION_BOUNDARIES_S,
        )
        self._invocations = meter.create_histogram(
            "gen_ai.invoke_agent.duration",
            "s",
            "Duration of one turn of an agent.",
            explicit_bucket_boundaries_advisory=_INVOCATION_BOUNDARIES_S,
        )
        self._rejected = meter.create_counter(
            "gen_agent.turn.rejected", "{request}", "Requests that were refused before they ran."
        )
        self._cancelled = meter.create_counter(
            "gen_agent.turn.cancelled", "{request}", "Requests that were taken out before they ran."
        )

    def ended(self, facts: TurnFacts, duration_s: float, kind: str | None) -> None:
        """A turn took `duration_s`, and failed if there is a kind."""
        failed = {} if kind is None else {ERROR_TYPE: kind}
        self._operations.record(duration_s, {**self._common, **failed})
        self._invocations.record(duration_s, {**facts.of_agent(), **failed})

    def rejected(self, facts: TurnFacts) -> None:
        """A request was refused (C224)."""
        self._rejected.add(1, facts.of_refusal())

    def cancelled(self, facts: TurnFacts) -> None:
        """An accepted request was taken out (C225)."""
        self._cancelled.add(1, facts.of_refusal())
