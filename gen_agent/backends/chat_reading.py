"""Reads the chunks of one chat completion into events.

Law: a completion is whole or it is an error. The SDK ends a cut-off stream without a word and takes any
page for one, so the finish reason is the only proof that the server had said everything. This module knows
chunks by their attributes only, not the SDK.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from gen_agent.backends.failures import transport_failure
from gen_agent.events import Event


class ChatReading:
    """One completion while it comes in; `events` per chunk, then `end`."""

    def __init__(self, provider: str, session_id: str) -> None:
        self._provider = provider
        self._session_id = session_id
        self._text: list[str] = []
        self._finish: str | None = None
        self._usage: Any = None
        self._model: str | None = None

    @contextlib.contextmanager
    def checked(self, stream: Any) -> Iterator[None]:
        """Refuse at once what is no event stream; close the connection whatever happens to the reader."""
        response = getattr(stream, "response", None)
        kind = response.headers.get("content-type", "") if response is not None else "no stream"
        if response is None or kind.startswith("text/html"):
            raise transport_failure(
                self._provider, "protocol", f"the server answered with {kind}", retryable=False
            )
        with contextlib.closing(stream):
            yield

    def events(self, chunk: Any) -> Iterator[Event]:
        """The events of one chunk; raises `BackendError` for what is no chunk."""
        choices = getattr(chunk, "choices", None)
        if not isinstance(choices, list):
            raise transport_failure(
                self._provider, "protocol", "a chunk without choices", retryable=False
            )
        self._usage = getattr(chunk, "usage", None) or self._usage
        self._model = getattr(chunk, "model", None) or self._model
        for choice in choices[:1]:
            yield from self._of_delta(choice.delta)
            self._finish = choice.finish_reason or self._finish

    def _of_delta(self, delta: Any) -> Iterator[Event]:
        if reasoning := getattr(delta, "reasoning_content", None):
            yield Event("reasoning", {"text": reasoning})
        if text := getattr(delta, "content", None) or getattr(delta, "refusal", None):
            self._text.append(text)
            yield Event.text(text)

    def end(self) -> Iterator[Event]:
        """Usage, where the server told it, and the result; raises `BackendError` (truncated) for half an
        answer.
        """
        if self._finish is None:
            raise transport_failure(
                self._provider, "truncated", "the stream ended before the answer did", retryable=True
            )
        if self._usage is not None:
            yield Event.usage(self._usage.prompt_tokens, self._usage.completion_tokens)
        yield Event.result(
            "".join(self._text),
            session_id=self._session_id,
            finish_reason=self._finish,
            model=self._model,
        )
