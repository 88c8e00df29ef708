"""What a stamp under the seal tells: for whom a message is, and that it is no second one."""

from __future__ import annotations

import pytest

from gen_agent.actors import freshness
from gen_agent.actors.frames import Seal
from gen_agent.actors.freshness import STAMP_BYTES, Foreign, Seen, Stamps, sent_from
from gen_agent.actors.places import packed

HERE, THERE = ("127.0.0.1", 7700), ("127.0.0.1", 7701)


def test_each_message_is_taken_once() -> None:
    """What comes in order is taken, gaps and all; what was there before is not, however late it comes."""
    stamps, seen = Stamps(THERE), Seen(HERE)
    first, lost, third = (stamps.stamp(HERE) + b"body" for _ in range(3))
    assert len(first) == STAMP_BYTES + 4
    assert [seen.is_fresh(one) for one in (first, first, third, third, first, lost)] == [
        True,
        False,
        True,
        False,
        False,
        False,
    ]


def test_senders_are_counted_apart() -> None:
    """Two processes may both send their first message, and a fork counts anew."""
    seen = Seen(HERE)
    assert all(seen.is_fresh(Stamps(THERE).stamp(HERE)) for _ in range(5))


@pytest.mark.parametrize("to", [("127.0.0.1", 7701), ("127.0.0.2", 7700)])
def test_what_was_sent_to_another_is_foreign(to: tuple[str, int]) -> None:
    """A message for another process, also on the same port of another address, is none of ours."""
    with pytest.raises(Foreign):
        Seen(HERE).is_fresh(Stamps(THERE).stamp(to))


def test_what_has_no_stamp_is_foreign() -> None:
    """A body that is too short to have a stamp is refused, not misread."""
    with pytest.raises(Foreign):
        Seen(HERE).is_fresh(Stamps(THERE).stamp(HERE)[:-1])


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the many senders there were, the last ones are remembered."""
    monkeypatch.setattr(freshness, "SENDERS", 2)
    seen = Seen(HERE)
    bodies = [Stamps(THERE).stamp(HERE) for _ in range(3)]
    assert [seen.is_fresh(one) for one in (*bodies, bodies[2], bodies[1])] == [True, True, True, False, False]
    assert seen.is_fresh(bodies[0]), "the first was forgotten"


def test_the_stamp_is_sealed_with_the_body() -> None:
    """A stamp and a body make one sealed whole: the same as if they had been one from the beginning."""
    seal = Seal(bytes(32))
    assert seal.frame(b"body", b"stamp").data == seal.frame(b"stampbody").data


def test_a_stamp_tells_where_the_message_is_from() -> None:
    """A message needs no other word on its sender: the place of that process is under the seal."""
    assert sent_from(Stamps(THERE).stamp(HERE) + b"body") == packed(THERE)
    assert sent_from(bytearray(Stamps(HERE).stamp(THERE))) == packed(HERE)
