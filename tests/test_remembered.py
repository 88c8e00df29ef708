"""What is over and kept for late questions is bounded, and tables are gone through when they have doubled."""

from __future__ import annotations

from gen_agent.remembered import Remembered, Tidying

MOST = 3


def test_the_oldest_go_first() -> None:
    """C157: no more than so many are remembered, and the last are."""
    last = Remembered[str](MOST)
    for number in range(5):
        last.add(number, f"value {number}")
    assert len(last) == MOST
    assert [last.get(number) for number in range(5)] == [None, None, "value 2", "value 3", "value 4"]
    assert [number in last for number in range(5)] == [False, False, True, True, True]


def test_a_key_keeps_its_place() -> None:
    """The same key again changes its value and makes no other one go."""
    last = Remembered[str](MOST)
    for key in ("a", "b", "c", "a"):
        last.add(key, f"{key}{len(last)}")
    assert [last.get(key) for key in "abc"] == ["a3", "b1", "c2"]
    last.add("d", "d3")
    assert "a" not in last


def test_keys_are_not_kept() -> None:
    """What is remembered of a key is so little that thousands cost nothing."""

    class Key:
        alive = 0

        def __init__(self) -> None:
            Key.alive += 1

        def __del__(self) -> None:
            Key.alive -= 1

    last = Remembered[None](MOST)
    last.add(Key(), None)
    assert (len(last), Key.alive) == (1, 0)


def test_a_table_is_gone_through_when_it_has_doubled() -> None:
    """With n entries that stay, the next look is due at 2 n, and never below the least."""
    tidying = Tidying(4)
    assert [tidying.is_due(size) for size in (3, 4)] == [False, True]
    tidying.done(4)
    assert [tidying.is_due(size) for size in (7, 8)] == [False, True]
    tidying.done(1)
    assert [tidying.is_due(size) for size in (3, 4)] == [False, True]
