"""The agent and the backend that faults are made with: importable by the processes they run in.

A prompt is a name and then words, each a step of its turn. The journal, a file, gets the name of every prompt
whose turn begins, before anything else happens: what stands there twice was run twice.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import socket
import stat
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from gen_agent import Agent, NoReply
from gen_agent.backend import Backend, Turn
from gen_agent.backends.stage import StageAddress
from gen_agent.events import Event

GATE_S = 60.0
"""How long a turn is held at most; a test that needs it is over or has failed long before."""


def append(path: str, line: object) -> None:
    """Add a line to a file in one write, which is whole whoever dies meanwhile."""
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(file, f"{line}\n".encode())
    finally:
        os.close(file)


def lines(path: str) -> list[str]:
    """The lines of such a file so far."""
    try:
        with open(path) as file:
            return file.read().splitlines()
    except FileNotFoundError:
        return []  # nothing was written yet


class Witness(Agent):
    """Keeps the names of what it has answered, and the codes of what failed; the mark is its last word."""

    def init_agent(self, options: Any) -> Any:
        self.mark = options.get("mark")
        return options["forward"], ((), ())

    def handle_response(self, ref: Any, response: Any, state: Any) -> Any:
        answered, failed = state
        return NoReply(((*answered, response.text), failed))

    def handle_error(self, ref: Any, error: Any, state: Any) -> Any:
        answered, failed = state
        return NoReply((answered, (*failed, error.code)))

    def handle_info(self, message: Any, sender: Any, state: Any) -> Any:
        answered, failed = state
        return NoReply((answered, (*failed, type(message).__name__)))

    def handle_event(self, event: Any, state: Any) -> Any:
        if event == "raise":
            raise ValueError("secret")
        if isinstance(event, tuple) and event[0] == "hold":
            event[1].wait_at(event[2], GATE_S)
        return NoReply(state)

    def terminate_agent(self, reason: str, state: Any) -> None:
        if self.mark:
            append(self.mark, reason)


class Forgetful(Witness):
    """Keeps nothing, so that what grows is ours."""

    def handle_response(self, ref: Any, response: Any, state: Any) -> Any:
        return NoReply(state)

    def handle_error(self, ref: Any, error: Any, state: Any) -> Any:
        return NoReply(state)


class Unruly(Witness):
    """Ends with the first answer of its backend."""

    def handle_response(self, ref: Any, response: Any, state: Any) -> Any:
        raise ValueError("secret")


def no_more_memory() -> None:
    """Have this process get hardly more memory than it has."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + (8 << 20), hard))


class Hungry(Witness):
    """Wants more memory than there is."""

    def handle_response(self, ref: Any, response: Any, state: Any) -> Any:
        no_more_memory()
        return NoReply((state, bytearray(1 << 30)))


class Echoing(Witness):
    """Sends every number it is notified of back, to whom it is told."""

    def handle_event(self, event: Any, state: Any) -> Any:
        number, to = event
        self.context.send(to, ("back", number))
        return NoReply(state)


class NeverRuns(Witness):
    """Fails in `pre_run`: what is raised is chosen by the option `fails`."""

    def init_agent(self, options: Any) -> Any:
        self.fails = options["fails"]
        self.gate = options["gate"]
        return super().init_agent(options)

    def pre_run(self, state: Any) -> Any:
        self.gate.wait_at("pre_run", GATE_S)
        if self.fails is None:
            return None
        raise self.fails


class RefusesPickle(Exception):
    """An exception that can't leave its process."""

    def __reduce__(self) -> Any:
        raise TypeError("not me")


class RefusesOpening(Exception):
    """An exception that leaves its process and can't be opened in any other."""

    def __reduce__(self) -> Any:
        return _explode, (os.getpid(),)


def _explode(pid: int) -> Any:
    if os.getpid() != pid:
        raise ValueError("not here")
    return None


