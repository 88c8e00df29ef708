"""`reset_session` as the worker runs it (C126)."""

from __future__ import annotations

import inspect
from typing import Any

from gen_agent.backend import Backend
from gen_agent.errors import BackendError, GenAgentError, ResetFailed, StartError, Unsupported
from gen_agent.sealed import Sealed


def run_reset(backend: Backend, session: Any) -> tuple[Any, Sealed | None, GenAgentError | None]:
    """Reset the session: the new one, live and sealed, or the old one, None and the error. Never raises."""
    reset = getattr(backend, "reset_session", None)
    if reset is None:
        return session, None, Unsupported()
    try:
        fresh = reset(session)
        if (fresh is None and session is not None) or inspect.isawaitable(fresh):
            return session, None, ResetFailed("invalid_reset_result")
        return fresh, Sealed.of(fresh, "session"), None
    except BackendError as error:
        return session, None, ResetFailed(error.kind)
    except StartError as error:
        # A session is refused in the same words here as where it is started.
        reason = error.fields.get("reason")
        return session, None, ResetFailed(type(error).__name__ if reason is None else reason)
    except BaseException as error:
        # Foreign code, and the old session stays: the class name is all that may be told.
        return session, None, ResetFailed(type(error).__name__)
