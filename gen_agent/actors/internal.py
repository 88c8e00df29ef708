"""The envelopes that supervisor, outposts, nurseries and agents send each other.

What holds for all that is `Internal` holds for them. This module must not know Thespian or any process.
"""

from __future__ import annotations

from typing import Any

import attrs

from gen_agent.actors.inner import Internal
from gen_agent.envelopes import Call
from gen_agent.messages import StartAgent
from gen_agent.sealed import Sealed
from gen_agent.values import AgentAddress, Caller, CallRef, Incarnation

# ---------------------------------------------------------------- supervisor <-> nursery


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class Preload(Internal):
    """Supervisor to nursery: load this script (see `scripts`) and import these modules before forking.

    `parent_pid` is whose death the nursery follows, None where there are no processes.
    """

    script: bytes | None = None
    modules: tuple[str, ...] = ()
    parent_pid: int | None = None


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class Spawn(Internal):
    """Supervisor, or its outpost, to nursery: fork an agent and begin it; `token` is the supervisor's number
    for it.

    `supervisor_pid` is whose death means registry_lost to it, `registrar` to whom it answers (None: to the
    sender).
    """

    token: int
    start: StartAgent
    supervisor_pid: int
    registrar: Any = None


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class Spawned(Internal):
    """Nursery to supervisor: the process of that start exists; from now on its pidfd tells of its death."""

    token: int
    pid: int
    start_time: int


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class SpawnFailed(Internal):
    """Nursery to supervisor: no process could be made; `reason` is a class name or a few words."""

    token: int
    reason: str


# ---------------------------------------------------------------- supervisor <-> outpost


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class Settle(Internal):
    """Supervisor to a new outpost: work for me. `machine` is where it runs, as in `identity`."""

    who: Caller
    machine: tuple[str, str]


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class Settled(Internal):
    """Outpost to supervisor: here I am, on this machine."""

    machine: tuple[str, str]


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class Beat(Internal):
    """Supervisor to outpost, and the same back: I am here."""


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class Kill(Internal):
    """Supervisor to outpost: end the process of that token, now or as soon as there is one; answered by
    `Gone`.
    """

    token: int


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class Gone(Internal):
    """Outpost to supervisor: the process of that token has ended, or there will be none."""

    token: int


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class Dismiss(Internal):
    """Supervisor to an outpost that has no agents any more: end."""


# ---------------------------------------------------------------- an agent's beginning and end


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class Begin(Internal):
    """Parent (nursery or supervisor) to a fresh agent: the start, and to whom it answers.

    `parent_pid` is who forked it, None where nobody did (another machine, no processes). `supervisor_pid` is
    whose death means registry_lost. `keep` are the descriptors that users' modules opened while they were
    loaded. `away`: the registrar is another system's supervisor.
    """

    start: StartAgent
    token: int
    registrar: Any
    parent_pid: int | None = None
    supervisor_pid: int | None = None
    keep: tuple[int, ...] = ()
    away: bool = False


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class AgentUp(Internal):
    """Agent to registrar: about to run. `shutdown_s` is how long a stop waits before it kills."""

    token: int
    address: AgentAddress
    shutdown_s: float | None = 5.0


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class AgentFailed(Internal):
    """Agent to registrar: the start failed with `error`, which may hold a user's reason; the process ends
    next.
    """

    token: int
    error: Sealed


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class Register(Internal):
    """An agent with another parent to the supervisor: take my name.

    Answered by a `Reply` to `call` whose value is the supervisor's pid, or whose error is `AlreadyStarted`.
    `parent` is the address of whoever made it, the one who may stop it (C127); `shutdown_s` as in `AgentUp`.
    """

    address: AgentAddress
    call: CallRef
    parent: Any = None
    shutdown_s: float | None = 5.0


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class Ending(Internal):
    """Agent to registrar, its last word: the reason, and the number of its last delivery to each recipient.

    `drained` are the calls of `drain` and `stop` to be answered with None once the process has ended. One
    that was `never_up` gives its name back at once: its starter is told after that (C018).
    """

    incarnation: Incarnation
    reason: str
    detail: tuple[str, ...] = ()
    last_deliveries: tuple[tuple[str, int], ...] = ()
    drained: tuple[tuple[Any, CallRef], ...] = ()
    never_up: bool = False


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class StopNow(Internal):
    """Supervisor to agent: end in an orderly way with this reason."""

    reason: str = "shutdown"


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class Orphaned(Internal):
    """To an agent: its supervisor is gone, end with registry_lost (C014)."""


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class Lodge(Internal):
    """Outpost to the supervisor of the system it is in: agents of another system are here, and so am I."""

    who: Caller


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class Evict(Internal):
    """From the supervisor of a system that ends to the outposts in it, and from these to their own: have the
    agents there end in an orderly way.
    """


@attrs.frozen(slots=True, repr=False, getstate_setstate=False)
class Relay(Internal):
    """Supervisor to another system's agent, and from there to its supervisor: this question is yours, and
    `sender` is who asked it.
    """

    message: Call
    sender: Any