class Faulty(Backend):
    """Does what the words of a prompt say, then answers with its name; a session counts its turns."""

    def __init__(self, stage: StageAddress, journal: str, start: str | None = None) -> None:
        self._stage, self._journal = stage, journal
        if start is not None and os.path.exists(start):
            stage.wait_at("building", GATE_S)

    def start_session(self) -> Any:
        return 0

    def prompt(self, session: Any, prompt: str, turn: Turn) -> Iterable[Event]:
        name, *words = prompt.split()
        append(self._journal, name)
        turn.session = session + 1
        for word in words:
            yield from self._step(*word.partition(":")[::2])
        yield Event.result(name, turns=turn.session, pid=os.getpid())

    def _step(self, verb: str, argument: str) -> Iterator[Any]:
        if verb == "hold":
            self._stage.wait_at(argument, GATE_S)
        elif verb == "text":
            yield Event.text(argument)
        elif verb == "flood":
            count, _, size = argument.partition("x")
            yield from (Event.text("x" * int(size or 1)) for _ in range(int(count)))
        elif verb == "garbage":
            yield GARBAGE[argument]()
        elif verb == "tools":
            append(argument, " ".join(map(str, tools())))
        else:
            STEPS[verb](argument)


def tools() -> list[int]:
    """What a backend may leave running: a child, one that has left its session, and a daemon."""
    child = subprocess.Popen(["sleep", "600"])
    own_session = subprocess.Popen(["sleep", "600"], start_new_session=True)
    command = "setsid sh -c 'trap \"\" TERM; echo $$; while :; do sleep 600; done' & exit 0"
    with subprocess.Popen(["sh", "-c", command], stdout=subprocess.PIPE, text=True) as daemon:
        assert daemon.stdout is not None
        return [child.pid, own_session.pid, int(daemon.stdout.readline())]


def _ignore_termination(_: str) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM):
        signal.signal(number, signal.SIG_IGN)


def _links() -> list[int]:
    """The unnamed sockets of this process: the link to its agent is one."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            if stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                with socket.socket(fileno=os.dup(int(name))) as one:
                    if one.family == socket.AF_UNIX:
                        found.append(int(name))
        except OSError:
            continue  # the listing's own descriptor, closed again
    return found


def _lie(_: str) -> None:
    """Write into the link what is no frame of ours."""
    for descriptor in _links():
        os.write(descriptor, b"rubbish" * 100)


def _answer_after_death(_: str) -> None:
    """Die, leaving a child with the link, which says something when this process has gone."""
    parent = os.getpid()
    if os.fork() == 0:
        os.setsid()
        while os.getppid() == parent:
            time.sleep(0.001)
        _lie("")
        os._exit(0)
    os._exit(0)


def _want_memory(_: str) -> None:
    """Ask for more memory than there is."""
    no_more_memory()
    bytearray(1 << 30)


def _hoard_memory(_: str) -> None:
    """Take what memory there is, to the last piece, and keep it."""
    no_more_memory()
    for size in (1 << 20, 1 << 16, 1 << 12, 512, 32):
        with contextlib.suppress(MemoryError):
            while True:
                _HOARD.append(bytes(size))


_HOARD: list[bytes] = []


def _raise(error: BaseException) -> None:
    raise error


STEPS: dict[str, Callable[[str], None]] = {
    "pause": lambda seconds: time.sleep(float(seconds)),
    "exit": lambda status: os._exit(int(status)),
    "kill": lambda name: os.kill(os.getpid(), getattr(signal, name)),
    "deaf": _ignore_termination,
    "unlink": lambda _: os.closerange(3, 4096),
    "lie": _lie,
    "want": _want_memory,
    "hoard": _hoard_memory,
    "ghost": _answer_after_death,
    "raise": lambda name: _raise(ERRORS[name]()),
}
"""What a word does, besides those that give events or wait."""

ERRORS: dict[str, Callable[[], BaseException]] = {
    "plain": lambda: ValueError("secret"),
    "exit": lambda: SystemExit(3),
    "ctrl-c": KeyboardInterrupt,
    "unpicklable": lambda: RefusesPickle("secret"),
    "unopenable": lambda: RefusesOpening("secret"),
    "group": lambda: BaseException("secret"),
    "deep": RecursionError,
}
"""What a backend may raise."""

GARBAGE: dict[str, Callable[[], Any]] = {
    "none": lambda: None,
    "number": lambda: 42,
    "mapping": lambda: {"kind": "result", "data": {}},
    "class": lambda: Event,
    "unpicklable": lambda: Event.text("x", function=lambda: None),
    "unopenable": lambda: Event.result("x", value=RefusesOpening()),
}
"""What a backend may give that is no event, or none that can travel."""
