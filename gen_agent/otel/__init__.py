"""Turns as OpenTelemetry spans and metrics, named by its conventions for generative AI (extra `otel`).

Law: built from the content-free `turn` events only (C235), so that no prompt, response, state or error text
can leave through here; it observes and never disturbs (C238). It configures no exporter: spans and
measurements go to the providers of the process they are made in. Nothing else of the package may know it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

__all__ = ["Bridge", "handler"]

try:
    from gen_agent.otel.bridge import Bridge
except ImportError as error:
    if (error.name or "").partition(".")[0] != "opentelemetry":
        raise
    said = "gen_agent.otel needs OpenTelemetry; run: pip install 'gen-agent[otel]'"
    raise ModuleNotFoundError(said, name=error.name) from error

_bridges: dict[int, Bridge] = {}


def handler(name: tuple[str, ...], measurements: Mapping[str, Any], metadata: Mapping[str, Any]) -> None:
    """Tell this process' own bridge, which uses its global tracer and meter provider, of one event.

    To be named in an agent's options, `telemetry=("gen_agent.otel:handler",)`, or attached with
    `gen_agent.telemetry.attach`. What goes wrong is logged once, by class (C238).
    """
    bridge = _bridges.get(os.getpid())
    if bridge is None:
        # A fork inherits its parent's bridge; the turns open in it are the parent's to end.
        _bridges.clear()
        bridge = _bridges.setdefault(os.getpid(), Bridge())
    bridge.handle(name, measurements, metadata)
