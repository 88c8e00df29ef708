"""What the machine knows: its state, its data, and the effects of the running step.

The data is changed in place by the handlers and by nothing else; effects only gather in `out` and leave when
the whole step has succeeded. What a state means is said here once; what an event does in it is the table in
`machine`.
"""

from __future__ import annotations

import enum
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from gen_agent.core.hooks import Hooks
from gen_agent.core.queues import NoticeQueue, PromptQueue
from gen_agent.core.requests import Slot, Turn
from gen_agent.core.results import ResultCache
from gen_agent.core.signals import Event
from gen_agent.options import AgentOptions
from gen_agent.sealed import Sealed
from gen_agent.values import Name, RequestRef

Emit = Callable[[tuple[str, ...], Mapping[str, Any], Mapping[str, Any]], None]
Log = Callable[[str, str], None]
Heard = Callable[[], bool]


class State(enum.Enum):
    """Where an agent is. Exactly one of these, and no flag beside it."""

    # There is one of each, and the table is asked at every change: by identity that costs nothing.
    __hash__ = object.__hash__

    STARTING = "starting"
    """Not ready: starting up, or the session is being reset. Clients' events wait in order."""

    IDLE = "idle"
    """Ready, nothing runs, nothing is queued."""

    PROCESSING = "processing"
    """One turn runs. That the agent halts when it ends is data of the turn."""

    HALTED = "halted"
    """Ready, nothing runs, queued work waits for `resume`."""

    DRAINING = "draining"
    """The last turn runs; nothing else ever will."""

    STOPPED = "stopped"
    """Ending: the worker, the callbacks and the session are being closed."""


@attrs.frozen(slots=True)
class Reset:
    """A `reset_session` on its way: who asked, and the state to go back to."""

    by: Any
    back: State


class Closed(enum.Enum):
    """How far a stopped agent is with its end."""

    NOTHING = "nothing"
    AGENT = "terminate_agent ran"
    SESSION = "terminate_session ran"


@attrs.frozen(slots=True)
class Ending:
    """Why the agent ends, how far it is, and the drain calls that wait for the end."""

    reason: str
    detail: tuple[str, ...]
    closed: Closed = Closed.NOTHING
    drained: tuple[Any, ...] = ()


class Model:
    """One agent's data. `emit` and `log` are called during the step, everything else leaves through `out`."""

    __slots__ = (
        "_minted", "_nonce", "agent_state", "drained", "emit", "ending", "heard", "hooks", "log", "name",
        "notices", "now", "options", "out", "pacing", "postponed", "prompts", "reset", "rest", "results",
        "session", "session_version", "slot", "state", "streams", "turn", "turns",
    )  # fmt: skip

    def __init__(
        self,
        name: Name,
        options: AgentOptions,
        hooks: Hooks,
        emit: Emit,
        log: Log,
        nonce: str,
        heard: Heard,
    ) -> None:
        self.name, self.options, self.hooks = name, options, hooks
        self.emit, self.heard, self.log = emit, heard, log
        self.state = State.STARTING
        self.agent_state: Any = None
        self.streams = False
        self.session: Sealed | None = None
        self.session_version = 0
        self.turn: Turn | None = None
        self.turns = 0
        self.reset: Reset | None = None
        self.ending: Ending | None = None
        self.drained: tuple[Any, ...] = ()
        self.now = 0.0
        self.out: list[Any] = []
        self._nonce, self._minted = nonce, 0
        self._begin_waiting(options)

    def _begin_waiting(self, options: AgentOptions) -> None:
        """Nothing waits yet, anywhere."""
        self.prompts = PromptQueue(options.max_pending_prompts, options.max_pending_prompt_bytes)
        self.notices = NoticeQueue(options.max_pending_notifications, options.max_pending_notification_bytes)
        self.results = ResultCache(options.max_tell_results, options.max_tell_result_bytes)
        self.slot: Slot | None = None
        self.pacing = 0
        self.postponed: deque[Event] = deque()
        self.rest: Callable[[], None] | None = None

    def mint(self) -> RequestRef:
        """A ref for a prompt of the agent's own making: unique by the nonce, and reproducible."""
        self._minted += 1
        return RequestRef(self._nonce + "g", self._minted)

    def keep_session(self, session: Sealed) -> None:
        """Replace the session; its version says which one a worker holds."""
        self.session = session
        self.session_version += 1

    @property
    def opened_session(self) -> Sealed:
        """The session, which every state after the boot has."""
        if self.session is None:
            raise LookupError("no session yet")
        return self.session

    @property
    def killing(self) -> bool:
        """Whether the active turn's worker is to be killed and is not gone yet."""
        return self.turn is not None and self.turn.cause is not None

    @property
    def active(self) -> Turn:
        """The turn that PROCESSING and DRAINING have."""
        if self.turn is None:
            raise LookupError("no active turn")
        return self.turn
