"""WorkerActor: the process in which a backend runs, in its main thread, over the link alone.

The law: it is there to be killed. Once attached it waits for its link and for nothing else, Thespian's loop
included, holds nothing open but that, dies with its agent and by every signal, and has an alarm set by the
kernel while a turn runs. It knows its agent's class only to call the stream callback.
"""

from __future__ import annotations

import functools
import os
import signal
import socket
import sys
import time
from typing import Any, NoReturn

from thespian.actors import ActorExitRequest

from gen_agent.actors import orders
from gen_agent.actors.children import transport_descriptors
from gen_agent.actors.internal import Attach
from gen_agent.actors.link import LinkClosed, WorkerEnd
from gen_agent.actors.processes import close_descriptors, die_with_parent, reset_signals
from gen_agent.actors.reporting import log_line
from gen_agent.actors.service import Seed, Service
from gen_agent.actors.shell import Shell, described
from gen_agent.actors.stock import send_without_loop
from gen_agent.errors import GenAgentError
from gen_agent.sealed import Sealed

BUG_EXIT = 70
"""The exit status of a worker that met a defect of ours."""

_LONGEST_ALARM_S = 1e8

_seeds: dict[int, Seed] = {}


def plant(link: int, seed: Seed | None) -> None:
    """Put down what the worker forked next grows from, under its end of the link; None takes it away."""
    if seed is None:
        _seeds.pop(link, None)
    else:
        _seeds[link] = seed


class WorkerActor(Shell):
    """One worker of one agent."""

    def __init__(self) -> None:
        super().__init__()
        self._end: WorkerEnd | None = None

    def handle(self, message: Any, sender: Any) -> None:
        """Attach to the link; nothing else is ever said to a worker but to exit."""
        if isinstance(message, Attach) and self._end is None:
            self._attach(message)
        elif isinstance(message, ActorExitRequest):
            os._exit(0)

    def on_bug(self, error: Exception) -> None:
        """End: the agent logs what it was, sees the death, and says so to whoever waits."""
        if isinstance(error, LinkClosed):
            os._exit(0)
        try:
            if self._end is not None:
                self._end.send(orders.Broken(described(error)))
        finally:
            os._exit(BUG_EXIT)

    def _attach(self, message: Attach) -> None:
        die_with_parent(signal.SIGKILL, message.agent_pid)
        reset_signals()
        seed = _seeds.pop(message.link)
        close_descriptors({message.link, *message.keep, *transport_descriptors(self)})
        end = self._end = WorkerEnd(socket.socket(fileno=message.link))
        log = functools.partial(log_line, "gen_agent.worker", seed.name, seed.agent.__module__)
        _write_lines_at_once()
        send_without_loop(self._myRef.transport)
        end.send(orders.Attached())
        self._serve(end, Service(seed, log))

    def _serve(self, end: WorkerEnd, service: Service) -> NoReturn:
        """Carry out orders for as long as there is a link. What Thespian could still say is of no use: this
        process ends with its link, by a signal, or as ordered.
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
