"""A script's requests to agents: prompts, notifications and controls.

The law: bad arguments raise here, before anything is sent; targets are names or addresses, timeouts seconds
or None.
"""

from __future__ import annotations

from typing import Any, Literal

import attrs

from gen_agent.actors.identity import local_process
from gen_agent.actors.scriptside import ScriptSide
from gen_agent.client.protocol import IsAlive
from gen_agent.client.targets import (
    DEFAULT_TIMEOUT,
    checked_address,
    checked_target,
    checked_timeout,
    timeout_on,
)
from gen_agent.events import Response
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
    Submit,
    Tell,
)
from gen_agent.values import AgentAddress, Pending, RequestRef, RuntimeSnapshot, Status, is_address


class Prompts(ScriptSide):
    """The part of `AgentSystem` that gives agents work.

    Every method that waits raises `CallTimeout` after `timeout` seconds (what was asked may still happen),
    `AgentDown` as soon as the agent's death is known, and, for a name, `AgentNotFound`. One that does not
    wait raises only what its arguments deserve.
    """

    def ask(self, target: Any, prompt: str, timeout: float | None = None) -> Response:
        """Run a prompt and return its `Response`, after all retries; raises the request's error (C106).

        A timeout does not cancel: the request still waits or runs (C107).
        """
        return self._call(target, Ask(prompt), timeout)  # type: ignore[no-any-return]

    def tell(self, target: Any, prompt: str, timeout: float | None = None) -> RequestRef:
        """Have a prompt run and return its ref once it is admitted (C110); raises
        `Overloaded`, `Draining`.
        """
        return self._call(target, Tell(prompt), timeout)  # type: ignore[no-any-return]

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
    ) -> RequestRef:
        """Have a prompt run, with one `Completion` to `recipient` (None: to this script) (C112).

        `stream_to` gets its events, one by one or in batches. Raises `Overloaded`, `Draining`, `Halted`; then
        no completion follows.
        """
        target = checked_target(target)
        seconds = checked_timeout(timeout)
        message = Tell(
            prompt, recipient=recipient, on_halt=on_halt, stream_to=stream_to, stream_batch=stream_batch
        )
        with self._guard:
            mine = self._pickup.is_mine(recipient)
            if mine:
                message = attrs.evolve(message, recipient=self._pickup.address)
                self._pickup.expect(message.ref, target if is_address(target) else None)
            settled = self._line.settle(target, message, seconds)
            if mine and settled.reply.error is None:
                self._pickup.expect(message.ref, settled.address)
            elif mine:
                self._pickup.forget(message.ref)  # nobody learns the ref, so nobody asks for it
            return settled.reply.result()  # type: ignore[no-any-return]

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
        """Send a prompt to exactly that agent and return its ref at once, also for a dead one (C195, C196).

        An `Admission` and, if accepted, a `Completion` go to `recipient` (None: to this script). Raises
        `TypeError` or `ValueError` for bad arguments, before anything is sent, and nothing else.
        """
        checked_address(address)
        Tell(prompt, recipient=recipient, on_halt=on_halt, stream_to=stream_to, stream_batch=stream_batch)
        with self._guard:
            mine = self._pickup.is_mine(recipient)
            message = Submit(
                prompt,
                self._pickup.address if mine else recipient,
                on_halt=on_halt,
                stream_to=stream_to,
                stream_batch=stream_batch,
            )
            if mine:
                self._pickup.expect(message.ref, address)
            self._line.cast(
                address, message, self._line.unheard.ticket(message.ref, address) if mine else None
            )
            return message.ref

    def poll(self, target: Any, ref: RequestRef, timeout: Any = DEFAULT_TIMEOUT) -> Response | Pending:
        """The `Response` of a request, or `PENDING`; reading consumes nothing (C117).

        Raises the request's error, or `RequestNotFound`. Waits 5 s on an address unless told otherwise.
        """
        return self._call(target, Poll(ref), timeout_on(target, timeout))  # type: ignore[no-any-return]

    def cancel_request(
        self, target: Any, ref: RequestRef, timeout: Any = DEFAULT_TIMEOUT
    ) -> Literal["cancelled", "current", "already_finished", "not_found"]:
        """Take back a request that waits; one that runs is `"current"` and needs
        `interrupt_request` (C122).
        """
        return self._call(target, CancelRequest(ref), timeout_on(target, timeout))  # type: ignore[no-any-return]

    def interrupt_request(
        self, target: Any, ref: RequestRef, timeout: Any = DEFAULT_TIMEOUT
    ) -> Literal["accepted", "not_current", "idle"]:
        """Kill the active turn if it is exactly this request's; when accepted, its completion has been sent
        (C120).
        """
        return self._call(target, InterruptRequest(ref), timeout_on(target, timeout))  # type: ignore[no-any-return]


class Requests(Prompts):
    """The part of `AgentSystem` that speaks to agents, controls included; raises as `Prompts` does."""

    def interrupt(self, target: Any) -> None:
        """Kill whatever turn runs; does not wait (C119)."""
        self._cast(target, Interrupt())

    def halt(self, target: Any) -> None:
        """Have nothing dispatched after the active turn; does not wait (C125)."""
        self._cast(target, HaltAgent())

    def resume(self, target: Any) -> None:
        """End a halt, or take back one that is pending; does not wait (C125)."""
        self._cast(target, ResumeAgent())

    def notify(self, target: Any, event: object) -> Literal["ok", "not_alive"] | None:
        """Send an event for `handle_event`; does not wait, and nobody is told what becomes of it (C103).

        For an address: `"ok"`, or `"not_alive"` where this machine's process table says so (C210). Raises
        `Unpicklable`.
        """
        message = Notify(event)
        target = checked_target(target)
        with self._guard:
            if is_address(target) and not self._is_alive(target):
                return "not_alive"
            self._line.cast(target, message)
        return "ok" if is_address(target) else None

    def _is_alive(self, address: Any) -> bool:
        if not isinstance(address, AgentAddress):
            return True
        if not self._line.endpoint.has_processes:
            return bool(self._line.ask_supervisor(IsAlive(address.incarnation)))
        process = local_process(address.incarnation)
        return not self._line.known_dead(address.incarnation) if process is None else process.alive()

    def notify_ack(self, target: Any, event: object, timeout: float | None = None) -> None:
        """Send an event and wait until it is handled or retained (C059, C155); raises `Overloaded`,
        `Draining`.
        """
        self._call(target, NotifyAck(event), timeout)

    def status(self, target: Any, timeout: float | None = None) -> Status:
        """The agent's `Status`, its last retained state included (C192)."""
        return self._call(target, GetStatus(), timeout)  # type: ignore[no-any-return]

    def runtime_snapshot(self, target: Any, timeout: float | None = None) -> RuntimeSnapshot:
        """The agent's `RuntimeSnapshot`: counts and phases, no content (C193)."""
        return self._call(target, GetSnapshot(), timeout)  # type: ignore[no-any-return]

    def reset_session(self, target: Any, timeout: float | None = None) -> None:
        """Begin a new session; raises `Busy`, `Draining`, `Unsupported`, `ResetFailed`: then the old one
        stays (C126).
        """
        self._call(target, ResetSession(), timeout)

    def drain(self, target: Any, timeout: float | None = None) -> None:
        """Have the agent refuse new work and end after its active turn; returns when its process has ended
        (C213).

        Raises `DrainTimeout` if it has not ended in time (the drain goes on), `CallTimeout` if it did not
        even take the drain, `AgentDown` if it ended otherwise.
        """
        self._call(target, Drain(), timeout)
