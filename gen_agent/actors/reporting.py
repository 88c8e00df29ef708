"""An agent's telemetry and log lines on their way out of the machine.

Telemetry goes to the handlers attached in this process and, for the content-free `turn` events, to
`telemetry_to`. Log lines carry the agent's name and module, and whatever text the core made: class names and
places (C218, C219).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from gen_agent import telemetry
from gen_agent.messages import TelemetryMessage
from gen_agent.values import Name


@attrs.frozen(slots=True)
class Reporter:
    """The `emit` and `log` ports of one machine; `send` puts a message among the running step's effects."""

    name: Name | None
    module: str
    recipient: Any
    send: Callable[[Any, object], None]

    def heard(self) -> bool:
        """Whether anybody may listen."""
        return self.recipient is not None or telemetry.heard()

    def emit(
        self, name: tuple[str, ...], measurements: Mapping[str, Any], metadata: Mapping[str, Any]
    ) -> None:
        """Tell the handlers of this process, and the recipient what holds no content (C235). Never raises."""
        if self.recipient is not None and name[: len(telemetry.TURN)] == telemetry.TURN:
            measurements = telemetry.timed(measurements)
            self.send(self.recipient, TelemetryMessage(name, measurements, metadata))
        telemetry.emit(name, measurements, metadata)

    def log(self, level: str, text: str) -> None:
        """Write a log line under the agent's name and module."""
        log_line("gen_agent.agent", self.name, self.module, level, text)


def log_line(logger: str, name: Name | None, module: str, level: str, text: str) -> None:
    """Write a line to `logger` under an agent's name and module, whichever of its processes says it
    (C219).
    """
    # Looked up each time: a Thespian process gets its logging after this module was imported.
    logging.getLogger(logger).log(
        logging.getLevelName(level.upper()),
        "agent %r (%s): %s",
        name,
        module,
        text,
        extra={"gen_agent": name, "gen_agent_module": module},
    )
