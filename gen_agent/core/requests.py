"""Requests: what is queued, runs, and waits to be tried again. Values; nothing here decides.

They never leave the core and are made by the thousand: nobody changes one, and nothing is spent on seeing to
that.
"""

from __future__ import annotations

import enum
from typing import Any

import attrs

from gen_agent.core.signals import Tag
from gen_agent.errors import GenAgentError
from gen_agent.values import Caller, RequestRef


class Origin(enum.Enum):
    """Where a prompt came from (C194)."""

    ASK = "ask"
    TELL = "tell"
    EVENT = "event"
    SELF_CHAIN = "self_chain"


@attrs.define(slots=True, eq=False)
class Request:
    """One request under its ref. `prompt` is as queued, before `pre_turn`; `size` its payload size in bytes.

    `by` and `caller` belong to an ask, `recipient`, `fails_on_halt` and the stream fields to a tell or
    submit; the prompts an agent makes for itself have no owner at all.
    """

    ref: RequestRef
    prompt: str
    size: int
    origin: Origin
    attempt: int = 1
    by: Any = None
    caller: Caller | None = None
    recipient: Any = None
    fails_on_halt: bool = False
    stream_to: Any = None
    stream_batch: bool = False

    @property
    def owned(self) -> bool:
        """Whether a caller waits for the outcome or may poll it."""
        return self.origin is Origin.ASK or self.origin is Origin.TELL

    def retry(self, prompt: str, size: int) -> Request:
        """The next attempt under the same ref and for the same owner (C130)."""
        return attrs.evolve(self, prompt=prompt, size=size, attempt=self.attempt + 1)


@attrs.define(slots=True, eq=False)
class Slot:
    """What waits in the one reserved place ahead of the queue: a retry or a self-chain (C078, C141).

    `pacing` is the number of the deadline that a rejected generated prompt waits for, else 0 (C033).
    """

    request: Request
    pacing: int = 0


class Stage(enum.Enum):
    """How far the active turn is: given away, or in the hands of a live worker."""

    HANDED_OVER = "handed over"
    RUNNING = "running"


@attrs.define(slots=True, eq=False)
class Turn:
    """The active turn: one attempt of one request, and what may still happen to it.

    `cause` is why its worker is being killed, if it is, `interrupters` the calls that wait for that;
    `checkpoint` the accepted session id, `fault` the first refused checkpoint (C189); `admit` a submit's
    recipient whose admission leaves when the worker has the prompt (C201).
    """

    request: Request
    tag: Tag
    prompt: str
    began_s: float
    stage: Stage = Stage.HANDED_OVER
    halt_pending: bool = False
    cause: GenAgentError | None = None
    interrupters: tuple[Any, ...] = ()
    checkpoint: str | None = None
    fault: GenAgentError | None = None
    admit: Any = None
