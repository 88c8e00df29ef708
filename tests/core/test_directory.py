"""The supervisor's memory: names, monitors and restarts as plain data."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gen_agent.core.directory import (
    REMEMBERED,
    RESTART_WINDOW_S,
    RESTARTS,
    Directory,
    Ended,
    Entry,
    Monitors,
    Phase,
    Restarts,
    Watch,
)
from gen_agent.values import AgentAddress, Incarnation, mint, name_key

NAMES = st.recursive(
    st.text(max_size=3) | st.binary(max_size=3) | st.integers(0, 3),
    lambda inner: st.lists(inner, min_size=1, max_size=2).map(tuple),
    max_leaves=3,
)


def address(token: int, name: object = "a") -> AgentAddress:
    """The address of the agent under a token."""
    return AgentAddress(name, Incarnation("here", token, token, str(token)), f"actor {token}")


@given(st.lists(NAMES, max_size=12))
def test_a_name_has_one_holder(names: list[object]) -> None:
    """C010, C011: the first to reserve a name has it until it is released; names differ by type."""
    directory, first = Directory(), {}
    for token, name in enumerate(names):
        holder = directory.reserve(Entry(token, name))  # type: ignore[arg-type]
        key = name_key(name)  # type: ignore[arg-type]
        assert (None if holder is None else holder.token) == first.get(key)
        first.setdefault(key, token)
    assert len(directory) == len(first)
    for token in first.values():
        assert directory.release(token) is not None
        assert directory.release(token) is None
    assert len(directory) == 0


def test_a_starting_agent_is_reserved_but_not_registered() -> None:
    """C019: a name in use by a start is taken, yet neither found nor listed before the agent is up."""
    directory = Directory()
    directory.reserve(Entry(1, "a"))
    assert directory.find("a") is None
    assert directory.names() == ()
    directory.up(1, address(1))
    assert directory.find("a") == address(1)
    assert directory.names() == ("a",)
    assert directory.up(2, address(2)) is None


def test_targets_mean_exactly_one_entry() -> None:
    """C211: an address means its incarnation, whoever has its name now."""
    directory = Directory()
    directory.reserve(Entry(1, "a"))
    directory.up(1, address(1))
    directory.release(1, Ended("killed"))
    directory.reserve(Entry(2, "a"))
    directory.up(2, address(2))
    assert directory.whom(address(1)) is None
    found = directory.whom(address(2))
    assert found is not None
    assert found.token == 2
    assert directory.whom("a") == found
    assert directory.at("actor 2") == found
    assert directory.at("actor 1") is None
    assert directory.ended(address(1).incarnation) == Ended("killed")
    assert directory.ended(address(2).incarnation) is None


def test_phases_follow_each_other() -> None:
    """An entry is starting, then up, then stopping; what is unknown changes nothing."""
    directory = Directory()
    directory.reserve(Entry(1, "a"))
    phases = [directory.entry(1)]
    directory.up(1, address(1))
    phases.append(directory.entry(1))
    directory.stopping(1)
    phases.append(directory.entry(1))
    directory.stopping(7)
    assert [entry.phase for entry in phases if entry] == [Phase.STARTING, Phase.UP, Phase.STOPPING]


def test_ends_are_remembered_for_a_bounded_number() -> None:
    """The memory of ended incarnations does not grow without limit; the oldest go first."""
    directory = Directory()
    for token in range(REMEMBERED + 5):
        directory.reserve(Entry(token, token))
        directory.up(token, address(token, token))
        directory.release(token, Ended("normal"))
    assert directory.ended(address(0, 0).incarnation) is None
    assert directory.ended(address(REMEMBERED + 4).incarnation) == Ended("normal")


def test_monitors_of_whoever_is_gone_are_dropped() -> None:
    """C255: scripts that were killed take no monitor back: of thousands a bounded number stays, and all of
    those who are there.
    """
    monitors = Monitors(lambda recipient: recipient != "here")
    mine = [Watch(mint.monitor(), "here", address(1)) for _ in range(2)]
    monitors.add(mine[0])
    for number in range(1_000):
        monitors.add(Watch(mint.monitor(), f"script {number}", address(1)))
    monitors.add(mine[1])
    assert len(monitors) < 100
    taken = monitors.take(address(1).incarnation)
    assert [watch for watch in taken if watch.recipient == "here"] == mine
    assert len(monitors) == 0


def test_each_monitor_is_taken_once() -> None:
    """C255: an incarnation's monitors come out once, in order; dropped ones never."""
    monitors = Monitors()
    watches = [Watch(mint.monitor(), f"recipient {number}", address(1)) for number in range(3)]
    other = Watch(mint.monitor(), "recipient", address(2))
    for watch in (*watches, other, watches[0]):
        monitors.add(watch)
    monitors.drop(watches[1].ref)
    monitors.drop(mint.monitor())
    assert monitors.take(address(1).incarnation) == (watches[0], watches[2])
    assert monitors.take(address(1).incarnation) == ()
    assert len(monitors) == 1
    monitors.drop(other.ref)
    assert monitors.take(address(2).incarnation) == ()


def test_policies_decide_by_reason() -> None:
    """C012, C013: temporary never, transient after anything but an orderly end, permanent always."""
    orderly = ("normal", "shutdown", "registry_lost")
    for reason in ("killed", "callback_failed", *orderly):
        restarts = Restarts()
        assert not restarts.allowed("a", "temporary", reason, 0.0)
        assert restarts.allowed("a", "transient", reason, 0.0) is (reason not in orderly)
        assert restarts.allowed("b", "permanent", reason, 0.0)


def test_restarts_are_counted_in_a_window() -> None:
    """C013: at most three restarts of one name within five seconds; later ones are allowed again."""
    restarts = Restarts()
    times = [0.0, 1.0, 2.0]
    assert all(restarts.allowed("a", "permanent", "killed", now) for now in times)
    assert len(times) == RESTARTS
    assert restarts.allowed("b", "permanent", "killed", 2.5)
    assert restarts.allowed("a", "permanent", "killed", RESTART_WINDOW_S)
    assert not restarts.allowed("a", "permanent", "killed", RESTART_WINDOW_S + 0.5)
    assert restarts.allowed("a", "permanent", "killed", RESTART_WINDOW_S + 0.6), "a name given up starts anew"
