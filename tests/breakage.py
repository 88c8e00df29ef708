"""What a breakage is: one line of the product, made wrong on purpose, and the tests that must notice."""

from __future__ import annotations

import attrs


@attrs.frozen
class Breakage:
    """`old` (found exactly once in `file`) becomes `new`; every one of `tests` must then fail."""

    rule: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
