"""AgentSystem: agents for a script.

The law: leaving the block ends what was started here and nothing else. One client is for one thread at a
time; every further thread gets its own by `private()`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any, TypeVar

from thespian.actors import ActorSystem

from gen_agent.actors.endpoint import Endpoint, endpoint_of
from gen_agent.actors.opening import Opened, attach, open_system
from gen_agent.actors.script_lives import Lives
from gen_agent.actors.script_mail import Mail
from gen_agent.actors.script_requests import Requests
from gen_agent.actors.system_options import SystemOptions
from gen_agent.client.protocol import Shutdown
from gen_agent.errors import AgentDown, CallTimeout

STOPPING_S = 5.0
"""How long closing a system of our own waits for its agents to end in an orderly way, in seconds."""

_Self = TypeVar("_Self", bound="AgentSystem")


class Client(Requests, Lives, Mail):
    """Everything a script can do with agents; what `private()` gives to another thread."""

    def __init__(self, endpoint: Endpoint, what: str = "client") -> None:
        super().__init__(endpoint, what)


class AgentSystem(Client):
    """Agents for a script: `with AgentSystem() as agents: ...`.

    `system`: None (a system of our own, ended with this object or its process), the name of a base
    (`"genAgentTCPBase"`, `"multiprocTCPBase"`, `"simpleSystemBase"`), or a live
    `thespian.actors.ActorSystem`, which lives on. `admin_port` (None: a free one), `bind` (the one address of
    this machine that everything listens on) and `key_file` are for a system of our own; what a system could
    only ignore is refused. Systems that share a key and whose `capabilities` name the same leader,
    `"Convention Address.IPv4": (host, port)`, work together: an agent with `requirements` runs where they are
    met. Raises `TypeError` or `ValueError` for an option, base, start method or address that is refused, with
    the reason, and `RuntimeError` while this script is being loaded in an agent's process.
    """

    def __init__(
        self,
        system: Any = None,
        *,
        admin_port: int | None = None,
        bind: str = "127.0.0.1",
        key_file: str | None = None,
        capabilities: Mapping[str, Any] | None = None,
        log_defs: Mapping[str, Any] | None = None,
    ) -> None:
        options = SystemOptions(
            admin_port=admin_port,
            bind=bind,
            key_file=key_file,
            capabilities=capabilities,
            log_defs=log_defs,
        )
        self._begin(open_system(system, options))

    def _begin(self, opened: Opened) -> None:
        self._opened = opened
        try:
            super().__init__(endpoint_of(opened.system), "AgentSystem")
            self._line.settle_supervisor()
        except BaseException:
            opened.end()
            raise

    @classmethod
    def attach(
        cls: type[_Self], admin_port: int, *, host: str = "127.0.0.1", key_file: str | None = None
    ) -> _Self:
        """Join a running system; its agents live on when this client is closed.

        The key file defaults to `$GEN_AGENT_KEY_FILE`, else the one in the user's runtime directory. Raises
        `FileNotFoundError`, `PermissionError` or `ValueError` for a key file that does not serve or a host
        that is not known, Thespian's `InvalidActorAddress` where no system answers or it has another key, and
        `RuntimeError` where it runs another version or on another machine of our name: all within seconds,
        saying what to do.
        """
        attached = cls.__new__(cls)
        attached._begin(attach(admin_port, host, key_file))
        return attached

    @property
    def admin_port(self) -> int | None:
        """The port on which another script can `attach`; None where there is none."""
        return self._opened.admin_port

    @property
    def actor_system(self) -> ActorSystem:
        """The Thespian system below, for actors of your own: its `createActor`, `ask`, `tell`.

        It has an endpoint of its own, so that what it receives and what this object receives never mix. The
        actor's class has to be importable: only a system that this very process started, such as
        `ActorSystem("genAgentTCPBase")`, knows the classes of a running script. Raises `RuntimeError` after
        `close` and in a fork of this process.
        """
        return self._usable_system()

    def _usable_system(self) -> ActorSystem:
        if self._guard.closed:
            raise RuntimeError("this AgentSystem is closed")
        self._guard.check_process()
        return self._opened.system

    @contextlib.contextmanager
    def private(self) -> Iterator[Client]:
        """A client of its own for another thread, with a mailbox of its own, closed
        at the end of the block.
        """
        client = Client(endpoint_of(self._usable_system()), "private client")
        try:
            yield client
        finally:
            if client._guard.is_here:
                client._hang_up()

    def close(self) -> None:
        """End everything of a system of our own; of another one only this client's mailbox and monitors.

        Agents of our own end in an orderly way for at most 5 s, then they are killed. Harmless when done
        twice; any other use afterwards is `RuntimeError`, and so is any use in a fork of this process.
        """
        if self._guard.closed:
            return
        self._guard.check_process()
        try:
            if self._opened.asks_agents:
                self._stop_agents()
        finally:
            try:
                self._hang_up(system_ends=self._opened.owned)
            finally:
                self._opened.end()

    def _stop_agents(self) -> None:
        try:
            self._ask_supervisor(Shutdown(), STOPPING_S)
        except (AgentDown, CallTimeout):
            # What does not end in time, or lost its supervisor, is ended with its process.
            return

    def __enter__(self: _Self) -> _Self:
        if self._guard.closed:
            raise RuntimeError("this AgentSystem is closed")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        # A fork that leaves the block has nothing to end: all of it is its parent's.
        if self._guard.is_here:
            self.close()
