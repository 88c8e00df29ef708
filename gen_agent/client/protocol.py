"""What clients and the supervisor say to each other besides the public envelopes; free to change with the
version.

The law: every question is a `Call` and is answered by a `Reply` under its number. Who does not know a
question answers `UnknownRequest`. This module knows no actor and no Thespian.
"""

from __future__ import annotations

from typing import Any

import attrs

from gen_agent.envelopes import Call
from gen_agent.values import CallRef, Incarnation, MonitorRef, Name

SUPERVISOR = "gen_agent.supervisor"
"""The global name of the supervisor of one actor system."""

VERSION_CAPABILITY = "gen_agent version"
"""The capability of an actor system on our base that says which version of its processes' messages it speaks.
"""

MACHINE_CAPABILITY = "gen_agent machine"
"""The capability that says on which machine a system runs, and under which name."""

SUPERVISOR_CLASS = "gen_agent.actors.supervisor.SupervisorActor"
AGENT_CLASS = "gen_agent.actors.agent.AgentActor"
"""Actor classes by name, for those who may not import them."""


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class Hello(Call):
    """Who are you? Answered by the supervisor's process as a `Caller`, pid 0 where there are no processes."""


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class Lookup(Call):
    """Who has this name? Answered by an `AgentAddress`, or None while nobody has it or is still starting."""

    name: Name


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class ListNames(Call):
    """Answered by a tuple of the registered names."""


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class Abandon(Call):
    """Give up the start made under `start`: answered (None) when its processes are
    gone and its name is free.
    """

    start: CallRef


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class StopUnder(Call):
    """Stop `target` if `supervisor` is its parent (None: this supervisor); answered
    when its process is gone.
    """

    target: Any
    supervisor: Any = None


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class WhyDown(Call):
    """How did this incarnation end? Answered by (reason, detail) once it has ended, at once if it is unknown.

    `where` is its actor, whose own supervisor is asked if it is another system's.
    """

    whom: Incarnation
    where: Any = None


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class Inherit(Call):
    """Take over a monitor from the supervisor before you, which is dead: its `Down` says registry_lost, when
    the agent has ended.
    """

    target: Any
    ref: MonitorRef
    recipient: Any


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class IsAlive(Call):
    """Does this incarnation serve? Answered by a bool: for bases where no process tells."""

    whom: Incarnation


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class Shutdown(Call):
    """Stop all agents in an orderly way; answered (None) when all are gone, then the supervisor ends."""
