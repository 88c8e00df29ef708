"""The breakages themselves: each can still be made, and names tests that exist."""

from __future__ import annotations

import pytest

from tests.breakage import Breakage
from tests.breakages import BREAKAGES, ROOT, misfit


@pytest.mark.parametrize("breakage", BREAKAGES, ids=lambda breakage: breakage.rule)
def test_a_breakage_can_be_made(breakage: Breakage) -> None:
    """The line to break stands in its file once, and the tests that must notice are there."""
    assert misfit(breakage, ROOT) is None
    for test in breakage.tests:
        file, _, name = test.partition("::")
        text = (ROOT / file).read_text()
        assert not name or f"def {name.partition('[')[0]}(" in text, f"there is no {test}"
