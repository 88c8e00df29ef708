"""The order of deliveries."""

from __future__ import annotations

from gen_agent.client.ordering import DOWN_WAIT_S, GAP_WAIT_S, KILLED_WAIT_S, Ordering
from tests.client.books import NEW, down, event


def test_deliveries_are_handed_over_by_number() -> None:
    """C243: early deliveries wait for those before them; each comes once."""
    order = Ordering()
    one, two, three = event(1), event(2), event(3)
    assert order.arrived(two, 0.0) == []
    assert order.arrived(three, 0.0) == []
    assert order.arrived(one, 0.0) == [one, two, three]
    assert order.arrived(two, 0.0) == []


def test_a_gap_is_given_up_and_what_was_missing_still_comes() -> None:
    """A lost delivery holds up the rest for a bounded time; one that was only late is handed over late."""
    order = Ordering()
    late, two = event(1), event(2)
    order.arrived(two, 10.0)
    assert order.deadline() == 10.0 + GAP_WAIT_S
    assert order.due(10.0 + GAP_WAIT_S) == [two]
    assert order.arrived(late, 20.0) == [late]
    assert order.arrived(late, 20.0) == []


def test_down_waits_for_the_announced_deliveries() -> None:
    """Down comes with the last announced delivery, or after 0.3 s; nothing comes after it."""
    order = Ordering()
    end, one = down(1), event(1)
    assert order.arrived(end, 0.0) == []
    assert order.deadline() == DOWN_WAIT_S
    assert order.arrived(one, 0.1) == [one, end]
    assert order.arrived(event(2), 0.2) == []
    assert order.deadline() is None


def test_down_of_a_killed_agent_leaves_time_for_what_was_under_way() -> None:
    """Where nothing was announced Down waits a moment; all monitors get theirs then."""
    order = Ordering()
    ends = [down(None, "killed"), down(None, "killed")]
    assert [order.arrived(end, 0.0) for end in ends] == [[], []]
    one = event(1)
    assert order.arrived(one, 0.01) == [one]
    assert order.due(KILLED_WAIT_S) == ends


def test_down_of_nobody_comes_at_once() -> None:
    """C255: Down(noproc) does not wait."""
    end = down(None, "noproc")
    assert Ordering().arrived(end, 0.0) == [end]


def test_agents_do_not_wait_for_each_other() -> None:
    """C250: a gap of one agent holds up nobody else."""
    order = Ordering()
    order.arrived(event(2), 0.0)
    other = event(1, NEW)
    assert order.arrived(other, 0.0) == [other]


def test_where_the_base_keeps_order_no_number_is_waited_for() -> None:
    """C243: numbers before the first that comes were for whoever had this address before; those after it are
    still what `Down` waits for.
    """
    order = Ordering(lambda: True)
    five, seven, end = event(5), event(7), down(8)
    assert order.arrived(five, 0.0) == [five]
    assert order.arrived(five, 0.0) == []
    assert order.arrived(end, 0.0) == []
    assert order.arrived(seven, 0.0) == [seven]
    eight = event(8)
    assert order.arrived(eight, 0.0) == [eight, end]
