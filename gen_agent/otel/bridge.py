"""From turn events to spans and measurements.

Law: a start opens a span and its end closes it, with the times that the events give; an event that nothing
can be made of is dropped. No method raises into whoever feeds it (C238).
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from typing import Any

from opentelemetry import metrics, trace
from opentelemetry.context import Context
from opentelemetry.trace import SpanKind, Status, StatusCode

from gen_agent.messages import TelemetryMessage
from gen_agent.otel.facts import (
    END_LOST,
    ERROR_TYPE,
    OTHER,
    PROVIDER_NAME,
    REASON_KIND,
    TurnFacts,
    seconds,
)
from gen_agent.otel.instruments import Instruments
from gen_agent.otel.open_turns import OpenTurn, OpenTurns
from gen_agent.telemetry import TURN

_TERMINATED = ("gen_agent", "terminated")
_SCOPE = "gen_agent"

_log = logging.getLogger("gen_agent.otel")


class Bridge:
    """Makes a span of each turn and measures it; for any thread of the process that made it.

    A span is named `invoke_agent {agent}`, is the root of its trace (turns carry no trace context) and lasts
    as long as the turn. A failed turn's span has status ERROR and its reason in `error.type`. Rejected and
    cancelled requests are counted and get no span. An end whose start never came gets a span all the same; a
    start whose end never comes is given up, marked `gen_agent.end_lost`, when `max_open` newer turns are open
    or at `close`. `provider` is the value of `gen_ai.provider.name`, which an agent's events don't know.

    Providers that are not given are the global ones of the process. When an agent of this process terminates
    they are flushed, waiting at most `flush_s` seconds, for an agent's process ends without exit functions; 0
    leaves that to others. Raises `ValueError` for a `max_open` below 1 or a `flush_s` that is no wait.
    """

    def __init__(
        self,
        *,
        tracer_provider: trace.TracerProvider | None = None,
        meter_provider: metrics.MeterProvider | None = None,
        provider: str = "gen_agent",
        max_open: int = 1024,
        flush_s: float = 1.0,
    ) -> None:
        if max_open < 1:
            raise ValueError(f"max_open: an int from 1 on is needed, not {max_open!r}")
        if not 0 <= flush_s <= threading.TIMEOUT_MAX:
            raise ValueError(f"flush_s: seconds from 0 on are needed, not {flush_s!r}")
        self._flush_s = flush_s
        self._given = (tracer_provider, meter_provider)
        self._provider = provider
        self._tracer = trace.get_tracer(_SCOPE, tracer_provider=tracer_provider)
        self._instruments = Instruments(metrics.get_meter(_SCOPE, meter_provider=meter_provider), provider)
        self._open = OpenTurns(max_open)
        self._complained = False

    def handle(
        self, name: tuple[str, ...], measurements: Mapping[str, Any], metadata: Mapping[str, Any]
    ) -> None:
        """Take one event, as a telemetry handler; events that are no turn's are ignored.

        Never raises: what goes wrong is logged once, by class, and the event is dropped.
        """
        try:
            self._take(name, measurements, metadata)
        except Exception as error:
            self._complain(error)

    def feed(self, message: object) -> bool:
        """Take what a `telemetry_to` address received; return whether it was a `TelemetryMessage`.

        Never raises; other messages are left alone.
        """
        if not isinstance(message, TelemetryMessage):
            return False
        self.handle(message.name, message.measurements, message.metadata)
        return True

    def close(self) -> None:
        """Give up the turns that are still open. The bridge can be used on; never raises."""
        for turn in self._open.take_all():
            self._give_up(turn)

    def _take(self, name: tuple[str, ...], measured: Mapping[str, Any], metadata: Mapping[str, Any]) -> None:
        if name == _TERMINATED:
            self._flush()
        if name[:-1] != TURN:
            return
        happened = name[-1]
        if happened == "start":
            self._start(TurnFacts.of(metadata), measured)
        elif happened == "stop":
            self._end(TurnFacts.of(metadata), measured, None)
        elif happened == "error":
            facts = TurnFacts.of(metadata)
            self._end(facts, measured, facts.kind or OTHER)
        elif happened == "rejected":
            self._instruments.rejected(TurnFacts.of(metadata))
        elif happened == "cancelled":
            self._instruments.cancelled(TurnFacts.of(metadata))

    def _start(self, facts: TurnFacts, measured: Mapping[str, Any]) -> None:
        told_s = measured.get("system_time_s")
        began_ns = time.time_ns() if told_s is None else _nanoseconds(seconds(told_s))
        displaced = self._open.put(facts.key, self._opened(facts, began_ns))
        if displaced is not None:
            self._give_up(displaced)

    def _end(self, facts: TurnFacts, measured: Mapping[str, Any], kind: str | None) -> None:
        duration_s = seconds(measured["duration_s"])
        duration_ns = _nanoseconds(duration_s)
        turn = self._open.take(facts.key) or self._opened(facts, time.time_ns() - duration_ns)
        if kind is not None:
            turn.span.set_attributes({ERROR_TYPE: kind, REASON_KIND: kind})
            turn.span.set_status(Status(StatusCode.ERROR))
        turn.span.end(turn.began_ns + duration_ns)
        self._instruments.ended(facts, duration_s, kind)

    def _opened(self, facts: TurnFacts, began_ns: int) -> OpenTurn:
        span = self._tracer.start_span(
            facts.span_name,
            # Whatever span happens to be current where events arrive has not caused the turn.
            context=Context(),
            kind=SpanKind.INTERNAL,
            attributes={PROVIDER_NAME: self._provider, **facts.of_span()},
            start_time=began_ns,
        )
        return OpenTurn(span, began_ns)

    def _give_up(self, turn: OpenTurn) -> None:
        try:
            turn.span.set_attribute(END_LOST, True)
            turn.span.end()
        except Exception as error:
            self._complain(error)

    def _flush(self) -> None:
        if self._flush_s == 0:
            return
        # The SDK's flush may take as long as the exporter likes, and an agent has to end: only so long.
        flushing = threading.Thread(target=self._flush_providers, name="gen_agent.otel flush", daemon=True)
        flushing.start()
        flushing.join(self._flush_s)

    def _flush_providers(self) -> None:
        tracers, meters = self._given
        try:
            for provider in (tracers or trace.get_tracer_provider(), meters or metrics.get_meter_provider()):
                # The API has no flush; only what can be flushed has something to lose.
                flush = getattr(provider, "force_flush", None)
                if flush is not None:
                    flush()
        except Exception as error:
            self._complain(error)

    def _complain(self, error: Exception) -> None:
        if not self._complained:
            self._complained = True
            _log.warning("telemetry bridge: %s; no more is said of the next ones", type(error).__qualname__)


def _nanoseconds(value_s: float) -> int:
    return round(value_s * 1e9)
