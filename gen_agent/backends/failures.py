"""Providers' failures in one shape: what a status means, and what is worth trying again (C258).

Law: every backend that talks to a provider raises `BackendError` and nothing of its SDK, whose exceptions
do not survive pickling. This module must not know any SDK.
"""

from __future__ import annotations

from typing import Any

from gen_agent.errors import BackendError

_KINDS = {
    429: "rate_limited",
    401: "authentication",
    403: "authentication",
    400: "invalid_request",
    404: "invalid_request",
    422: "invalid_request",
}
_TRY_AGAIN = frozenset({408, 409, 425, 429})


def http_kind(status: int) -> str:
    """The kind of failure an HTTP status stands for."""
    return _KINDS.get(status) or ("server_error" if status >= 500 else "http_error")


def http_retryable(status: int) -> bool:
    """Whether the same request may succeed later."""
    return status in _TRY_AGAIN or status >= 500


def http_failure(
    provider: str, status: int, message: str, *, retry_after: str | None = None, raw: Any = None
) -> BackendError:
    """The error for an answer with `status`; `retry_after` is the header as it came."""
    return BackendError(
        provider, http_kind(status), http_retryable(status), status, retry_after, message, raw
    )


def transport_failure(provider: str, kind: str, message: str, *, retryable: bool) -> BackendError:
    """The error for an answer that never came whole: `kind` is timeout, connection, truncated or protocol."""
    return BackendError(provider, kind, retryable, None, None, message, None)


def without_secret(text: str, secret: str | None) -> str:
    """`text` with the secret blanked, for messages that end up on screens."""
    return text.replace(secret, "***") if secret else text
