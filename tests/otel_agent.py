"""An agent whose process has in-memory exporters, for the tests of the OpenTelemetry bridge."""

from __future__ import annotations

from typing import Any

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from gen_agent.agent import NoReply
from tests.actors.agent_cast import Counting


class Traced(Counting):
    """Configures the tracing of its process; a notification makes its state what was traced."""

    def init_agent(self, options: Any) -> Any:
        self.exporter = InMemorySpanExporter()
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        trace.set_tracer_provider(provider)
        return {}, 0

    def handle_event(self, event: Any, state: Any) -> Any:
        spans = self.exporter.get_finished_spans()
        return NoReply(tuple((span.name, dict(span.attributes or {})) for span in spans))
