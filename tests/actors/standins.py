"""A supervisor and an agent that do just enough to see what a guardian does to them."""

from __future__ import annotations

import os
import signal
import subprocess
from typing import Any

from thespian.actors import Actor, ActorExitRequest

from gen_agent.actors.processes import die_with_parent
from gen_agent.client.protocol import Shutdown

SUPERVISOR = "tests.actors.standins.StandInSupervisor"
DEAF_SUPERVISOR = "tests.actors.standins.DeafSupervisor"


class StandInSupervisor(Actor):
    """Ends when asked to; makes an agent with a tool, told by a word."""

    def receiveMessage(self, message: Any, sender: Any) -> None:
        """React to what the tests send."""
        if isinstance(message, Shutdown):
            self.shut_down()
        elif message == "capabilities":
            self.send(sender, dict(self._myRef.capabilities))
        elif isinstance(message, tuple):
            self.send(self.createActor(StandInAgent), (*message, sender))

    def shut_down(self) -> None:
        """End, and leave a mark that it was orderly."""
        mark = os.environ.get("STAND_IN_MARK")
        if mark:
            with open(mark, "w") as file:
                file.write("orderly")
        self.send(self.myAddress, ActorExitRequest())


class DeafSupervisor(StandInSupervisor):
    """Does not end when asked to."""

    def shut_down(self) -> None:
        """Do nothing."""


class StandInAgent(Actor):
    """Has a tool in a session of its own; on the death of its parent it leaves a mark, if it is told
    where."""

    def receiveMessage(self, message: Any, sender: Any) -> None:
        """Begin: `("begin", where to leave the mark or None, to whom to answer)`."""
        if not isinstance(message, tuple):
            return
        _, mark, asker = message
        tool = subprocess.Popen(["sleep", "600"], start_new_session=True)
        if mark is not None:
            self.leave_mark_at_the_end(mark, tool)
        self.send(asker, (os.getpid(), tool.pid))

    def leave_mark_at_the_end(self, mark: str, tool: subprocess.Popen[bytes]) -> None:
        """Take the parent's death as a reason to end in an orderly way."""

        def end(*_: object) -> None:
            tool.kill()
            with open(mark, "w") as file:
                file.write("finished")
            os._exit(0)

        signal.signal(signal.SIGTERM, end)
        die_with_parent(signal.SIGTERM, os.getppid())
