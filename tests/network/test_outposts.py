"""What a supervisor makes of other systems, without any: placing, beats and losses on a stage of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from gen_agent.actors.children import CannotCreate, Child
from gen_agent.actors.convention import LEADER
from gen_agent.actors.far import FarSupervisor
from gen_agent.actors.heartbeat import BEAT_S, MISSED, Pulse
from gen_agent.actors.identity import host, machine
from gen_agent.actors.internal import Beat, Dismiss, Kill, Settle, Settled, Spawn
from gen_agent.actors.outpost import OutpostActor
from gen_agent.actors.outposts import OUTPOST, Outposts
from gen_agent.client.protocol import VERSION_CAPABILITY
from gen_agent.envelopes import VERSION
from gen_agent.messages import Reply, StartAgent
from tests.actors.crew import Diary

GPU = {"gpu": True}


class Stage:
    """A supervisor that notes what it is made to do. `fails` has nothing created."""

    def __init__(self, **capabilities: Any) -> None:
        self.capabilities: Mapping[str, Any] = {VERSION_CAPABILITY: VERSION, **capabilities}
        self.sent: list[tuple[Any, Any]] = []
        self.made: list[Mapping[str, Any]] = []
        self.ended: list[tuple[int, Any]] = []
        self.deadlines: dict[Any, float] = {}
        self.fails = False
        self.dead: list[Callable[[], None]] = []
        self.given_up: list[Any] = []

    def send(self, address: Any, message: Any) -> None:
        """Note it."""
        self.sent.append((address, message))

    def send_or(self, address: Any, message: Any, dead: Callable[[], None]) -> None:
        """Note it, and whom to tell that nobody is there."""
        self.send(address, message)
        self.dead.append(dead)

    def create_away(self, actor: Any, requirements: Mapping[str, Any]) -> Child:
        """Note it; the address is a number."""
        if self.fails:
            raise CannotCreate
        self.made.append(requirements)
        return Child(f"outpost {len(self.made)}")

    def disown(self, child: Child) -> None:
        """Nobody waits here."""

    def give_up(self, address: Any) -> None:
        """Note it."""
        self.given_up.append(address)

    def refused(self, token: int, error: Any) -> None:
        """Note it."""
        self.ended.append((token, error.kind))

    def lost(self, token: int, reason: str) -> None:
        """Note it."""
        self.ended.append((token, reason))

    def set_deadline(self, key: Any, seconds: float) -> None:
        """Note it."""
        self.deadlines[key] = seconds

    def clear_deadline(self, key: Any) -> None:
        """Forget it."""
        self.deadlines.pop(key, None)

    def kinds(self) -> list[type]:
        """The classes of what was sent, since they were last asked for."""
        found = [type(message) for _, message in self.sent]
        self.sent.clear()
        return found


def start() -> StartAgent:
    """An agent that has requirements."""
    return StartAgent(Diary, name="a", backend="echo", options={"requirements": GPU})


def settled(stage: Stage, *tokens: int) -> Outposts:
    """One outpost with these agents, ready."""
    posts = Outposts(stage, OutpostActor)
    for token in tokens:
        posts.spawn(token, start(), GPU)
    posts.settled(Settled(("elsewhere", "1")), "outpost 1")
    stage.sent.clear()
    return posts


def pass_time(stage: Stage, posts: Outposts, what: str, number: int = 1) -> None:
    """Let a deadline come."""
    del stage.deadlines[OUTPOST, what, number]
    posts.on_deadline(what, number)


def test_an_agent_is_placed_once_its_outpost_has_settled() -> None:
    """An outpost is made for requirements that are not met here, of the same version, and serves them all."""
    stage = Stage()
    posts = Outposts(stage, OutpostActor)
    assert (posts.needed(GPU), posts.needed({})) == (True, False)
    posts.spawn(1, start(), GPU)
    posts.spawn(2, start(), GPU)
    assert stage.made == [{VERSION_CAPABILITY: VERSION, **GPU}]
    assert stage.kinds() == [Settle]
    posts.settled(Settled(("elsewhere", "1")), "outpost 1")
    assert stage.kinds() == [Spawn, Spawn]
    posts.spawn(3, start(), GPU)
    assert stage.kinds() == [Spawn]
    assert all(posts.has(token) for token in (1, 2, 3))


def test_what_this_system_has_needs_no_outpost() -> None:
    """Requirements that are met here are met here, with the value that is asked for."""
    posts = Outposts(Stage(gpu=True), OutpostActor)
    assert [posts.needed(one) for one in (GPU, {"gpu": 2}, {"gpu": True, "tpu": 1})] == [False, True, True]


def test_nothing_beats_where_nobody_is() -> None:
    """A heartbeat costs nothing before the first and after the last agent elsewhere."""
    stage = Stage()
    assert stage.deadlines == {}
    posts = settled(stage, 1, 2)
    assert list(stage.deadlines) == [(OUTPOST, "beat", 1)]
    posts.left(1)
    assert stage.kinds() == []
    posts.left(2)
    assert stage.kinds() == [Dismiss]
    assert (stage.deadlines, len(posts)) == ({}, 0)


def test_beats_that_are_answered_go_on() -> None:
    """One answer in time is enough to start counting anew."""
    stage = Stage()
    posts = settled(stage, 1)
    for _ in range(3):
        for _ in range(MISSED):
            pass_time(stage, posts, "beat")
        posts.heard("outpost 1")
    assert set(stage.kinds()) == {Beat}
    assert stage.ended == []


def test_beats_that_are_not_answered_end_in_a_loss() -> None:
    """C255: after five beats without an answer every agent there is unreachable, once, and nothing beats."""
    stage = Stage()
    posts = settled(stage, 1, 2)
    for _ in range(MISSED):
        pass_time(stage, posts, "beat")
    assert stage.ended == []
    pass_time(stage, posts, "beat")
    assert stage.ended == [(1, "unreachable"), (2, "unreachable")]
    assert (stage.deadlines, stage.given_up, len(posts)) == ({}, ["outpost 1"], 0)
    posts.heard("outpost 1")
    assert not posts.exited("outpost 1")
    assert len(stage.ended) == 2


def test_an_outpost_that_is_dead_is_lost_at_once() -> None:
    """C255: where the other machine says that nobody is there, or tells of the end, agents were killed."""
    for way in ("nobody there", "told"):
        stage = Stage()
        posts = settled(stage, 1)
        pass_time(stage, posts, "beat")
        if way == "told":
            assert posts.exited("outpost 1")
        stage.dead[0]()
        assert stage.ended == [(1, "killed")]


def test_a_refusal_is_final_for_a_system_by_itself() -> None:
    """A system without a leader has nobody to wait for."""
    stage = Stage()
    posts = Outposts(stage, OutpostActor)
    posts.spawn(1, start(), GPU)
    assert posts.exited("outpost 1")
    assert (stage.ended, len(posts), stage.deadlines) == ([(1, "requirements")], 0, {})


def test_members_may_still_be_joining() -> None:
    """In a convention it is tried again until it works or time is up."""
    stage = Stage(**{LEADER: ("127.0.0.1", 1)})
    posts = Outposts(stage, OutpostActor)
    posts.spawn(1, start(), GPU)
    assert posts.exited("outpost 1")
    pass_time(stage, posts, "again")
    assert len(stage.made) == 2
    posts.settled(Settled(("elsewhere", "1")), "outpost 2")
    assert (stage.ended, stage.kinds()) == ([], [Settle, Settle, Spawn])
    posts.spawn(2, start(), {"tpu": 1})
    pass_time(stage, posts, "placing", 2)
    assert stage.ended == [(2, "requirements")]


def test_an_outpost_that_comes_too_late_is_sent_away() -> None:
    """What was given up is dismissed when it settles after all."""
    stage = Stage()
    posts = Outposts(stage, OutpostActor)
    posts.spawn(1, start(), GPU)
    posts.kill(1)
    assert stage.ended == [(1, "requirements")]
    posts.left(1)
    stage.sent.clear()
    posts.settled(Settled(("elsewhere", "1")), "outpost 1")
    assert stage.kinds() == [Dismiss]


def test_no_process_can_be_made() -> None:
    """Where nothing can be made any more the start is refused."""
    stage = Stage(**{LEADER: ("127.0.0.1", 1)})
    posts = Outposts(stage, OutpostActor)
    stage.fails = True
    with pytest.raises(CannotCreate):
        posts.spawn(1, start(), GPU)
    stage.fails = False
    posts.spawn(2, start(), GPU)
    posts.exited("outpost 1")
    stage.fails = True
    pass_time(stage, posts, "again", 2)
    assert stage.ended == [(2, "requirements")]


def test_a_kill_goes_where_the_process_is() -> None:
    """An agent elsewhere is killed by its outpost."""
    stage = Stage()
    posts = settled(stage, 1)
    posts.kill(1)
    posts.kill(2)
    assert [(address, type(message)) for address, message in stage.sent] == [("outpost 1", Kill)]


def test_two_machines_of_one_name_do_not_work_together() -> None:
    """A machine that is called as this one is refused: its processes would be looked up in our table."""
    stage = Stage()
    posts = Outposts(stage, OutpostActor)
    posts.spawn(1, start(), GPU)
    posts.settled(Settled((host(), "another boot")), "outpost 1")
    assert (stage.ended, stage.kinds()) == ([(1, "machine")], [Settle, Dismiss])
    posts.spawn(2, start(), GPU)
    posts.settled(Settled(machine()), "outpost 2")
    assert stage.kinds() == [Settle, Spawn]


def test_a_pulse_counts_beats() -> None:
    """Whoever was stopped itself, and beats once after an hour, takes nobody for dead."""
    pulse = Pulse()
    assert all(pulse.beat() for _ in range(MISSED))
    assert not pulse.beat()
    pulse.heard()
    assert pulse.beat()


def test_a_far_supervisor_is_greeted_every_second() -> None:
    """A script that joined from another machine loses a supervisor that answers no greeting, and no other."""
    far = FarSupervisor(100.0)
    assert far.seconds(100.0) == BEAT_S
    assert far.seconds(102.0) == 0
    hello = far.beat(101.0)
    assert hello is not None
    assert far.seconds(101.0) == BEAT_S
    assert not far.answered(Reply(start().call))
    assert far.answered(Reply(hello.call))
    assert all(far.beat(102.0 + beat) is not None for beat in range(MISSED))
    assert far.beat(110.0) is None
