"""Any server that speaks OpenAI's Chat Completions, through the official SDK.

Law: the session is the whole conversation as plain values and grows only by finished turns, so a turn that
was interrupted, failed or cut off leaves nothing half-said behind. The client is made in the process that
uses it, for one that crosses a fork answers the wrong process. The SDK never retries: an attempt is the
agent's decision.
"""

from __future__ import annotations

import os
import urllib.parse
import uuid
from collections.abc import Iterator
from typing import Any

import attrs
import openai

from gen_agent.backend import Backend, Turn
from gen_agent.backends.chat_reading import ChatReading
from gen_agent.backends.openai_failures import RAISED, backend_error
from gen_agent.backends.openai_options import ChatOptions
from gen_agent.errors import StartError
from gen_agent.events import Event


@attrs.frozen
class ChatSession:
    """A conversation: pairs of what was said (role and text), finished turns only."""

    session_id: str
    messages: tuple[tuple[str, str], ...] = attrs.field(default=(), repr=False)


@attrs.frozen
class Endpoint:
    """Where a server is and the key it wants; `base_url` None is OpenAI itself."""

    base_url: str | None
    api_key: str = attrs.field(repr=False)

    @property
    def on_this_machine(self) -> bool:
        """Whether the server is on the loopback interface, where no proxy belongs in between."""
        host = urllib.parse.urlsplit(self.base_url or "").hostname or ""
        return host in {"localhost", "::1"} or host.startswith("127.")


class OpenAIBackend(Backend):
    """Chat Completions, streamed; every option is one of `ChatOptions`, anything else is `TypeError`.

    Events: session (once the server has accepted the request), text as it comes, reasoning where the model
    shows it, usage, result with `finish_reason`. Failures are `BackendError`s; a stream that ends without a
    finish reason, a page that is no stream and garbage in it are failures too.
    """

    provider = "openai"

    def __init__(self, **options: Any) -> None:
        self._options = ChatOptions.of(self.provider, options)
        self._client: tuple[int, Endpoint, openai.OpenAI] | None = None
        self._said = ""

    def start_session(self) -> ChatSession:
        """An empty conversation; raises `StartError` where there is no key, and asks no server."""
        self._endpoint()
        return ChatSession(f"{self.provider}-{uuid.uuid4().hex[:16]}")

    def prompt(self, session: ChatSession, prompt: str, turn: Turn) -> Iterator[Event]:
        """Send the conversation and `prompt`; raises `BackendError` while it is read."""
        self._said = prompt
        endpoint = self._endpoint()
        try:
            yield from self._stream(endpoint, session, prompt)
        except RAISED as error:
            raise backend_error(self.provider, error, endpoint.api_key) from error

    def _stream(self, endpoint: Endpoint, session: ChatSession, prompt: str) -> Iterator[Event]:
        reading = ChatReading(self.provider, session.session_id)
        stream = self._connected(endpoint).chat.completions.create(
            **self._options.request(official=endpoint.base_url is None),
            messages=self._messages(session, prompt),
            stream=True,
            stream_options={"include_usage": True},
        )
        with reading.checked(stream):
            yield Event.session(session_id=session.session_id)
            for chunk in stream:
                yield from reading.events(chunk)
        yield from reading.end()

    def _messages(self, session: ChatSession, prompt: str) -> Any:
        system = [("system", self._options.system)] if self._options.system else []
        said = [*system, *session.messages, ("user", prompt)]
        return [{"role": role, "content": content} for role, content in said]

    def update_session(self, session: ChatSession, result: Event) -> ChatSession:
        """Add both sides of the finished turn; not what the server filtered, nor an empty answer."""
        text = result.data.get("text") or ""
        if not text.strip() or result.data.get("finish_reason") == "content_filter":
            return session
        turn = (("user", self._said), ("assistant", text))
        return attrs.evolve(session, messages=(*session.messages, *turn))

    def reset_session(self, session: ChatSession) -> ChatSession:
        """An empty conversation."""
        return self.start_session()

    def close(self) -> None:
        """Close the connections. Idempotent."""
        self._disconnect()

    def _disconnect(self) -> None:
        if self._client is not None and self._client[0] == os.getpid():
            self._client[2].close()
        self._client = None

    def _endpoint(self) -> Endpoint:
        base_url = self._options.base_url or os.environ.get("OPENAI_BASE_URL") or None
        api_key = (self._options.api_key or os.environ.get("OPENAI_API_KEY") or "").strip()
        if not api_key and base_url is None:
            raise StartError("backend openai: no key; set OPENAI_API_KEY or give the option api_key")
        return Endpoint(base_url, api_key or "none")

    def _connected(self, endpoint: Endpoint) -> openai.OpenAI:
        if self._client is None or self._client[:2] != (os.getpid(), endpoint):
            self._disconnect()
            self._client = (os.getpid(), endpoint, self._new_client(endpoint))
        return self._client[2]

    def _new_client(self, endpoint: Endpoint) -> openai.OpenAI:
        timeout = openai.Timeout(self._options.timeout_s, connect=self._options.connect_timeout_s)
        return openai.OpenAI(
            base_url=endpoint.base_url,
            api_key=endpoint.api_key,
            timeout=timeout,
            max_retries=0,
            default_headers=dict(self._options.headers),
            http_client=openai.DefaultHttpxClient(timeout=timeout, trust_env=not endpoint.on_this_machine),
        )
