"""Real processes for tests: run something in a fork, a worker that is stuck with tools that left its tree."""

from __future__ import annotations

import contextlib
import ctypes
import os
import pickle
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from gen_agent.actors.processes import ProcessId, Watched


def in_fork(work: Callable[..., Any], *arguments: Any) -> Any:
    """Run `work` in a forked process of its own and return what it returned; fails with its traceback."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            answer = (True, work(*arguments))
        except BaseException:
            answer = (False, traceback.format_exc())
        with os.fdopen(write, "wb") as pipe:
            pickle.dump(answer, pipe)
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        data = pipe.read()
    os.waitpid(pid, 0)
    assert data, "the forked process died"
    worked, value = pickle.loads(data)
    assert worked, value
    return value


@contextlib.contextmanager
def forked(work: Callable[[int], Any]) -> Iterator[tuple[Watched, Any]]:
    """A forked process that runs `work(pipe)`; gives its watch and the one value it pickled into the pipe."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        with contextlib.suppress(BaseException):
            work(write)
        os._exit(99)
    os.close(write)
    with os.fdopen(read, "rb") as pipe, Watched(pid) as watched:
        try:
            yield watched, pickle.load(pipe)
        finally:
            watched.signal(signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)


def say(pipe: int, value: Any) -> None:
    """Write one pickled value, small enough to go in one piece."""
    os.write(pipe, pickle.dumps(value))


def rest() -> NoReturn:
    """Wait until killed."""
    while True:
        signal.pause()


def sleeper(*, session: bool = False) -> subprocess.Popen[bytes]:
    """A tool: a child that sleeps, on request in a session of its own."""
    return subprocess.Popen(["sleep", "600"], start_new_session=session)


def daemon() -> int:
    """A tool that leaves the tree of its starter: own session, forked twice, its parent gone. Returns its
    pid."""
    read, write = os.pipe()
    between = os.fork()
    if between == 0:
        os.setsid()
        pid = os.fork()
        if pid == 0:
            os.close(read)
            os.close(write)
            rest()
        os.write(write, str(pid).encode())
        os._exit(0)
    os.close(write)
    pid = int(os.read(read, 20))
    os.close(read)
    os.waitpid(between, 0)
    return pid


def handle_all_signals() -> None:
    """Put a Python handler on every signal that takes one, as Thespian does in an actor."""
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGPIPE}:
        with contextlib.suppress(OSError, ValueError):
            signal.signal(number, lambda *_: None)


def hold_the_gil() -> None:
    """Sleep in C without letting any other Python code run."""
    ctypes.PyDLL(None).sleep(600)


def crash() -> None:
    """Read address 0."""
    ctypes.string_at(0)


STUCK: dict[str, Callable[[], object]] = {
    "in C, holding the GIL": hold_the_gil,
    "in time.sleep": lambda: time.sleep(600),
    "in a segfault under Python handlers": crash,
}


def worker_with_tools(how: str) -> Callable[[int], None]:
    """A worker that starts tools of every kind, says all their identities, and gets stuck."""

    def work(pipe: int) -> None:
        handle_all_signals()
        tools = [sleeper().pid, sleeper(session=True).pid, daemon()]
        shell = subprocess.Popen(["sh", "-c", "sleep 600 & sleep 600 & wait"], start_new_session=True)
        say(pipe, [ProcessId.of(pid) for pid in (*tools, shell.pid)])
        STUCK[how]()

    return work


def python(*arguments: str, **options: Any) -> subprocess.Popen[Any]:
    """A Python process of its own, found by this interpreter, with its output in pipes."""
    return subprocess.Popen([sys.executable, *arguments], stdout=subprocess.PIPE, **options)
