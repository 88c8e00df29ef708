"""The measurements' own arithmetic; what they measure is for `tox -e bench`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.benchmarks.measuring import FULL, Row, at_least, at_most, by_turns

pytest.importorskip("rich")

from tests.benchmarks import table  # noqa: E402


@pytest.mark.parametrize(
    ("row", "met"),
    [
        (Row("a", "/s", 100.0, 200.0, at_least(2.0)), True),
        (Row("a", "/s", 100.0, 199.0, at_least(2.0)), False),
        (Row("a", "ms", 10.0, 12.0, at_most(1.2)), True),
        (Row("a", "ms", 10.0, 12.1, at_most(1.2)), False),
        (Row("a", "ms", None, 60.0, at_most(60.0, "ours")), True),
        (Row("a", "ms", 10.0, 25.1, at_most(15.0, "difference")), False),
        (Row("a", "ms", 10.0, 24.9, at_most(15.0, "difference")), True),
        (Row("a", "/s", None, 1.0, at_least(2.0)), False),
        (Row("a", "/s", 1.0, 2.0), None),
    ],
)
def test_what_is_met(row: Row, met: bool | None) -> None:
    """A goal is a ratio, a figure or a difference, at least or at most; without a floor no ratio is met."""
    assert row.met is met


def test_floor_and_ours_are_measured_by_turns() -> None:
    """One after the other in each round, and the median of each counts."""
    order: list[str] = []
    values = {"floor": iter((1.0, 9.0, 2.0)), "ours": iter((5.0, 4.0, 6.0))}

    def contender(name: str) -> float:
        order.append(name)
        return next(values[name])

    assert by_turns(3, lambda: contender("floor"), lambda: contender("ours")) == (2.0, 5.0)
    assert order == ["floor", "ours"] * 3


def test_an_earlier_run_is_compared(tmp_path: Path) -> None:
    """What was written is read again, and a row is compared with the one of its title, by ratio."""
    then, now = Row("a", "/s", 100.0, 200.0), Row("a", "/s", 50.0, 150.0)
    path = str(tmp_path / "run.json")
    table.written(path, table.report([then], (0.5,), quick=True))
    earlier = table.read(path)
    assert json.loads(json.dumps(earlier)) == earlier
    assert table.change(now, earlier["rows"][0]) == "+50 %"
    assert table.change(now, None) == "new"
    assert table.shown([now], earlier).row_count == 1


def test_every_measure_is_there_once() -> None:
    """Each row of the table has a measure, under a name of its own."""
    main = pytest.importorskip("tests.benchmarks.__main__")
    assert len(main.MEASURES) == 14
    assert main.arguments(["--only", "asks", "import", "--quick"]).only == ["asks", "import"]
    assert FULL.rounds == 5
