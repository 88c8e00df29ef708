"""Casts over Thespian's stock transport: each leaves when it is posted, whether the one before was taken or
not.

That transport has one connection for a target, and keeps what is sent next until the target has acknowledged
what was sent last, which one that is blocked in a callback does not do. The law: a cast to a target that owes
an acknowledgement gets a connection of its own, so that the kernel has it; a call never overtakes a cast to
the same target, nor a cast a call. Nothing of Thespian is changed but one transport of this process. This
module must not know agents.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import attrs
from thespian.system.transport import SendStatus, TransmitOnly

from gen_agent.actors.letters import Letter

LEAVING_S = 0.02
"""How long a cast may take to leave before later calls see to it: what the kernel does not take at once."""

_ROUND = timedelta(milliseconds=1)


@attrs.define(eq=False)
class _Target:
    """What is under way to one address, and what waits for it."""

    casts: int = 0
    aside: bool = False
    called: bool = False
    waiting: deque[tuple[bool, Callable[[], None]]] = attrs.field(factory=deque)


class Express:
    """The casts, and the calls after them, of one endpoint. For one thread at a time, as the endpoint is."""

    def __init__(self, transport: Any) -> None:
        self._transport = transport
        self._targets: dict[Any, _Target] = {}
        self._casts: set[Letter] = set()
        transport._next_XMIT_1 = self._connect
        transport._finishIntent = self._finish

    def cast(self, letter: Letter) -> None:
        """Send a cast after everything posted before, and see it leave as far as the kernel takes it."""
        self._in_turn(letter.targetAddr, False, lambda: self._send(letter))
        end = time.monotonic() + LEAVING_S
        while self._leaves(letter) and time.monotonic() < end:
            self._transport.run(TransmitOnly, _ROUND)

    def call(self, address: Any, send: Callable[[], None]) -> None:
        """Have a call sent as soon as all casts to that address have arrived."""
        self._in_turn(address, True, send)

    def _leaves(self, letter: Letter) -> bool:
        stage = getattr(letter, "stage", None)
        return letter.result is None and stage in (
            self._transport._XMITStepSendConnect,
            self._transport._XMITStepSendData,
        )

    # ---------------------------------------------------------------- order

    def _in_turn(self, address: Any, is_call: bool, send: Callable[[], None]) -> None:
        target = self._targets.setdefault(address.addressDetails, _Target())
        target.waiting.append((is_call, send))
        self._go_on(address.addressDetails)

    def _go_on(self, key: Any) -> None:
        target = self._targets[key]
        while target.waiting and not self._has_to_wait(key, target):
            is_call, send = target.waiting.popleft()
            target.called |= is_call
            send()
        if not (target.casts or target.aside or target.waiting or target.called):
            self._targets.pop(key, None)

    def _has_to_wait(self, key: Any, target: _Target) -> bool:
        is_call, _ = target.waiting[0]
        if is_call:
            return target.casts > 0
        target.called = target.called and self._has_calls(key)
        return target.called

    def _has_calls(self, key: Any) -> bool:
        """Whether a call to that address is still to be taken."""
        under_way = (*self._transport._transmitIntents.values(), *self._transport._waitingTransmits)
        return any(
            other.targetAddr.addressDetails == key and other not in self._casts for other in under_way
        )

    def _send(self, letter: Letter) -> None:
        key = letter.targetAddr.addressDetails
        self._targets[key].casts += 1
        self._casts.add(letter)

        def arrived(result: Any, intent: Any) -> None:
            self._casts.discard(letter)
            self._targets[key].casts -= 1
            self._go_on(key)

        self._transport.scheduleTransmit(None, letter.addCallback(arrived, arrived))

    # ---------------------------------------------------------------- connections

    def _connect(self, intent: Any) -> bool:
        """Thespian's first step of sending: take the connection there is, wait for it, or make one."""
        transport = self._transport
        target = self._targets.get(intent.targetAddr.addressDetails)
        if target is None or not isinstance(intent, Letter) or not self._is_busy(intent.targetAddr):
            return bool(type(transport)._next_XMIT_1(transport, intent))
        target.aside = True
        # It looks for others on their way there, and for a connection: this one is to find neither.
        active, transport._transmitIntents = transport._transmitIntents, {}
        idle, transport._openSockets = transport._openSockets, {}
        try:
            return bool(type(transport)._next_XMIT_1(transport, intent))
        finally:
            transport._transmitIntents = {**active, **transport._transmitIntents}
            transport._openSockets = {**idle, **transport._openSockets}

    def _is_busy(self, address: Any) -> bool:
        return any(other.targetAddr == address for other in self._transport._transmitIntents.values())

    def _finish(self, intent: Any, status: Any = SendStatus.Sent) -> bool:
        """Thespian's last step of sending: keep the connection for the next message, unless there were
        several.
        """
        kept = type(self._transport)._finishIntent(self._transport, intent, status)
        target = self._targets.get(intent.targetAddr.addressDetails)
        if target is not None and target.aside:
            # Of several the target keeps the one it has read last, and which that is nobody knows here.
            self._close_idle(intent.targetAddr)
            target.aside = self._is_busy(intent.targetAddr)
        if target is not None and target.called:
            # A cast may have waited for a call to be taken.
            target.called = self._has_calls(intent.targetAddr.addressDetails)
            self._go_on(intent.targetAddr.addressDetails)
        return bool(kept)

    def _close_idle(self, address: Any) -> None:
        idle = self._transport._openSockets.pop(address.addressDetails, None)
        if idle is not None:
            idle.socket.close()
        for waiting in self._transport._waitingTransmits:
            if waiting.targetAddr == address:
                # It waits for the connection that was just closed.
                vars(waiting).pop("_awaitingTXSlot", None)
                waiting.retry(immediately=True)
