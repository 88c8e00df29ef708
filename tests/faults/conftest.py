"""Systems for faults that a system survives: one for all tests of a file, warm, so that what a test leaves
shows.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from gen_agent.actors.processes import ProcessId, become_subreaper
from gen_agent.actors.system import AgentSystem
from gen_agent.backends.stage import Stage
from gen_agent.testing.leaks import Snapshot, leftovers
from tests.actors.agent_rig import Recorder
from tests.bases import OWN, STOCK
from tests.faults.cast import Faulty, Witness
from tests.faults.scene import kill


@pytest.fixture(scope="module", params=[OWN, pytest.param(STOCK, marks=pytest.mark.faults)])
def agents(
    request: pytest.FixtureRequest, private_runtime_dir: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[AgentSystem]:
    """A system that has a mailbox and whatever it keeps of an agent that has ended."""
    journal = tmp_path_factory.mktemp("warm") / "journal"
    with AgentSystem(request.param) as agents, Stage() as stage:
        for backend in ("echo", Faulty):
            forward = {} if backend == "echo" else {"stage": stage.address, "journal": str(journal)}
            agents.start_agent(Witness, name="victim", backend=backend, forward=forward)
            ref = agents.tell_with_completion("victim", "warm")
            assert agents.completion(ref, timeout=30).result().text.endswith("warm")
            agents.stop("victim", timeout=30)
        # The connection of this process to the admin is made, too.
        actor = agents._opened.system.createActor(Recorder)
        kill(ProcessId.of(agents._opened.system.ask(actor, "pid", 30)), signal.SIGKILL)
        agents._opened.system.listen(0.0)
        yield agents


@pytest.fixture
def no_leftovers(request: pytest.FixtureRequest, private_runtime_dir: Path) -> Iterator[None]:
    """As everywhere; but for how long the stock base keeps this process' connections is its own affair."""
    become_subreaper()
    before = Snapshot.take()
    yield
    named = leftovers(before)
    if STOCK in request.node.name:
        named = tuple(one for one in named if not one.startswith("descriptor"))
    if named:
        pytest.fail("left behind: " + "; ".join(named), pytrace=False)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The stock base leaves its sockets to the garbage collector, which complains about each."""
    ignore = pytest.mark.filterwarnings("ignore:.*socket.socket:pytest.PytestUnraisableExceptionWarning")
    for item in items:
        if item.path.parent.name == "faults" and STOCK in item.name:
            item.add_marker(ignore)
