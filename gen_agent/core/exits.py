"""How an agent ends: answers, exit, `terminate_agent`, the session, telemetry, quit (C047-C049, C248)."""

from __future__ import annotations

import attrs

from gen_agent.core import report
from gen_agent.core.callbacks import announce
from gen_agent.core.deadlines import clear_deadlines
from gen_agent.core.model import Closed, Ending, Model, State
from gen_agent.core.requests import Origin, Request, Stage
from gen_agent.core.signals import (
    Answer,
    CloseSession,
    Closing,
    Crashed,
    DrainAsked,
    Exit,
    Quit,
    SessionClosed,
    StopAsked,
)
from gen_agent.errors import AgentTerminated

ORDERLY = frozenset({"normal", "shutdown"})
"""Reasons for which waiting asks get an answer; for all others their callers see the agent die (C109)."""


def stop(m: Model, reason: str, detail: tuple[str, ...] = ()) -> None:
    """End the agent: answer waiting asks if this is orderly, then exit; the active turn dies first."""
    if reason in ORDERLY:
        _answer_asks(m, reason)
    turn = m.turn
    if turn is not None:
        clear_deadlines(m, turn)
    m.state = State.STOPPED
    m.ending = Ending(reason, detail, drained=m.drained if reason == "normal" else ())
    m.out.append(Exit(reason, detail, turn.tag if turn is not None else None))


def end(m: Model, event: StopAsked) -> None:
    """The supervisor, or the loss of it, ends the agent (C014, C071)."""
    stop(m, event.reason)


def crashed(m: Model, event: Crashed) -> None:
    """A step raised: none of its effects happened, and the agent ends."""
    m.log("error", f"a step raised {event.name}")
    stop(m, "callback_failed", ("error", event.name))


def closing(m: Model, event: Closing) -> None:
    """The worker of the active turn is gone: `terminate_agent`, then the session (C047, C049)."""
    ending = m.ending
    if ending is None or ending.closed is not Closed.NOTHING:
        return
    m.ending = attrs.evolve(ending, closed=Closed.AGENT)
    _report_cut_turn(m, ending.reason)
    if m.session is None:
        _quit(m, ending)
        return
    announce(m, "terminate_agent", ending.reason)
    m.out.append(CloseSession(m.session, m.session_version))


def session_closed(m: Model, event: SessionClosed) -> None:
    """The session is closed, as well as it could be (C048)."""
    if m.ending is None or m.ending.closed is not Closed.AGENT:
        return
    if event.error_class is not None:
        m.log("error", f"terminate_session raised {event.error_class}")
    report.terminated(m, m.ending.reason)
    _quit(m, m.ending)


def crashed_again(m: Model, event: Crashed) -> None:
    """Even the end failed: nothing is left to be tried."""
    m.log("error", f"a step raised {event.name} while the agent was ending")
    if m.ending is not None and m.ending.closed is not Closed.SESSION:
        _quit(m, m.ending)


def drain_ending(m: Model, event: DrainAsked) -> None:
    """A drain that comes while the drained agent ends waits for the same end (C214)."""
    ending = m.ending
    if ending is not None and ending.reason == "normal" and ending.closed is not Closed.SESSION:
        m.ending = attrs.evolve(ending, drained=(*ending.drained, event.by))


def _answer_asks(m: Model, reason: str) -> None:
    waiting: list[Request] = [m.turn.request] if m.turn is not None else []
    if m.slot is not None:
        waiting.append(m.slot.request)
    waiting.extend(m.prompts)
    m.out.extend(
        Answer(request.by, error=AgentTerminated(reason))
        for request in waiting
        if request.origin is Origin.ASK
    )


def _report_cut_turn(m: Model, reason: str) -> None:
    turn = m.turn
    if turn is not None and turn.stage is Stage.RUNNING:
        report.failed(m, turn.request, AgentTerminated(reason), m.now - turn.began_s)


def _quit(m: Model, ending: Ending) -> None:
    drained = m.ending.drained if m.ending is not None else ending.drained
    m.ending = attrs.evolve(ending, closed=Closed.SESSION, drained=drained)
    m.out.append(Quit(ending.reason, ending.detail, drained))
