"""Breakages around the core: contracts, processes, clients, backends; run by `python -m tests.breakages`."""

from __future__ import annotations

from tests.breakage import Breakage

BREAKAGES: tuple[Breakage, ...] = ()
