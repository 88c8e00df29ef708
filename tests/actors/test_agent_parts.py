"""The small pieces an agent actor is put together from: pure, or of this process only."""

from __future__ import annotations

import os
import subprocess
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gen_agent.actors.audience import Audience
from gen_agent.actors.castorder import GAP_S, CastOrder
from gen_agent.actors.deadlines import Deadlines
from gen_agent.actors.household import Household
from gen_agent.actors.identity import local_process, new_incarnation, this_process
from gen_agent.actors.processes import ProcessId
from gen_agent.actors.timer import KernelTimer
from gen_agent.actors.validity import checked_agent, checked_backend
from gen_agent.actors.watching import Watcher
from gen_agent.errors import BackendStartFailed, InitAgentFailed, Undecodable
from gen_agent.values import Caller, RequestRef
from tests.actors import agent_cast as cast
from tests.actors import agent_refused as refused

# ---------------------------------------------------------------- deadlines


@given(st.lists(st.tuples(st.integers(0, 5), st.one_of(st.none(), st.floats(0, 100))), max_size=60))
def test_deadlines_agree_with_a_dictionary(steps: list[tuple[int, float | None]]) -> None:
    """Set, replaced and cleared in any order, deadlines come out by time, each key once."""
    deadlines, model = Deadlines(), {}
    for key, due in steps:
        if due is None:
            deadlines.clear(key)
            model.pop(key, None)
        else:
            deadlines.set(key, due)
            model[key] = due
    assert deadlines.next_due() == min(model.values(), default=None)
    got = []
    while (key := deadlines.pop_due(200.0)) is not None:
        got.append(model.pop(key))
    assert got == sorted(got)
    assert not model


def test_a_deadline_is_not_due_early() -> None:
    """What is due later stays."""
    deadlines = Deadlines()
    deadlines.set("x", 5.0)
    assert deadlines.pop_due(4.9) is None
    assert deadlines.pop_due(5.0) == "x"
    assert deadlines.pop_due(9.0) is None


def test_many_replaced_deadlines_cost_no_memory() -> None:
    """A watchdog set and cleared for each of many turns leaves nothing behind."""
    deadlines = Deadlines()
    for turn in range(10_000):
        deadlines.set("watchdog", float(turn))
    assert len(deadlines._heap) < 200


def test_the_kernel_timer_wakes_and_can_be_cleared() -> None:
    """A timer that was set is reported under its key; one that was cleared is not."""
    timer, watcher = KernelTimer(), Watcher()
    try:
        watcher.add(timer, "timer")
        timer.set(time.monotonic() + 0.01)
        assert watcher.wait_for(("timer",), 5.0) == {"timer"}
        timer.set(time.monotonic() - 1.0)
        assert watcher.wait_for(("timer",), 5.0) == {"timer"}
        timer.set(None)
        assert watcher.ready() == []
    finally:
        watcher.close()
        timer.close()


# ---------------------------------------------------------------- watching


def test_a_process_is_watched_to_its_end() -> None:
    """A watched process is reported when it has ended, not before; an earlier one under its pid is gone."""
    watcher = Watcher()
    program = subprocess.Popen(["sleep", "600"])
    try:
        process = ProcessId.of(program.pid)
        assert watcher.add_process(process, "program")
        assert watcher.ready() == []
        assert not watcher.add_process(ProcessId(program.pid, process.start_time + 1), "another")
        program.kill()
        assert watcher.wait_for(("program",), 5.0) == {"program"}
        assert [(ready.key, ready.readable) for ready in watcher.ready()] == [("program", True)]
        watcher.remove("program")
        assert watcher.ready() == []
    finally:
        program.kill()
        program.wait()
        watcher.close()


def test_writable_is_told_apart_and_only_on_request() -> None:
    """A descriptor is reported as writable only while that is wanted."""
    watcher = Watcher()
    read_end, write_end = os.pipe()
    try:
        watcher.add(write_end, "pipe")
        assert watcher.ready() == []
        watcher.want_write("pipe", True)
        assert [(ready.readable, ready.writable) for ready in watcher.ready()] == [(False, True)]
        watcher.want_write("pipe", False)
        assert watcher.ready() == []
    finally:
        watcher.close()
        os.close(read_end)
        os.close(write_end)


def test_this_process_is_a_local_one() -> None:
    """C108: a caller of this host is a process that can be watched; one of another host is not."""
    me = this_process()
    process = local_process(me)
    assert process is not None
    assert process.alive()
    assert local_process(Caller("elsewhere", me.pid, me.start_time)) is None
    first, second = new_incarnation(), new_incarnation()
    assert (first.pid, first.start_time) == (second.pid, second.start_time) == (me.pid, me.start_time)
    assert first != second


# ---------------------------------------------------------------- children


class Family:
    """A list of children, as the kernel would give it."""

    def __init__(self) -> None:
        self.now: tuple[ProcessId, ...] = ()

    def household(self) -> Household:
        """A household that reads this list."""
        return Household(lambda: repr(self.now).encode(), lambda: self.now)


