"""Running systems as people and programs see them, and the start of one that outlives the command.

Values in, text and JSON values out; this module must not know click.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from gen_agent.actors.convention import address_of, leading_port, with_leader
from gen_agent.actors.guardian import GuardianHandle, start_guardian
from gen_agent.actors.guardian_census import RunningSystem
from gen_agent.actors.guardian_inquiry import SystemAnswer
from gen_agent.actors.keys import key_path

ORDERLY_S = 60.0
"""How long the agents of a system without an owner may take for their last callbacks, whoever ends it, in
seconds; each is bound by its own `shutdown_s` before.
"""

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def start(
    port: int | None, bind: str, key_file: str | None, capabilities: Mapping[str, Any]
) -> GuardianHandle:
    """Start a system that nobody owns; raises what `start_guardian` raises, and leaves nothing then."""
    place = address_of(bind, "bind")
    named = with_leader(capabilities, place)
    return start_guardian(
        admin_port=leading_port(named, place) if port is None else port,
        bind=place,
        key_file=key_file,
        capabilities=named,
        owned=False,
        shutdown_s=ORDERLY_S,
    )


def started_value(handle: GuardianHandle) -> dict[str, Any]:
    """Where a new system is, as a JSON value: never the key itself."""
    return {
        "host": handle.info.host,
        "port": handle.port,
        "guardian": handle.info.guardian.pid,
        "key_file": str(key_path(handle.port)),
    }


def started_text(value: Mapping[str, Any]) -> str:
    """The same in lines."""
    return f"port      {value['port']}\nguardian  {value['guardian']}\nkey file  {value['key_file']}"


@attrs.frozen
class Shown:
    """A running system, with what it answered if it was asked."""

    system: RunningSystem
    answer: SystemAnswer | None = None

    def value(self) -> dict[str, Any]:
        """As a JSON value."""
        place, owner = self.system.place, self.system.owner
        shown: dict[str, Any] = {
            "port": place.port,
            "guardian": place.guardian.pid,
            "owner": None if owner is None else owner.pid,
            "up_s": round(self.system.up_s(), 3),
        }
        if self.answer is not None:
            names = self.answer.agents
            shown["version"] = self.answer.version
            shown["agents"] = None if names is None else sorted(map(_text, names))
            shown["problem"] = self.answer.silence or None
        return shown

    def line(self) -> str:
        """As one line."""
        value = self.value()
        owner = "no owner" if value["owner"] is None else f"owner {value['owner']}"
        up = f"up {duration(value['up_s'])}"
        parts = [f"port {value['port']}: guardian {value['guardian']}", owner, up]
        if self.answer is not None:
            parts += self._answered(value)
        return ", ".join(parts)

    def _answered(self, value: Mapping[str, Any]) -> list[str]:
        parts = [] if value["version"] is None else [f"messages of version {value['version']}"]
        if value["problem"]:
            parts.append(value["problem"])
        if value["agents"] is not None:
            parts.append(_agents(value["agents"]))
        return parts


def _agents(names: list[str]) -> str:
    if not names:
        return "no agents"
    return f"{len(names)} agent{'s' if len(names) > 1 else ''}: {', '.join(names)}"


def _text(name: object) -> str:
    return name if isinstance(name, str) else repr(name)


def duration(seconds: float) -> str:
    """The two largest units of a time."""
    left, parts = int(seconds), list[str]()
    for size, unit in _UNITS:
        if left >= size:
            parts.append(f"{left // size} {unit}")
            left %= size
    return " ".join(parts[:2]) or "0 s"
