"""The options of chat backends, checked once, when the backend is made.

Law: a wrong option is refused by name before anything is sent, and no message or repr shows a key.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from gen_agent.backends.options import checked_number, checked_text, refuse_unknown


def _checked_mapping(backend: str, name: str, value: object) -> None:
    if not isinstance(value, Mapping):
        raise TypeError(f"backend {backend}: option {name} is a mapping, not {type(value).__name__}")


@attrs.frozen(kw_only=True)
class ChatOptions:
    """What a chat backend can be told.

    `base_url`: the server (else `$OPENAI_BASE_URL`, else OpenAI). `api_key`: else `$OPENAI_API_KEY`; a
    server of your own may need none. `model`, `system` (the system prompt), `temperature`, `top_p`, `seed`,
    `max_tokens`, `stop`: as the server understands them, left out where None. `extra`: further fields of
    the request. `headers`: further headers. `timeout_s`: longest silence of the server in seconds (None: no
    limit); `connect_timeout_s`: longest time to reach it.
    """

    base_url: str | None = None
    api_key: str | None = attrs.field(default=None, repr=False)
    model: str = "gpt-5"
    system: str | None = attrs.field(default=None, repr=False)
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    max_tokens: int | None = None
    stop: str | tuple[str, ...] | None = attrs.field(default=None, repr=False)
    extra: Mapping[str, Any] = attrs.field(factory=dict, repr=False)
    headers: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    timeout_s: float | None = 600.0
    connect_timeout_s: float | None = 10.0

    @classmethod
    def of(cls, backend: str, options: Mapping[str, Any]) -> ChatOptions:
        """Check `options`; raises `TypeError` or `ValueError` naming the option and what is allowed."""
        known = tuple(field.name for field in attrs.fields(cls))
        refuse_unknown(backend, {name: None for name in options if name not in known}, known)
        made = cls(**options)
        made._check(backend)
        return made

    def _check(self, backend: str) -> None:
        if not self.model or not isinstance(self.model, str):
            raise TypeError(f"backend {backend}: option model is the name of a model")
        for name in ("base_url", "api_key", "system"):
            checked_text(backend, name, getattr(self, name))
        for name in ("temperature", "top_p", "timeout_s", "connect_timeout_s"):
            checked_number(backend, name, getattr(self, name))
        checked_number(backend, "seed", self.seed, least=float("-inf"), whole=True)
        checked_number(backend, "max_tokens", self.max_tokens, least=1, whole=True)
        _checked_mapping(backend, "extra", self.extra)
        _checked_mapping(backend, "headers", self.headers)

    def request(self, *, official: bool) -> dict[str, Any]:
        """The fields of the request that come from the options; OpenAI's own models want their own word for
        a limit.
        """
        limit = "max_completion_tokens" if official else "max_tokens"
        fields = {
            "model": self.model,
            "temperature": self.temperature,
            "top_p": self.top_p,
            "seed": self.seed,
            "stop": list(self.stop) if isinstance(self.stop, tuple) else self.stop,
            limit: self.max_tokens,
        }
        given = {name: value for name, value in fields.items() if value is not None}
        return {**given, "extra_body": dict(self.extra)} if self.extra else given
