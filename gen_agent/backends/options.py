"""What the options of backends have in common: clear refusals, and times that are times.

This module must not know any backend.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def refuse_unknown(backend: str, unknown: Mapping[str, Any], known: Iterable[str]) -> None:
    """Raise `TypeError` naming the first unknown option and the ones there are; no value is shown."""
    for name in unknown:
        there_are = ", ".join(sorted(known))
        raise TypeError(f"backend {backend}: unknown option {name!r}; known options: {there_are}")


def checked_number(
    backend: str, name: str, value: object, *, least: float = 0.0, whole: bool = False
) -> None:
    """Raise `TypeError` or `ValueError` unless `value` is None or a finite number of at least `least`."""
    allowed = f"{'a whole number' if whole else 'a number'} of at least {least:g}, or None"
    wanted = int if whole else (int, float)
    if value is not None and (isinstance(value, bool) or not isinstance(value, wanted)):
        raise TypeError(f"backend {backend}: option {name} is {allowed}, not {type(value).__name__}")
    if isinstance(value, (int, float)) and not least <= value < float("inf"):
        raise ValueError(f"backend {backend}: option {name} is {allowed}, not {value!r}")


def checked_text(backend: str, name: str, value: object) -> None:
    """Raise `TypeError` unless `value` is None or a `str`; the value itself may be a secret and is not
    shown.
    """
    if value is not None and not isinstance(value, str):
        raise TypeError(f"backend {backend}: option {name} is text or None, not {type(value).__name__}")