WORKER, ORPHAN, PROGRAM, SECOND = (ProcessId(2**30 + number, 1) for number in range(4))


def test_children_are_sorted_by_when_they_came() -> None:
    """What appears while a callback runs is the callback's; what appeared before it was a worker's doing."""
    family = Family()
    house = family.household()
    house.workers_child(WORKER)
    family.now = (WORKER, ORPHAN)
    house.enter()
    family.now = (WORKER, ORPHAN, PROGRAM)
    house.leave()
    assert house.of_callbacks == {PROGRAM}
    family.now = (WORKER, PROGRAM, SECOND)
    house.enter()
    house.leave()
    assert house.of_callbacks == {PROGRAM}


def test_killed_workers_are_forgotten() -> None:
    """However many workers are killed between callbacks, which see no child: none of them is remembered."""
    family = Family()
    house = family.household()
    for number in range(100):
        house.enter()
        house.leave()
        house.workers_child(ProcessId(2**30 + number, 1))
    house.enter()
    assert house._others == frozenset()


def test_children_that_ended_are_forgotten() -> None:
    """A pid that comes again is another process."""
    family = Family()
    house = family.household()
    house.enter()
    family.now = (PROGRAM,)
    house.leave()
    family.now = ()
    house.enter()
    house.leave()
    assert house.of_callbacks == frozenset()


def test_the_kernels_list_is_read() -> None:
    """On this very process: a program started between enter and leave is a callback's."""
    house = Household()
    house.enter()
    program = subprocess.Popen(["sleep", "600"])
    try:
        house.leave()
        assert {process.pid for process in house.of_callbacks} == {program.pid}
    finally:
        program.kill()
        program.wait()
        house.close()


# ---------------------------------------------------------------- casts


@given(st.permutations(range(1, 8)))
def test_casts_come_out_in_order(order: list[int]) -> None:
    """C239: however a base reorders one sender's numbered casts, they are handled in the order they were
    sent.
    """
    casts, got = CastOrder(), []
    for number in order:
        got += casts.arrived("sender", number, number, 0.0)
    assert got == list(range(1, 8))
    assert casts.deadline() is None


def test_a_lost_cast_holds_up_nobody_for_long() -> None:
    """After half a minute the rest goes on; what comes late is handled then."""
    casts = CastOrder()
    assert casts.arrived("s", 2, "two", 1.0) == []
    assert casts.deadline() == 1.0 + GAP_S
    assert casts.overdue(1.0) == []
    assert casts.overdue(1.0 + GAP_S) == ["two"]
    assert casts.arrived("s", 1, "one", 3.0) == ["one"]


def test_each_gap_has_its_own_time() -> None:
    """A gap that is filled starts the time of the next one anew."""
    casts = CastOrder()
    assert casts.arrived("s", 2, "two", 1.0) == []
    assert casts.arrived("s", 4, "four", 1.0) == []
    assert casts.arrived("s", 1, "one", 5.0) == ["one", "two"]
    assert casts.deadline() == 5.0 + GAP_S


def test_senders_and_restarts_are_told_apart() -> None:
    """Each sender has its own numbers, and one that begins anew at 1 is a new sender at an old address."""
    casts = CastOrder()
    assert casts.arrived("s", 1, "a", 0.0) == ["a"]
    assert casts.arrived("s", 2, "b", 0.0) == ["b"]
    assert casts.arrived("other", 1, "c", 0.0) == ["c"]
    assert casts.arrived("s", 1, "d", 0.0) == ["d"]
    assert casts.arrived("s", 2, "e", 0.0) == ["e"]
    assert casts.arrived("s", None, "f", 0.0) == ["f"]


# ---------------------------------------------------------------- classes and listeners


@pytest.mark.parametrize(
    ("cls", "words"),
    [
        (refused.AsyncCallback, "handle_event is async"),
        (refused.StreamOnInstance, "must be a classmethod"),
        (int, "an Agent subclass"),
        (Undecodable("AttributeError"), "can't be loaded"),
    ],
)
def test_an_agent_that_could_never_work(cls: Any, words: str) -> None:
    """Async callbacks and a stream callback on the instance are refused at the start, in words."""
    with pytest.raises(InitAgentFailed) as caught:
        checked_agent(cls)
    assert words in caught.value.reason


def test_a_backend_that_could_never_work() -> None:
    """An async prompt is refused at the start, in words."""
    with pytest.raises(BackendStartFailed) as caught:
        checked_backend(refused.AsyncBackend)
    assert "AsyncBackend.prompt is async" in caught.value.reason
    assert checked_backend(cast.Player) is cast.Player
    assert checked_agent(cast.Streaming) is cast.Streaming


def test_the_audience_is_bounded() -> None:
    """Refs whose end nobody tells are forgotten, oldest first, long after an agent could still hold them."""
    audience = Audience(3)
    refs = [RequestRef("r", number) for number in range(100)]
    for ref in refs:
        audience.add(ref)
    assert all(audience.listens_to(ref) for ref in refs[-7:])
    assert not audience.listens_to(refs[0])
    audience.gone(refs[-1])
    assert not audience.listens_to(refs[-1])
