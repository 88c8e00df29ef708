"""Every way a worker can fail its agent, with work in flight and queued: the turn has its one error, what
waited runs, the agent lives on, and nothing is left.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import attrs
import pytest

from gen_agent import Interrupted, Unpicklable, WatchdogTimeout, WorkerCrashed
from gen_agent.actors.system import AgentSystem
from gen_agent.errors import GenAgentError
from tests.faults.scene import QUEUED, Scene, gone, kill, scene


def interrupt(scene: Scene) -> None:
    """Interrupt exactly the held turn."""
    assert scene.agents.interrupt_request(scene.address, scene.refs["first"], timeout=20) == "accepted"
    assert not scene.worker.alive()


def kill_worker(scene: Scene) -> None:
    """End the worker as the kernel does when there is no memory left."""
    kill(scene.worker, signal.SIGKILL)


def stop_and_interrupt(scene: Scene) -> None:
    """The worker is stopped while its answer becomes due, and killed so."""
    scene.worker.signal(signal.SIGSTOP)
    scene.release()
    interrupt(scene)


def release(scene: Scene) -> None:
    """Let the fault happen that the prompt asks for."""
    scene.release()


def terminate(scene: Scene) -> None:
    """SIGTERM to one that ignores it, and then the watchdog."""
    scene.release()
    scene.stage.wait_blocked("deaf")
    scene.worker.signal(signal.SIGTERM)
    assert scene.worker.alive()


def wait_in(tag: str) -> Callable[[Scene], None]:
    """Let the turn go on to another gate, then interrupt it there."""

    def act(scene: Scene) -> None:
        scene.release()
        scene.stage.wait_blocked(tag)
        interrupt(scene)

    return act


@attrs.frozen
class Fault:
    """What the held turn does next, what is done to it, and its one outcome; `options` are the agent's."""

    name: str
    words: str
    act: Callable[[Scene], None]
    outcome: GenAgentError | str
    options: dict[str, object] = attrs.field(factory=dict)


CRASHED = WorkerCrashed
FAULTS = (
    Fault("killed in the prompt", "", kill_worker, CRASHED("SIGKILL")),
    Fault("killed in the stream", "text:a kill:SIGKILL", release, CRASHED("SIGKILL")),
    Fault("killed after many events", "flood:5000 kill:SIGKILL", release, CRASHED("SIGKILL")),
    Fault("exits normally without a result", "text:a exit:0", release, CRASHED(0)),
    Fault("exits with a status", "exit:7", release, CRASHED(7)),
    Fault("segfault", "kill:SIGSEGV", release, CRASHED("SIGSEGV")),
    Fault("terminated", "kill:SIGTERM", release, CRASHED("SIGTERM")),
    Fault("interrupted", "", interrupt, Interrupted()),
    Fault("interrupted in the stream", "text:a hold:there", wait_in("there"), Interrupted()),
    Fault("interrupted while deaf to signals", "deaf hold:deaf", wait_in("deaf"), Interrupted()),
    Fault("answers after its kill", "", stop_and_interrupt, Interrupted()),
    Fault("leaves a ghost that answers", "ghost", release, CRASHED(0)),
    Fault("ignores SIGTERM", "deaf hold:deaf", terminate, WatchdogTimeout(2.0), {"watchdog_s": 2.0}),
    Fault("interrupted with tools running", "tools:{tools} hold:there", wait_in("there"), Interrupted()),
    Fault("killed with tools running", "tools:{tools} kill:SIGKILL", release, CRASHED("SIGKILL")),
    Fault("exits with tools running", "tools:{tools} exit:0", release, CRASHED(0)),
    Fault("loses its link", "unlink hold:there", release, CRASHED("no answer")),
    Fault("says what is no frame", "lie hold:there", release, CRASHED("garbage on its link")),
    Fault("wants more memory than there is", "text:a want", release, CRASHED("MemoryError")),
    Fault("has no memory left at all", "text:a hoard", release, CRASHED("MemoryError")),
    Fault("raises", "raise:plain", release, CRASHED("ValueError")),
    Fault("raises what can't be pickled", "raise:unpicklable", release, CRASHED("RefusesPickle")),
    Fault("raises what can't be opened", "raise:unopenable", release, CRASHED("RefusesOpening")),
    Fault("raises no Exception", "raise:group", release, CRASHED("BaseException")),
    Fault("exits by exception", "raise:exit", release, CRASHED("SystemExit")),
    Fault("gives None", "garbage:none", release, CRASHED("TypeError")),
    Fault("gives a mapping", "text:a garbage:mapping", release, CRASHED("TypeError")),
    Fault("gives a class", "garbage:class", release, CRASHED("TypeError")),
    Fault("gives what can't be pickled", "garbage:unpicklable", release, Unpicklable("event", "Event")),
)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_of_the_worker_costs_one_turn(fault: Fault, agents: AgentSystem, tmp_path: Path) -> None:
    """C037, C095: the turn ends with exactly one error, everything queued runs, the agent answers."""
    tools = tmp_path / "tools"
    with scene(agents, tmp_path, fault.words.format(tools=tools), **fault.options) as there:
        fault.act(there)
        outcomes = there.outcomes()
        assert outcomes == {"first": fault.outcome, **{name: name for name in QUEUED}}
        if "{tools}" in fault.words:
            gone(tools)
        there.end_alive()
