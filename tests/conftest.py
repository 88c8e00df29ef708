"""What every test of this project gets: no leftovers, and how many examples properties are tried on."""

from __future__ import annotations

import signal

import pytest
from hypothesis import HealthCheck, settings

from gen_agent.testing.leaks import no_leftovers, private_runtime_dir
from tests.bases import BASES, OWN

pytest_plugins = ["pytester"]

__all__ = ["clean", "no_leftovers", "private_runtime_dir"]

# A suite that runs in the background was started with Ctrl-C ignored, and so would be all that it starts.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Examples run under a fixture that is right for all of them together, and on machines that are busy.
_ALLOWED = (HealthCheck.function_scoped_fixture, HealthCheck.too_slow)
_ALWAYS = {"deadline": None, "suppress_health_check": _ALLOWED}
settings.register_profile("dev", max_examples=50, **_ALWAYS)
settings.register_profile("ci", max_examples=200, derandomize=True, **_ALWAYS)
settings.register_profile("deep", max_examples=5_000, **_ALWAYS)
settings.load_profile("dev")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What runs on another base than ours is left to "tox -e matrix"."""
    others = BASES.keys() - {OWN}
    for item in items:
        given = (
            item.callspec.params.values()
            if isinstance(item, pytest.Function) and hasattr(item, "callspec")
            else ()
        )
        if any(isinstance(value, str) and value in others for value in given):
            item.add_marker(pytest.mark.other_base)


@pytest.fixture(autouse=True)
def clean(no_leftovers: None) -> None:
    """No test of this project leaves a process, zombie, port, descriptor or key file."""
