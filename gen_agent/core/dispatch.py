"""From idle to a turn: what is next, `pre_turn`, handing the prompt to a worker (C026-C034, C078, C079)."""

from __future__ import annotations

from gen_agent.agent import Halt, Proceed
from gen_agent.core import report
from gen_agent.core.deadlines import limit_turn
from gen_agent.core.delivery import left, settle
from gen_agent.core.generated import reconsider, unpace
from gen_agent.core.halting import enter_halted
from gen_agent.core.hooks import Failure
from gen_agent.core.model import Model, State
from gen_agent.core.requests import Request, Turn
from gen_agent.core.signals import StartTurn, Tag
from gen_agent.errors import (
    GenAgentError,
    PreTurnCrashed,
    PreTurnHalted,
    PreTurnInvalid,
    PreTurnSkipped,
    Unpicklable,
)
from gen_agent.sealed import Sealed


def serve(m: Model) -> None:
    """Start the next work: the slot, then the head of the queue; a rejected one lets the next be tried."""
    unpace(m)
    while m.state is State.IDLE:
        request = _next(m)
        if request is None:
            return
        dispatch(m, request)


def _next(m: Model) -> Request | None:
    if m.slot is not None and not m.slot.pacing:
        request, m.slot = m.slot.request, None
        return request
    return left(m, m.prompts.pop()) if len(m.prompts) else None


def dispatch(m: Model, request: Request) -> None:
    """Run `pre_turn` on an idle agent's prompt and start the turn, or end the request as `pre_turn` said."""
    gate = m.hooks.call("pre_turn", request.prompt, m.agent_state)
    if isinstance(gate, Failure):
        m.log("error", str(gate))
        _reject(m, request, _failed(gate, request))
        return
    m.agent_state = gate.state
    if isinstance(gate, Proceed):
        _start(m, request, gate.prompt)
    elif isinstance(gate, Halt):
        settle(m, request, PreTurnHalted())
        enter_halted(m)
    else:
        _reject(m, request, PreTurnSkipped())


def _failed(gate: Failure, request: Request) -> GenAgentError:
    if gate.kind == "bad_return":
        return PreTurnInvalid()
    # A caller learns that its prompt was not run, not what the agent's code stumbled over (C034).
    return PreTurnSkipped() if request.owned else PreTurnCrashed(gate.name)


def _reject(m: Model, request: Request, error: GenAgentError) -> None:
    if request.owned:
        settle(m, request, error)
        return
    report.prompt_error(m, request.ref, request.attempt, error)
    report.rejected(m, request, error)
    if reconsider(m, request.ref, error, paced=True):
        enter_halted(m)


def _start(m: Model, request: Request, prompt: str) -> None:
    try:
        state = Sealed.of(m.agent_state, "state") if m.streams else None
    except Unpicklable as error:
        _reject(m, request, error)
        return
    m.turns += 1
    tag = Tag(request.ref, request.attempt, m.turns)
    m.turn = Turn(request, tag, prompt, m.now)
    m.state = State.PROCESSING
    report.phase(m, "idle", "processing")
    m.out.append(StartTurn(tag, prompt, m.opened_session, m.session_version, state))
    limit_turn(m, m.turn)
