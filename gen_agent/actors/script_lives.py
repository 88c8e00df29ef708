"""A script's say over the lives of agents: starting, stopping, finding and watching them."""

from __future__ import annotations

from typing import Any

from gen_agent.actors.scripts import preparation
from gen_agent.actors.scriptside import ScriptSide
from gen_agent.agent import Agent, current_name
from gen_agent.backend import Backend
from gen_agent.client.protocol import Abandon, ListNames, Lookup, StopUnder
from gen_agent.client.targets import checked_address, checked_target, checked_timeout
from gen_agent.errors import AgentDown, CallTimeout, SelfStop
from gen_agent.messages import StartAgent
from gen_agent.options import ChildSpec, checked_spec
from gen_agent.values import AgentAddress, MonitorRef, Name, checked_name, name_key

ABANDON_S = 10.0
"""How long a start that took too long may take to be undone, in seconds."""


class Lives(ScriptSide):
    """The part of `AgentSystem` that begins, ends and watches agents."""

    def start_agent(
        self,
        agent: type[Agent],
        *,
        name: Name,
        backend: str | type[Backend],
        timeout: float | None = 30.0,
        **options: Any,
    ) -> AgentAddress:
        """Start an agent under this system's supervisor and return its address, when it is up (C001).

        Raises `TypeError` or `ValueError` for a bad option, before anything is sent; `AlreadyStarted`,
        `InitFailed`, `InitAgentFailed`, `BackendStartFailed`; or `CallTimeout` after `timeout` seconds, when
        the start has been undone: its processes are gone and the name is free.
        """
        seconds = checked_timeout(timeout)
        start = StartAgent(agent, name=name, backend=backend, options=options, script=_script(agent, backend))
        return self._start(start, seconds)

    def start_child(self, spec: ChildSpec, timeout: float | None = 30.0) -> AgentAddress:
        """Start what a spec describes, honouring its `restart` (C013); otherwise as `start_agent`."""
        checked_spec(spec)
        seconds = checked_timeout(timeout)
        start = StartAgent(
            spec.agent,
            name=spec.id,
            backend=spec.backend,
            options=spec.keywords(),
            script=_script(spec.agent, spec.backend),
            restart=spec.restart,
        )
        return self._start(start, seconds)

    def _start(self, start: StartAgent, timeout: float | None) -> AgentAddress:
        with self._guard:
            try:
                address: AgentAddress = self._line.ask_supervisor(start, timeout, asked=start.name)
            except CallTimeout:
                self._abandon(start)
                raise
            except (KeyboardInterrupt, SystemExit):
                self._abandon(start)
                raise
            return address

    def _abandon(self, start: StartAgent) -> None:
        try:
            self._line.ask_supervisor(Abandon(start.call), ABANDON_S)
        except (AgentDown, CallTimeout):
            # The supervisor is gone, and everything it started with it.
            return

    def stop(self, target: Any, supervisor: Any = None, timeout: float | None = None) -> None:
        """Stop an agent in an orderly way and return when its process has ended (C127, C129).

        `supervisor` is the address of the parent of an agent that has another one than this system's
        supervisor; the wrong one is `AgentNotFound`, and the agent lives on. Raises `SelfStop` inside a
        callback of that agent.
        """
        target = checked_target(target)
        if supervisor is not None:
            checked_address(supervisor)
        seconds = checked_timeout(timeout)
        if _is_oneself(target):
            raise SelfStop()
        self._ask_supervisor(StopUnder(target, supervisor), seconds, asked=target)

    def whereis(self, name: Name) -> AgentAddress | None:
        """The address of the agent with that name, or None; does not disturb the agent (C019)."""
        return self._ask_supervisor(Lookup(checked_name(name)))  # type: ignore[no-any-return]

    def list(self) -> list[Name]:
        """The names of all registered agents, in no order, at this moment (C019)."""
        return [*self._ask_supervisor(ListNames())]

    def monitor(self, target: Any) -> MonitorRef:
        """Have one `Down` delivered to this script when `target` has ended, at once if it is gone already
        (C255).

        The monitor is in effect when this returns.
        """
        target = checked_target(target)
        with self._guard:
            return self._pickup.monitor(target)

    def demonitor(self, monitor_ref: MonitorRef) -> None:
        """Forget a monitor: no `Down` of it is received any more."""
        if not isinstance(monitor_ref, MonitorRef):
            raise TypeError(f"monitor_ref: a MonitorRef is needed, not {type(monitor_ref).__name__}")
        with self._guard:
            self._pickup.demonitor(monitor_ref)


def _script(agent: Any, backend: Any) -> bytes:
    return preparation(*[part for part in (agent, backend) if isinstance(part, type)])


def _is_oneself(target: Any) -> bool:
    me = current_name()
    if me is None:
        return False
    name = target.name if isinstance(target, AgentAddress) else target
    return not hasattr(name, "addressDetails") and name_key(name) == name_key(me)
