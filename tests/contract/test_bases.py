"""What a base excludes is a rule, and is excluded once, and a test marked `bases` is run on the others."""

from __future__ import annotations

import pytest

from tests import bases
from tests.bases import BASES, OWN, SIMPLE
from tests.rules import ALL


def test_what_is_excluded_are_rules() -> None:
    """Our base excludes nothing; what the others do exists, with one reason."""
    assert BASES[OWN] == {}
    for excluded in BASES.values():
        assert excluded.keys() <= set(ALL)
        assert all(excluded.values())
    listed = [rule for rules in bases._WITHOUT_PROCESSES.values() for rule in rules.split()]
    assert len(listed) == len(BASES[SIMPLE])


@pytest.mark.bases
def test_a_marked_test_runs_where_its_rules_hold(base: str) -> None:
    """C001: what names rules of every base is run on every base."""
    assert base in BASES


@pytest.mark.bases
def test_a_marked_test_is_left_out_where_they_do_not(base: str) -> None:
    """C183: what needs a watchdog is not run where there is none."""
    assert "C183" not in BASES[base]
