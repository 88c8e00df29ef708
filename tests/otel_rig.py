"""A bridge over in-memory exporters, for the tests of the OpenTelemetry bridge."""

from __future__ import annotations

from typing import Any

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from gen_agent.otel import Bridge
from gen_agent.values import RequestRef

REF = RequestRef("issuer", 7)
NOW_S = 1_700_000_000.25
SECRET = "the secret prompt"


class Rig:
    """A bridge over in-memory exporters."""

    def __init__(self, **options: Any) -> None:
        self.exporter, self.reader = InMemorySpanExporter(), InMemoryMetricReader()
        self.tracers = TracerProvider(shutdown_on_exit=False)
        self.tracers.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.meters = MeterProvider([self.reader], shutdown_on_exit=False)
        self.bridge = Bridge(tracer_provider=self.tracers, meter_provider=self.meters, **options)

    def tell(self, happened: str, measured: Any = None, **metadata: Any) -> None:
        """Tell the bridge of a turn event of agent "coder"."""
        told = {"agent": "coder", "ref": REF, "attempt": 1, "origin": "tell", **metadata}
        given = {"system_time_s": NOW_S} if measured is None else measured
        self.bridge.handle(("gen_agent", "turn", happened), given, told)

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        """The finished spans, in the order in which they ended."""
        return self.exporter.get_finished_spans()

    def points(self) -> dict[str, list[Any]]:
        """Metric name -> its points."""
        data = self.reader.get_metrics_data()
        found = [one for resource in data.resource_metrics for one in resource.scope_metrics] if data else []
        return {metric.name: list(metric.data.data_points) for one in found for metric in one.metrics}

    def shut_down(self) -> None:
        """End the providers."""
        self.tracers.shutdown()
        self.meters.shutdown()


def attributes(span: ReadableSpan) -> dict[str, Any]:
    """The span's attributes."""
    return dict(span.attributes or {})
