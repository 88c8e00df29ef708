"""AgentClient: agents for an actor, which must never block.

The law: bad arguments raise at once; casts, `notify`, `submit_with_completion`, `monitor` and `demonitor`
answer at once; everything else returns a `CallRef`, and its `Reply` arrives as a message of the actor. This
module knows no Thespian.
"""

from __future__ import annotations

import importlib
from typing import Any, Literal

from gen_agent.agent import Agent, current_name
from gen_agent.backend import Backend
from gen_agent.client.actorside import ActorSide
from gen_agent.client.protocol import AGENT_CLASS, ListNames, Lookup, StopUnder
from gen_agent.client.targets import (
    DEFAULT_TIMEOUT,
    TO_SUPERVISOR,
    actor_of,
    checked_address,
    checked_target,
    checked_timeout,
    timeout_on,
)
from gen_agent.errors import SelfStop
from gen_agent.messages import (
    Ask,
    CancelRequest,
    Drain,
    GetSnapshot,
    GetStatus,
    HaltAgent,
    Interrupt,
    InterruptRequest,
    Notify,
    NotifyAck,
    OnHalt,
    Poll,
    ResetSession,
    ResumeAgent,
    StartAgent,
    Submit,
    Tell,
)
from gen_agent.options import ChildSpec, checked_spec
from gen_agent.values import (
    AgentAddress,
    CallRef,
    MonitorRef,
    Name,
    RequestRef,
    checked_name,
    is_address,
    name_key,
)

_ATTRIBUTE = "_gen_agent_client"


class Asking(ActorSide):
    """The part of `AgentClient` that speaks to agents."""

    def _to(self, target: Any, message: Any, timeout: float | None) -> CallRef:
        return self._call(checked_target(target), message, checked_timeout(timeout))

    # ---------------------------------------------------------------- prompts

    def ask(self, target: Any, prompt: str, timeout: float | None = None) -> CallRef:
        """Run a prompt; the reply is its `Response` or the request's error (C106)."""
        return self._to(target, Ask(prompt), timeout)

    def tell(self, target: Any, prompt: str, timeout: float | None = None) -> CallRef:
        """Have a prompt run; the reply is its ref, once admitted (C110)."""
        return self._to(target, Tell(prompt), timeout)

    def tell_with_completion(
        self,
        target: Any,
        prompt: str,
        recipient: Any = None,
        *,
        on_halt: OnHalt = "queue",
        stream_to: Any = None,
        stream_batch: bool = False,
        timeout: float | None = None,
    ) -> CallRef:
        """Have a prompt run, with one `Completion` to `recipient` (None: this actor); the reply is its ref
        (C112).
        """
        to = self._actor.myAddress if recipient is None else recipient
        message = Tell(prompt, recipient=to, on_halt=on_halt, stream_to=stream_to, stream_batch=stream_batch)
        return self._to(target, message, timeout)

    def submit_with_completion(
        self,
        address: Any,
        prompt: str,
        recipient: Any = None,
        *,
        on_halt: OnHalt = "queue",
        stream_to: Any = None,
        stream_batch: bool = False,
    ) -> RequestRef:
        """Send a prompt to exactly that agent and return its ref at once (C195)."""
        checked_address(address)
        to = self._actor.myAddress if recipient is None else recipient
        message = Submit(prompt, to, on_halt=on_halt, stream_to=stream_to, stream_batch=stream_batch)
        self._cast(address, message)
        return message.ref

    def poll(self, target: Any, ref: RequestRef, timeout: Any = DEFAULT_TIMEOUT) -> CallRef:
        """The reply is the `Response`, `PENDING`, or the request's error (C117)."""
        return self._to(target, Poll(ref), timeout_on(target, timeout))

    def cancel_request(self, target: Any, ref: RequestRef, timeout: Any = DEFAULT_TIMEOUT) -> CallRef:
        """Take back a request that waits (C122)."""
        return self._to(target, CancelRequest(ref), timeout_on(target, timeout))

    def interrupt_request(self, target: Any, ref: RequestRef, timeout: Any = DEFAULT_TIMEOUT) -> CallRef:
        """Kill the active turn if it is this request's (C120)."""
        return self._to(target, InterruptRequest(ref), timeout_on(target, timeout))

    # ---------------------------------------------------------------- controls

    def interrupt(self, target: Any) -> None:
        """Kill whatever turn runs (C119)."""
        self._cast(checked_target(target), Interrupt())

    def halt(self, target: Any) -> None:
        """Have nothing dispatched after the active turn (C125)."""
        self._cast(checked_target(target), HaltAgent())

    def resume(self, target: Any) -> None:
        """End a halt (C125)."""
        self._cast(checked_target(target), ResumeAgent())

    def notify(self, target: Any, event: object) -> Literal["ok", "not_alive"] | None:
        """Send an event for `handle_event`: None for a name, `"ok"` or `"not_alive"` for an address (C103,
        C210).
        """
        message = Notify(event)
        target = checked_target(target)
        if isinstance(target, AgentAddress) and not self._runs(target.incarnation):
            return "not_alive"
        self._cast(target, message)
        return "ok" if is_address(target) else None

    def notify_ack(self, target: Any, event: object, timeout: float | None = None) -> CallRef:
        """Send an event; the reply says that it was handled or retained (C059)."""
        return self._to(target, NotifyAck(event), timeout)

    def status(self, target: Any, timeout: float | None = None) -> CallRef:
        """The reply is the agent's `Status` (C192)."""
        return self._to(target, GetStatus(), timeout)

    def runtime_snapshot(self, target: Any, timeout: float | None = None) -> CallRef:
        """The reply is the agent's `RuntimeSnapshot` (C193)."""
        return self._to(target, GetSnapshot(), timeout)

    def reset_session(self, target: Any, timeout: float | None = None) -> CallRef:
        """Begin a new session in an idle agent (C126)."""
        return self._to(target, ResetSession(), timeout)

    def drain(self, target: Any, timeout: float | None = None) -> CallRef:
        """Have an agent end after its active turn; the reply comes when its process has ended (C213)."""
        return self._to(target, Drain(), timeout)


