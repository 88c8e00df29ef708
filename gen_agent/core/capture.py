"""What a response keeps of its turn: events within limits, and the text they add up to (C165-C173).

Sizes are lengths of the events' pickles, in bytes. Text, usage and the terminal event are complete in any
case; only the list of events is bounded.
"""

from __future__ import annotations

from typing import Literal

from gen_agent.errors import EventCaptureOverflow
from gen_agent.events import Event, EventCoverage, Omission, Response
from gen_agent.options import AgentOptions
from gen_agent.sealed import SealedRun


class Capture:
    """Retains a turn's events. Compact: the longest prefix that fits. Lossless: all, or an overflow."""

    __slots__ = (
        "_bodies",
        "_bytes",
        "_first_omission",
        "_max_bytes",
        "_max_events",
        "_observed",
        "lossless",
    )

    def __init__(self, options: AgentOptions) -> None:
        self.lossless = options.event_retention == "lossless"
        self._max_events = options.max_events_per_turn
        self._max_bytes = options.max_event_bytes_per_turn
        self._bodies: list[bytes] = []
        self._bytes = 0
        self._observed = 0
        self._first_omission: Omission | None = None

    def overflow(self, event: Event, size: int) -> EventCaptureOverflow | None:
        """In lossless mode, the error for an event that doesn't fit; nobody sees it (C167)."""
        limit = self._exceeded(size) if self.lossless else None
        if limit is None:
            return None
        return EventCaptureOverflow(
            limit,
            max_events=self._max_events,
            max_bytes=self._max_bytes,
            retained_events=len(self._bodies),
            retained_bytes=self._bytes,
            rejected_event_kind=event.kind,
            rejected_event_bytes=size,
        )

    def observe(self, event: Event, body: bytes, size: int) -> None:
        """Count `event` and retain its pickle if it fits and nothing was omitted before it (C165)."""
        self._observed += 1
        if self._first_omission is not None:
            return
        limit = self._exceeded(size)
        if limit is not None:
            self._first_omission = Omission(limit, event.kind)
            return
        self._bodies.append(body)
        self._bytes += size

    def _exceeded(self, size: int) -> Literal["events", "bytes"] | None:
        if len(self._bodies) >= self._max_events:
            return "events"
        return "bytes" if size > self._max_bytes - self._bytes else None

    @property
    def events(self) -> SealedRun:
        """What is retained, in order."""
        return SealedRun.joined(self._bodies)

    @property
    def coverage(self) -> EventCoverage:
        """How much that is (C166)."""
        return EventCoverage(
            mode="exact" if self._first_omission is None else "compact",
            observed_events=self._observed,
            retained_events=len(self._bodies),
            omitted_events=self._observed - len(self._bodies),
            retained_bytes=self._bytes,
            first_omission=self._first_omission,
        )


class Digest:
    """The text, the last message and the usage of a turn, taken event by event."""

    __slots__ = ("_message", "_text", "_usage")

    def __init__(self) -> None:
        self._text: list[str] = []
        self._message: list[str] = []
        self._usage: dict[str, object] | None = None

    def observe(self, event: Event) -> None:
        """Take what `event` adds."""
        if event.kind == "text":
            text = event.data.get("text")
            if isinstance(text, str) and text:
                if event.data.get("message_boundary") is True:
                    self._begin_paragraph()
                self._text.append(text)
                self._message.append(text)
        elif event.kind == "usage":
            self._usage = dict(event.data)

    def _begin_paragraph(self) -> None:
        # A new paragraph only where there is something before it and something in it (C171).
        if self._text:
            self._text.append("\n\n")
        self._message.clear()

    def response(self, capture: Capture, terminal: Event, duration_s: float, prompt: str) -> Response:
        """The response of a turn that ended with the result `terminal`."""
        given = terminal.data.get("text")
        whole = given if isinstance(given, str) else None
        metadata = terminal.data.get("metadata")
        return Response(
            text="".join(self._text) if whole is None else whole,
            final_message="".join(self._message) if whole is None else whole,
            events=capture.events,
            terminal=terminal,
            event_coverage=capture.coverage,
            usage=self._usage,
            duration_s=duration_s,
            metadata=dict(metadata) if isinstance(metadata, dict) else {},
            session_id=terminal.data.get("session_id"),
            prompt=prompt,
        )
