"""Machine and model side by side: feeds both the same, and compares everything that can be seen of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs

from gen_agent.core import signals as on
from gen_agent.sealed import Sealed
from gen_agent.values import RequestRef, RuntimeSnapshot, Status
from tests.core.contract_model import ContractModel
from tests.core.machine_choices import Setting
from tests.core.machine_harness import Harness, Likeness, by_channel, by_name

Expect = Callable[[ContractModel], None]

_WORDS_OF_WORKERS = (
    on.TurnStarted, on.TurnRefused, on.EventsStreamed, on.CheckpointAsked, on.TurnEnded, on.WorkerKilled,
    on.WorkerDied, on.StopAsked,
)  # fmt: skip


class Comparison:
    """One agent, twice. `resetting` is who waits for a session's reset: clients' messages wait meanwhile
    (C126)."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.harness = Harness("planned", setting.options, setting.agent(setting.book))
        self.model = ContractModel(setting.options, setting.agent(setting.book))
        self.like = Likeness()
        self.resetting: Any = None
        self._waiting: list[tuple[Any, Expect]] = []

    def feed(self, event: on.Event, expect: Expect) -> None:
        """Both get it, then both must have done the same."""
        self.harness.dispatch(event)
        if self.resetting is not None and not isinstance(event, _WORDS_OF_WORKERS):
            self._waiting.append((event, expect))
        else:
            self._expect(event, expect)
        self._compare(event)

    def _expect(self, event: Any, expect: Expect) -> None:
        # Of what comes too late only a drain is answered: it has what it wanted (C214).
        if not self.model.gone or (self.model.gone == "normal" and isinstance(event, on.DrainAsked)):
            expect(self.model)
        if self.model.reset_by is not None:
            self.resetting, self.model.reset_by = self.model.reset_by, None

    def reset_ended(self, by: Any, session: Sealed | None, error: Any) -> None:
        """The worker has answered; what has waited is handled in order."""
        self.harness.dispatch(on.ResetEnded(by, session, error))
        self.resetting = None
        self.model.reset_ended(by, session, error)
        waiting, self._waiting = self._waiting, []
        while waiting and self.resetting is None:
            self._expect(*waiting.pop(0))
        self._waiting = waiting
        self._compare("reset ended")

    def _compare(self, event: Any) -> None:
        model, harness = self.model, self.harness
        if model.gone and not model.finished:
            self.resetting = None
            model.finish()
        wanted, happened = by_channel(model.said), by_channel(harness.said)
        for channel in dict.fromkeys((*wanted, *happened)):
            self.like.check(f"{event} -> {channel}", wanted.get(channel, ()), happened.get(channel, ()))
        self.like.check(f"{event}: callbacks", model.agent.trace, harness.agent.trace)
        told, heard = by_name(model.told), by_name(harness.told)
        for name in dict.fromkeys((*told, *heard)):
            self.like.check(f"{event}: {name}", told.get(name, ()), heard.get(name, ()))
        _outcome_before_answer(event, harness.said)
        for seen in (
            model.said,
            model.told,
            model.agent.trace,
            harness.said,
            harness.told,
            harness.agent.trace,
        ):
            seen.clear()

    # -------------------------------------------------------------------- what they hold

    def compare_holdings(self, refs: Sequence[RequestRef]) -> None:
        """Status, snapshot, results, counters, watched callers and deadlines are the same."""
        model, machine = self.model, self.harness.machine._model
        assert self.harness.machine.terminated == bool(model.gone)
        if model.gone or self.resetting is not None:
            return
        self._compare_status()
        assert machine.prompts.size == model.pending_bytes
        assert machine.notices.size == sum(notice[2] for notice in model.notices)
        assert machine.results.size == model.result_bytes
        assert len(machine.results) == len(model.results)
        assert self.harness.watched == model.callers()
        self._compare_deadlines()
        for ref in refs:
            assert (ref in machine.results) == (ref in model.results)

    def _compare_status(self) -> None:
        model = self.model
        seen = self._answer(on.StatusAsked("s")), self._answer(on.SnapshotAsked("s"))
        phase = "processing" if model.busy else "idle"
        flags = (model.halted, model.halt_pending, model.draining)
        ref = model.active.ref if model.active is not None else None
        status = Status(phase, "planned", len(model.queue), ref, *flags, model.state)
        parts = attrs.astuple(status, recurse=False)
        self.like.check("status", parts, attrs.astuple(seen[0], recurse=False))
        current = seen[1].current_request
        snapshot = RuntimeSnapshot(
            phase, *flags, len(model.queue), len(model.notices), model.slot is not None, current
        )
        assert seen[1] == snapshot
        if model.active is not None:
            wanted = (
                model.active.ref,
                model.active.origin,
                model.active.attempt,
                self.setting.options.watchdog_s,
            )
            self.like.check(
                "turn", wanted, (current.ref, current.origin, current.attempt, current.watchdog_s)
            )
        assert (current is None) == (model.active is None)

    def _answer(self, question: on.Event) -> Any:
        (answer,) = self.harness.machine.step(question, self.harness.now)
        assert isinstance(answer, on.Answer)
        return answer.value

    def _compare_deadlines(self) -> None:
        model, options = self.model, self.setting.options
        turn = self.harness.tag.turn if model.busy and self.harness.tag is not None else None
        wanted = {}
        if turn is not None and options.watchdog_s is not None:
            wanted[on.Deadline("watchdog", turn)] = options.watchdog_s
        if turn is not None and options.idle_watchdog_s is not None and model.started:
            wanted[on.Deadline("idle", turn)] = options.idle_watchdog_s
        armed = dict(self.harness.deadlines)
        paced = [key for key in armed if key.kind == "paced"]
        for key in paced:
            assert armed.pop(key) == 0.01
        assert armed == wanted
        # A deadline that comes while a turn runs or the agent is halted is spent: what follows serves the
        # slot anyway.
        assert not model.paced or paced or model.busy or model.halted


def _outcome_before_answer(event: Any, said: Sequence[Any]) -> None:
    """C245: who cancels or interrupts hears so after the completion has left."""
    if not isinstance(event, (on.CancelRequested, on.InterruptRequested)):
        return
    told = [
        what[0]
        for what in said
        if what[:2] == ("answer", event.by) or (what[0] == "complete" and what[2] == event.ref)
    ]
    assert told in (["answer"], ["complete", "answer"], [])
