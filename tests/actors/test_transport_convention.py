"""Two systems on our base with one key form a convention."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from thespian.actors import Actor, ActorAddress, ActorSystem, ChildActorExited, requireCapability

from gen_agent.actors.base import GenAgentBase
from gen_agent.actors.keys import new_key
from gen_agent.actors.processes import become_subreaper, children, kill_children
from gen_agent.actors.sockets import listener
from gen_agent.actors.transport import transport_class
from tests.actors.transport_system import QUIET, wait_until


@requireCapability("place", "away")
class Distant(Actor):
    """Runs in the other system only."""

    def receiveMessage(self, message: Any, sender: ActorAddress) -> None:
        """Tell the process."""
        if message == "pid":
            self.send(sender, os.getpid())


class Boss(Actor):
    """Makes an actor in the other system and tells of its end."""

    def receiveMessage(self, message: Any, sender: ActorAddress) -> None:
        """Do what a message says."""
        match message:
            case "make":
                self.asker = sender
                self.send(self.createActor(Distant), "pid")
            case "end":
                self.asker = sender
            case int():
                self.send(self.asker, message)
            case ChildActorExited():
                self.send(self.asker, "ended")


@pytest.fixture
def systems() -> Iterator[tuple[ActorSystem, ActorSystem]]:
    """Two systems of this process with one key, the first one leading."""
    become_subreaper()
    before = children(os.getpid())
    key, leader, made = new_key(), 0, []
    try:
        for place in ("here", "away"):
            admin = listener("127.0.0.1", 0)
            port = admin.getsockname()[1]
            leader = leader or port
            kind = transport_class(key, admin_socket=admin, guardian_pid=os.getpid())
            capabilities = {
                "Admin Port": port,
                "Convention Address.IPv4": ("127.0.0.1", leader),
                "place": place,
            }
            made.append(
                ActorSystem(GenAgentBase(kind, capabilities, QUIET, start_admin=True), transientUnique=True)
            )
            admin.close()
        yield made[0], made[1]
        for system in reversed(made):
            system.shutdown()
    finally:
        assert kill_children(keep=before) == ()


def test_convention(systems: tuple[ActorSystem, ActorSystem]) -> None:
    """An actor is made in the system that can have it, answers across, and its death is told across."""
    boss = systems[0].createActor(Boss)
    answers: list[Any] = []

    def made() -> bool:
        answers.append(systems[0].ask(boss, "make", 1))
        return isinstance(answers[-1], int)

    wait_until(made, 20)
    systems[0].tell(boss, "end")
    os.kill(answers[-1], 9)
    assert systems[0].listen(10) == "ended"
