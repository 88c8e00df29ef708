"""What is refused at an agent's start: classes that could never work as they are written.

Found out before anything runs, with a sentence for whoever wrote the class. This module starts nothing.
"""

from __future__ import annotations

import inspect
from typing import Any

from gen_agent.agent import Agent
from gen_agent.backend import Backend
from gen_agent.core.hooks import HOOKS
from gen_agent.errors import BackendStartFailed, InitAgentFailed, Undecodable

_BACKEND_CALLS = (
    "start_session", "prompt", "update_session", "checkpoint_session", "reset_session", "terminate_session",
    "close",
)  # fmt: skip


def checked_agent(cls: Any) -> type[Agent]:
    """Return the agent's class; raises `InitAgentFailed` saying what is wrong with it."""
    if isinstance(cls, Undecodable):
        raise InitAgentFailed(f"the agent's class can't be loaded in its process: {cls.fields['type']}")
    if not (isinstance(cls, type) and issubclass(cls, Agent)):
        raise InitAgentFailed("an Agent subclass is needed")
    for name in HOOKS:
        if _is_async(getattr(cls, name, None)):
            raise InitAgentFailed(f"{cls.__qualname__}.{name} is async: callbacks are called, not awaited")
    if not inspect.ismethod(getattr(cls, "handle_stream_event", None)):
        raise InitAgentFailed(
            f"{cls.__qualname__}.handle_stream_event must be a classmethod: it runs in the worker, "
            "which has no instance"
        )
    if missing := sorted(getattr(cls, "__abstractmethods__", ())):
        raise InitAgentFailed(f"{cls.__qualname__} does not define {missing[0]}")
    return cls


def checked_backend(cls: type[Backend]) -> type[Backend]:
    """Return the backend's class; raises `BackendStartFailed` saying what is wrong with it."""
    for name in _BACKEND_CALLS:
        if _is_async(getattr(cls, name, None)):
            raise BackendStartFailed(f"{cls.__qualname__}.{name} is async: a backend is called, not awaited")
    if missing := sorted(getattr(cls, "__abstractmethods__", ())):
        raise BackendStartFailed(f"{cls.__qualname__} does not define {missing[0]}")
    return cls


def _is_async(function: Any) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)
