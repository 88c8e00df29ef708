"""What the OpenAI SDK raises, as `BackendError`.

Law: total. Whatever the SDK lets out while a request runs becomes one `BackendError` of plain values, so
that it pickles, and the key never shows in a message.
"""

from __future__ import annotations

from typing import Any

import openai

from gen_agent.backends.failures import http_failure, transport_failure, without_secret
from gen_agent.errors import BackendError

RAISED: tuple[type[Exception], ...] = (openai.OpenAIError, ValueError, TypeError, OSError)
"""What a request may raise: the SDK's own, and what it lets through from a body that is not what it should
be.
"""

_STATUS_OF_TYPE = (
    ("rate_limit", 429),
    ("authentication", 401),
    ("permission", 403),
    ("invalid_request", 400),
)


def backend_error(provider: str, error: Exception, secret: str | None) -> BackendError:
    """The `BackendError` for what the SDK raised; `secret` is blanked in the message."""
    message = without_secret(str(error), secret) or type(error).__name__
    if isinstance(error, openai.APIStatusError):
        after = _first(error.response.headers, "retry-after")
        return http_failure(provider, error.status_code, message, retry_after=after, raw=_plain(error.body))
    if isinstance(error, openai.APITimeoutError):
        return transport_failure(provider, "timeout", message, retryable=True)
    if isinstance(error, openai.APIConnectionError):
        return _connection(provider, error, message)
    if isinstance(error, openai.APIError):
        return http_failure(provider, _status_in(error.body), message, raw=_plain(error.body))
    return transport_failure(provider, "protocol", f"not a chat completion: {message}", retryable=False)


def _connection(provider: str, error: openai.APIConnectionError, message: str) -> BackendError:
    cause = error.__cause__
    # By name: which HTTP library lies below is the SDK's affair and has changed before.
    refused = type(cause).__name__ == "ConnectError"
    said = f"{message} ({type(cause).__name__})" if cause else message
    return transport_failure(provider, "connection", said, retryable=not refused)


def _status_in(body: object) -> int:
    """The status an error event stands for; the response itself had begun with 200."""
    if isinstance(body, dict):
        code = body.get("code")
        if isinstance(code, int) and 400 <= code < 600:
            return code
        for word, status in _STATUS_OF_TYPE:
            if word in str(body.get("type")):
                return status
    return 500


def _first(headers: Any, name: str) -> str | None:
    """The header as it came; of one that came more than once the first, for together they say nothing."""
    values = headers.get_list(name)
    return str(values[0]) if values else None


def _plain(body: object) -> Any:
    """The provider's own words as plain values: what is not JSON is left out."""
    if isinstance(body, dict):
        return {str(key): _plain(value) for key, value in body.items()}
    if isinstance(body, list):
        return tuple(_plain(value) for value in body)
    return body if isinstance(body, (str, int, float, bool)) else None
