"""One system per base for all tests of the contract; each test has its own agents, stage and client."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from gen_agent import telemetry
from gen_agent.actors.system import AgentSystem
from gen_agent.backends.stage import Stage
from tests.bases import BASES, OWN
from tests.contract.stagehand import Bare, Resettable, Stagehand
from tests.contract.troupe import Troupe
from tests.rules import rules_of


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test marked `bases` is run on each base that excludes none of the rules it names, others on ours."""
    if "base" not in metafunc.fixturenames:
        return
    bases = [OWN]
    if metafunc.definition.get_closest_marker("bases"):
        named = set(rules_of(metafunc.function.__doc__ or ""))
        bases = [base for base, excluded in BASES.items() if not named & excluded.keys()]
    metafunc.parametrize("base", bases, indirect=True, scope="package")


@pytest.fixture(scope="package")
def base(request: pytest.FixtureRequest) -> str:
    """The name of the system base."""
    name: str = request.param
    return name


@pytest.fixture(scope="package")
def house(base: str, private_runtime_dir: Path) -> Iterator[AgentSystem]:
    """A running system that has forked an agent before, so that what a test finds new is the test's."""
    with AgentSystem(base) as agents:
        with agents.private() as client, Stage() as stage:
            for backend in (Stagehand, Resettable, Bare):
                Troupe(client, stage, base).start(backend=backend)
                client.stop("a")
        yield agents


@pytest.fixture
def troupe(house: AgentSystem, base: str, tmp_path: Path) -> Iterator[Troupe]:
    """A client of that system with a stage; its agents are ended with the test."""
    attached = frozenset(telemetry._handlers)
    with contextlib.ExitStack() as more, house.private() as client, Stage() as stage:
        yield Troupe(
            client, stage, base, str(tmp_path / "diary"), lambda: more.enter_context(house.private())
        )
        for name in client.list():
            with contextlib.suppress(LookupError):
                client.stop(name, timeout=20)
    # Where agents have no process of their own, their handlers are this one's.
    for handler in telemetry._handlers.keys() - attached:
        telemetry.detach(handler)
