"""A supervisor on another machine, as a script that joined from here sees it: greeted anew every second.

Nothing tells a script that another machine has vanished. The law: the supervisor is asked only while the
script waits for something, and is lost after five greetings without an answer; where its process is here,
its death is noticed otherwise and nothing is sent. This module must not know how messages travel.
"""

from __future__ import annotations

from gen_agent.actors.heartbeat import BEAT_S, Pulse
from gen_agent.client.protocol import Hello
from gen_agent.messages import Reply
from gen_agent.values import CallRef


class FarSupervisor:
    """What is known of the supervisor, on a clock that is passed in."""

    def __init__(self, now: float) -> None:
        self._pulse = Pulse()
        self._next = now + BEAT_S
        self._hello: CallRef | None = None

    def seconds(self, now: float) -> float:
        """How long it is until the next beat."""
        return max(0.0, self._next - now)

    def answered(self, message: object) -> bool:
        """Whether this is the answer to a greeting of ours."""
        if not (isinstance(message, Reply) and message.call == self._hello):
            return False
        self._pulse.heard()
        return True

    def beat(self, now: float) -> Hello | None:
        """A beat is due: the greeting to send, or None if the supervisor is lost."""
        self._next = now + BEAT_S
        if not self._pulse.beat():
            return None
        hello = Hello()
        self._hello = hello.call
        return hello
