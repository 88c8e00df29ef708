"""WorkerActor: the process in which a backend runs, in its main thread, over the link alone.

The law: it is there to be killed. Thespian forks it as its agent's child; it has neither transport nor loop
of Thespian's, waits for its link and for nothing else, holds nothing open but that, dies with its agent and
by every signal, and has an alarm set by the kernel while a turn runs. It knows its agent's class only to call
the stream callback.
"""

from __future__ import annotations

import functools
import gc
import os
import signal
import socket
import sys
import time
from typing import Any, NoReturn

import attrs
from thespian.actors import Actor

from gen_agent.actors import orders
from gen_agent.actors.link import LinkClosed, WorkerEnd
from gen_agent.actors.linkframes import message_frame
from gen_agent.actors.processes import close_descriptors, die_with_parent, reset_signals
from gen_agent.actors.reporting import log_line
from gen_agent.actors.ring import Ring
from gen_agent.actors.room import with_room
from gen_agent.actors.service import Log, Seed, Service
from gen_agent.actors.shell import described
from gen_agent.actors.workerlog import log_by_itself
from gen_agent.errors import GenAgentError
from gen_agent.sealed import Sealed

BUG_EXIT = 70
"""The exit status of a worker that met a defect of ours."""

_LONGEST_ALARM_S = 1e8


@attrs.frozen(eq=False)
class Birth:
    """What a worker has from its agent: its end of the link by number, the ring, what it grows from, the
    descriptors that stay open, whose death it follows, and the transport it is not to use.
    """

    link: int
    ring: Ring | None
    seed: Seed
    keep: tuple[int, ...]
    agent_pid: int
    transport: Any


class WorkerActor(Actor):
    """One worker of one agent."""

    def receiveMessage(self, message: Any, sender: Any) -> None:
        """Nothing is ever said to a worker in this way."""

    def work(self, birth: Birth) -> NoReturn:
        """Attach to the link, and carry out orders until the end of this process."""
        end: WorkerEnd | None = None
        without_memory = message_frame(orders.Broken(MemoryError.__name__))
        try:
            end = _attach(birth)
            service = Service(birth.seed, _log_of(birth.seed))
            with_room(lambda: self._serve(end, service))
        except LinkClosed:
            os._exit(0)
        except MemoryError:
            # What there is no memory left to say was made in time.
            if end is not None:
                end.send_frame(without_memory)
        except Exception as error:
            # The agent logs what it was, sees the death, and says so to whoever waits.
            if end is not None:
                end.send(orders.Broken(described(error)))
        finally:
            os._exit(BUG_EXIT)

    def _serve(self, end: WorkerEnd, service: Service) -> NoReturn:
        """Carry out orders for as long as there is a link: this process ends with it, by a signal, or as
        ordered.
        """
        while True:
            self._carry_out(end.receive(), end, service)

    def _carry_out(self, order: Any, end: WorkerEnd, service: Service) -> None:
        if isinstance(order, orders.RunTurn):
            end.send(self._run(order, end, service))
        elif isinstance(order, orders.Boot):
            end.send(service.boot(order))
        elif isinstance(order, orders.Reset):
            end.send(service.reset(order))
        elif isinstance(order, orders.Close):
            end.send(service.close(order))
            _flush()
            os._exit(0)

    def _run(self, order: orders.RunTurn, end: WorkerEnd, service: Service) -> orders.Ended:
        def offer(session_id: Any, supported: bool, session: Sealed | None) -> GenAgentError | None:
            # Anything else than text is refused by the agent anyway, which must not open users' values.
            told = str.__str__(session_id) if isinstance(session_id, str) else None
            end.send(orders.Checkpoint(told, supported, session))
            answer: orders.CheckpointAnswer = end.receive()
            return answer.error

        listener = end.send_event if order.listening else _SignsOfLife(end, order.life_s)
        if order.limit_s is not None:
            # The default action, so that it ends C code too; only this kernel timer survives a blocked agent.
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.setitimer(signal.ITIMER_REAL, min(order.limit_s, _LONGEST_ALARM_S))
        try:
            return service.run(order, listener, offer)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            _flush()


class _SignsOfLife:
    """Events that nobody listens to: told as `Alive`, now and then, where an idle watchdog needs it."""

    def __init__(self, end: WorkerEnd, every_s: float | None) -> None:
        self._end, self._every_s, self._next = end, every_s, 0.0

    def __call__(self, body: bytes) -> None:
        if self._every_s is not None and time.monotonic() >= self._next:
            self._next = time.monotonic() + self._every_s
            self._end.send(orders.Alive())


def _attach(birth: Birth) -> WorkerEnd:
    """Become a process of its own, which has nothing of its agent's but the link."""
    die_with_parent(signal.SIGKILL, birth.agent_pid)
    # Whatever the agent had will be neither collected nor closed here a second time.
    gc.freeze()
    reset_signals()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    log_by_itself(birth.transport)
    close_descriptors({birth.link, *birth.keep})
    end = WorkerEnd(socket.socket(fileno=birth.link), birth.ring)
    _write_lines_at_once()
    end.send(orders.Attached())
    return end


def _log_of(seed: Seed) -> Log:
    return functools.partial(log_line, "gen_agent.worker", seed.name, seed.agent.__module__)


def _write_lines_at_once() -> None:
    # A killed worker flushes nothing: what a backend prints should be there.
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(line_buffering=True)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            # Closed or redirected by the backend: its own affair.
            continue
