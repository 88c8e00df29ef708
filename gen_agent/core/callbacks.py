"""Running a callback of this agent: commit the state it returns, log what fails, keep to the table."""

from __future__ import annotations

from typing import Any

from gen_agent.agent import Decision, NoReply
from gen_agent.core.hooks import HOOKS, Failure, Meaning
from gen_agent.core.model import Model


def decide(m: Model, hook: str, *args: Any) -> Decision | Failure:
    """Run a deciding callback; a `Failure` comes back only where it stops the agent (C036, C038, C050)."""
    decision = m.hooks.call(hook, *args, m.agent_state)
    if isinstance(decision, Failure):
        m.log("error", str(decision))
        return decision if HOOKS[hook].on_failure is Meaning.STOPS else NoReply(m.agent_state)
    m.agent_state = decision.state
    return decision  # type: ignore[no-any-return]


def transform(m: Model, hook: str, *args: Any) -> Failure | None:
    """Run a callback that returns the state; on a failure the old one stays (C025, C042)."""
    state = m.hooks.call(hook, *args, m.agent_state)
    if isinstance(state, Failure):
        m.log("error", str(state))
        return state
    m.agent_state = state
    return None


def announce(m: Model, hook: str, *args: Any) -> None:
    """Run a callback whose return is ignored; a failure is logged and changes nothing (C044, C048)."""
    result = m.hooks.call(hook, *args, m.agent_state)
    if isinstance(result, Failure):
        m.log("error", str(result))
