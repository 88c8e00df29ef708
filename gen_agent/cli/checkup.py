"""What a doctor sees: systems, what crashed ones left, and what gen_agent needs of this machine.

Law: only what a census calls left over is ever removed. Values in, text and JSON values out; this module must
not know click.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs

from gen_agent.actors.guardian_census import Leftover, RunningSystem, take_census
from gen_agent.actors.guardian_cleanup import await_ends, kill_leftovers
from gen_agent.actors.process_looks import listening_ports, name_of, state_of
from gen_agent.actors.processes import ProcessId
from gen_agent.actors.system_files import lone_keys, stale_drafts, stale_files, sweep
from gen_agent.cli.environment import Check, checks
from gen_agent.cli.systems import Shown

PATIENCE_S = 4.0
"""How long what ends by itself may take before it counts as left over, in seconds: longer than the agents of
a broken system may take for their last callbacks.
"""

_OUR_TITLES = "gen_agent"


@attrs.frozen
class SeenProcess:
    """A process that is left over, as it looked before anything was done about it."""

    leftover: Leftover
    name: str
    state: str
    ports: tuple[int, ...]

    @classmethod
    def look(cls, leftover: Leftover) -> SeenProcess:
        """Look now."""
        process = leftover.process
        ports = tuple(sorted(listening_ports(process.pid)))
        return cls(leftover, name_of(process), state_of(process), ports)

    def value(self) -> dict[str, Any]:
        """As a JSON value."""
        return {
            "kind": "process",
            "pid": self.leftover.process.pid,
            "name": self.name,
            "state": self.state,
            "listens_on": list(self.ports),
            "system_port": self.leftover.place.port,
            "guardian": self.leftover.place.guardian.pid,
        }

    def line(self) -> str:
        """As one line."""
        place = self.leftover.place
        if self.leftover.is_guardian:
            what = f"guardian of the system on port {place.port}, whose owner is gone"
        else:
            what = f"of the system that was on port {place.port} under guardian {place.guardian.pid}"
        # All processes of a system begin with the guardian's title, which says nothing.
        name = "" if self.name.startswith(_OUR_TITLES) else f" ({self.name})"
        ports = f", listens on port {', '.join(map(str, self.ports))}" if self.ports else ""
        return f"process {self.leftover.process.pid}{name}, {self.state}, {what}{ports}"


@attrs.frozen
class Checkup:
    """What was found; `removed` of it is gone, `left` is not."""

    systems: tuple[RunningSystem, ...]
    left: tuple[SeenProcess | Path, ...]
    removed: tuple[SeenProcess | Path, ...]
    lone_keys: tuple[Path, ...]
    checks: tuple[Check, ...]

    @property
    def well(self) -> bool:
        """Whether nothing is left over, and nothing keeps gen_agent from working."""
        return not self.left and all(check.fine for check in self.checks)

    def value(self) -> dict[str, Any]:
        """As a JSON value."""
        return {
            "well": self.well,
            "environment": [attrs.asdict(check) for check in self.checks],
            "systems": [Shown(system).value() for system in self.systems],
            "leftovers": [_value(one) for one in self.left],
            "removed": [_value(one) for one in self.removed],
            "unknown_key_files": [str(path) for path in self.lone_keys],
        }

    def lines(self) -> Iterator[str]:
        """As lines."""
        for check in self.checks:
            yield f"{'ok ' if check.fine else 'BAD'} {check.what}: {check.found}"
        for system in self.systems:
            yield f"ok  system on {Shown(system).line()}"
        for path in self.lone_keys:
            yield f"    key file {path}: of a system without a guardian, or put there by hand; left alone"
        yield from (f"removed {_line(one)}" for one in self.removed)
        yield from (f"LEFT OVER {_line(one)}" for one in self.left)
        if not self.left:
            yield "nothing is left over"


def check_up(port: int | None, *, clean: bool) -> Checkup:
    """Look for what was left, of any system or of those on one port; `clean` removes it."""
    census = await_ends(port, PATIENCE_S)
    seen = {one.process: SeenProcess.look(one) for one in census.leftovers}
    removed: tuple[SeenProcess | Path, ...] = ()
    if clean:
        removed = _removed(port, seen)
        census = take_census(port)
    processes = (seen.get(one.process) or SeenProcess.look(one) for one in census.leftovers)
    return Checkup(
        tuple(system for system in census.systems if not system.abandoned),
        (*processes, *_stale(port, [one.process for one in census.leftovers if one.is_guardian])),
        removed,
        _lone(port),
        checks(),
    )


def _removed(port: int | None, seen: Mapping[ProcessId, SeenProcess]) -> tuple[SeenProcess | Path, ...]:
    """Remove what was seen; what of it is gone."""
    killed = kill_leftovers({one.leftover.place.guardian for one in seen.values()})
    files = _stale(port)
    if files:
        sweep(port)
    for draft in (path for path in files if path.is_file()):
        draft.unlink(missing_ok=True)
    processes = (
        seen.get(one.process) or SeenProcess(one, "", "gone", ())
        for one in killed
        if not one.process.alive()
    )
    return (*processes, *(path for path in files if not path.exists()))


def _stale(port: int | None, doomed: Collection[ProcessId] = ()) -> tuple[Path, ...]:
    """Files of the dead, and of guardians that are about to be."""
    try:
        return (*stale_files(port, doomed), *stale_drafts(port))
    except OSError:
        return ()  # what is wrong with the runtime directory is one of the checks


def _lone(port: int | None) -> tuple[Path, ...]:
    try:
        return lone_keys(port)
    except OSError:
        return ()  # as above


def _value(one: SeenProcess | Path) -> dict[str, Any]:
    return {"kind": "file", "path": str(one)} if isinstance(one, Path) else one.value()


def _line(one: SeenProcess | Path) -> str:
    return f"file {one}" if isinstance(one, Path) else one.line()
