"""Frames of the link between agent and worker, without any socket."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gen_agent.actors import orders
from gen_agent.actors.linkframes import (
    FrameBuffer,
    NoFrame,
    bodies,
    first_events,
    message_frame,
)
from gen_agent.events import Event
from gen_agent.sealed import SealedRun, dump

_ITEMS = st.lists(st.one_of(st.integers(), st.binary(max_size=50).map(dump)), max_size=30)


def _frame(item: object) -> bytes:
    return SealedRun.frame(item) if isinstance(item, bytes) else message_frame(item)


def _flat(items: list[object]) -> list[object]:
    """Runs taken apart again."""
    flat: list[object] = []
    for item in items:
        flat += [one.data for one in bodies(item)] if isinstance(item, SealedRun) else [item]
    return flat


@given(_ITEMS, st.lists(st.integers(1, 40), min_size=1))
def test_frames_survive_any_cutting(items: list[object], cuts: list[int]) -> None:
    """Whatever pieces the bytes arrive in, the same events and messages come out, in order, none twice."""
    stream, buffer, got = b"".join(map(_frame, items)), FrameBuffer(), []
    at = turn = 0
    while at < len(stream):
        size = cuts[turn % len(cuts)]
        buffer.feed(stream[at : at + size])
        at, turn = at + size, turn + 1
        got += buffer.take()
    assert _flat(got) == items


def test_neighbouring_events_are_one_run() -> None:
    """Events between two messages come out as one run that is not opened, a run per gap."""
    buffer = FrameBuffer()
    events = [dump(Event.text(str(number))) for number in range(5)]
    buffer.feed(b"".join(map(SealedRun.frame, events[:3])) + message_frame(orders.Alive()))
    buffer.feed(b"".join(map(SealedRun.frame, events[3:])))
    first, message, second = buffer.take()
    assert (first.count, message, second.count) == (3, orders.Alive(), 2)
    assert [event.data["text"] for event in first] == ["0", "1", "2"]


@given(st.integers(0, 8))
def test_the_first_events_of_a_run(count: int) -> None:
    """A run is cut after any number of events without being opened."""
    run = SealedRun.of(tuple(range(5)))
    cut = first_events(run, count)
    assert list(cut) == list(range(min(count, 5)))
    assert cut.count == min(count, 5)


@pytest.mark.parametrize(
    "rubbish", [b"rubbish", SealedRun.HEADER.pack(7, 9) + b"", message_frame(1)[:5] + b"???"]
)
def test_what_is_no_frame_is_told(rubbish: bytes) -> None:
    """A frame of an unknown kind, or whose body can't be read, is NoFrame: its writer can't be understood."""
    buffer = FrameBuffer()
    buffer.feed(rubbish + b"\0" * 20)
    with pytest.raises(NoFrame):
        buffer.take()
