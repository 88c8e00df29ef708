"""Asking a running system who it is, from outside.

The law: asking changes nothing; above all it makes no supervisor where there is none. Every question is
bounded. This module must not know agents.
"""

from __future__ import annotations

from typing import Any

import attrs
from thespian.actors import ActorSystemException, InvalidActorAddress
from thespian.system.messages.status import Thespian_StatusReq

from gen_agent.actors.base import GenAgentBase
from gen_agent.actors.keys import read_key
from gen_agent.actors.system_files import SystemPlace
from gen_agent.actors.transport import transport_class
from gen_agent.client.protocol import SUPERVISOR, VERSION_CAPABILITY, ListNames
from gen_agent.envelopes import VERSION
from gen_agent.messages import Reply
from gen_agent.values import Name

ANSWER_S = 3.0
"""How long an admin or a supervisor has to answer, in seconds."""


@attrs.frozen
class SystemAnswer:
    """What a system says of itself: the version of its messages, and the names of its agents.

    `agents` is () where it has no supervisor, and None where that one, or the whole system, does not answer;
    `silence` says why, in a few words.
    """

    version: int | None = None
    agents: tuple[Name, ...] | None = None
    silence: str = ""


def inquire(place: SystemPlace) -> SystemAnswer:
    """Ask the system; what hinders is told by the answer, nothing is raised."""
    try:
        key = read_key(place.port, place.key_file)
        transport = transport_class(key, bind_host=place.host(), die_with_parent=False)
    except (OSError, ValueError):
        return SystemAnswer(silence="its files are gone or no longer private")
    try:
        base = GenAgentBase(transport, {"Admin Port": place.port}, start_admin=False)
    except InvalidActorAddress:
        return SystemAnswer(silence="its admin does not answer")
    try:
        return _answer(base)
    except ActorSystemException as failure:
        return SystemAnswer(silence=type(failure).__name__)
    finally:
        base.transport.close()


def _answer(base: GenAgentBase) -> SystemAnswer:
    status = base.ask(base.adminAddr, Thespian_StatusReq(), ANSWER_S)
    if status is None:
        return SystemAnswer(silence="its admin does not answer")
    version: int | None = status.capabilities.get(VERSION_CAPABILITY)
    if version != VERSION:
        return SystemAnswer(version, silence=f"not asked further: this gen_agent speaks version {VERSION}")
    supervisor = status.globalActors.get(SUPERVISOR)
    if supervisor is None:
        return SystemAnswer(version, ())
    agents = _names(base, supervisor)
    return SystemAnswer(version, agents, "" if agents is not None else "its supervisor does not answer")


def _names(base: GenAgentBase, supervisor: Any) -> tuple[Name, ...] | None:
    question = ListNames()
    reply = base.ask(supervisor, question, ANSWER_S)
    if isinstance(reply, Reply) and reply.call == question.call and reply.error is None:
        return tuple(reply.value)
    return None
