"""Errors as one clear line each.

Pure functions; nothing of a prompt or an answer is shown, except what a provider says about its refusal.
"""

from __future__ import annotations

from gen_agent.errors import BackendError, BackendFailed, CallTimeout, GenAgentError, InitFailed, StartError

_SAID = {
    "interrupted": "interrupted",
    "no_terminal_event": "the backend ended without an answer",
}


def failure_line(error: BaseException) -> str:
    """What went wrong, in one line without a line end."""
    return " ".join(_text(error).split())


def failure_code(error: BaseException) -> str:
    """The word by which a program knows the error."""
    return error.code if isinstance(error, GenAgentError) else type(error).__name__


def _text(error: BaseException) -> str:
    if isinstance(error, BackendError):
        return _backend(error)
    if isinstance(error, InitFailed):
        return f"the agent could not start: {error.exception} ({error.kind})"
    if isinstance(error, StartError) and error.reason is not None:
        return _reason(error)
    if isinstance(error, BackendFailed):
        return f"the backend failed: {error.reason}"
    if isinstance(error, CallTimeout):
        return f"no answer within {error.timeout:g} s" if error.timeout is not None else "no answer in time"
    if isinstance(error, GenAgentError):
        return _SAID.get(error.code, str(error))
    if isinstance(error, OSError) and error.strerror:
        return error.strerror if error.filename is None else f"{error.filename}: {error.strerror}"
    return str(error) or type(error).__name__


def _reason(error: StartError) -> str:
    reason = error.reason
    inner = reason.reason if isinstance(reason, StartError) and reason.reason is not None else reason
    return _text(inner) if isinstance(inner, BaseException) else str(inner)


def _backend(error: BackendError) -> str:
    status = f" (HTTP {error.status})" if error.status is not None else ""
    wait = f", try again after {error.retry_after}" if error.retry_after else ""
    said = f": {error.message}" if error.message else ""
    return f"{error.provider or 'backend'}: {error.kind.replace('_', ' ')}{status}{wait}{said}"