class AgentClient(Asking):
    """The methods of `AgentSystem` for an actor: `AgentClient(self)`, in `__init__` or later; made twice it
    is the same.

    A method that returns a `CallRef` has its `Reply(call, value, error)` arrive in the actor's
    `receiveMessage`; `reply.result()` returns or raises. `timeout` is in seconds, None for no limit, and ends
    in a `Reply` with `CallTimeout`. Admissions, events and completions arrive as messages too, in order,
    `Down` last.
    """

    def __new__(cls, actor: Any) -> AgentClient:
        """The client of `actor`, the one it has already if there is one."""
        existing: AgentClient | None = getattr(actor, _ATTRIBUTE, None)
        if existing is not None:
            return existing
        client = super().__new__(cls)
        client._begin(actor)
        setattr(actor, _ATTRIBUTE, client)
        return client

    def start_agent(
        self,
        agent: type[Agent],
        *,
        name: Name | None = None,
        backend: str | type[Backend],
        supervised: bool = True,
        timeout: float | None = 30.0,
        **options: Any,
    ) -> CallRef:
        """Start an agent; the reply is its `AgentAddress` (C001).

        With `supervised=False`, where the name is optional, this actor becomes its parent and gets Thespian's
        `ChildActorExited` as well.
        """
        seconds = checked_timeout(timeout)
        start = StartAgent(
            agent,
            name=name,
            backend=backend,
            options=options,
            supervised=supervised,
            script=_script(agent, backend),
        )
        return self._start(start, seconds)

    def start_child(self, spec: ChildSpec, timeout: float | None = 30.0) -> CallRef:
        """Start what a spec describes as a child of this actor; the reply is its `AgentAddress`."""
        checked_spec(spec)
        seconds = checked_timeout(timeout)
        start = StartAgent(
            spec.agent,
            name=spec.id,
            backend=spec.backend,
            options=spec.keywords(),
            restart=spec.restart,
            supervised=False,
            script=_script(spec.agent, spec.backend),
        )
        return self._start(start, seconds)

    def _start(self, start: StartAgent, timeout: float | None) -> CallRef:
        if not start.supervised:
            child = self._actor.createActor(AGENT_CLASS, start.options.get("requirements"))
            self._placing.begin(child, start)
            return self._call(child, start, timeout, asked=start.name)
        self._starts[start.call] = start
        return self._call(TO_SUPERVISOR, start, timeout, asked=start.name)

    def stop(self, target: Any, supervisor: Any = None, timeout: float | None = None) -> CallRef:
        """Stop an agent in an orderly way; the reply comes when its process has ended (C127).

        Raises `SelfStop` at once for the agent whose callback this is (C128).
        """
        target = checked_target(target)
        if supervisor is not None:
            checked_address(supervisor)
        seconds = checked_timeout(timeout)
        if self._is_oneself(target):
            raise SelfStop()
        return self._call(TO_SUPERVISOR, StopUnder(target, supervisor), seconds, asked=target)

    def _is_oneself(self, target: Any) -> bool:
        if is_address(target):
            return bool(actor_of(target) == self._actor.myAddress)
        me = current_name()
        return me is not None and name_key(target) == name_key(me)

    def whereis(self, name: Name) -> CallRef:
        """The reply is the address of the agent with that name, or None (C019)."""
        return self._call(TO_SUPERVISOR, Lookup(checked_name(name)), None)

    def list(self) -> CallRef:
        """The reply is a list of the names of all registered agents (C019)."""
        return self._call(TO_SUPERVISOR, ListNames(), None)

    def monitor(self, target: Any) -> MonitorRef:
        """Have one `Down` arrive when `target` has ended, at once if it is gone already (C255)."""
        ref = self._oversight.monitor(checked_target(target), user=True)
        self._flush()
        return ref

    def demonitor(self, monitor_ref: MonitorRef) -> None:
        """Forget a monitor: no `Down` of it arrives any more."""
        self._oversight.demonitor(monitor_ref)
        self._flush()


def _script(agent: Any, backend: Any) -> bytes:
    # Scripts are loaded by the actors' ring, which this one may not know beforehand.
    scripts = importlib.import_module("gen_agent.actors.scripts")
    script: bytes = scripts.preparation(*[part for part in (agent, backend) if isinstance(part, type)])
    return script
