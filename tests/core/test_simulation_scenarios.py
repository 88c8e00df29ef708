"""One agent by hand in virtual time: what a user's own test looks like, and rules that need long waits."""

from __future__ import annotations

from typing import Any

import pytest

from gen_agent.agent import Decision, Prompt
from gen_agent.errors import (
    AgentTerminated,
    BackendError,
    Cancelled,
    ConflictingSessionId,
    Draining,
    GenAgentError,
    Halted,
    InitFailed,
    Interrupted,
    Overloaded,
    WatchdogTimeout,
    WorkerCrashed,
)
from gen_agent.events import Event
from gen_agent.testing.simulation import Die, Hang, Pause, Simulation, checkpoint, crash, fail, reply
from gen_agent.values import RequestRef
from tests.core.simulated_agents import Listener, Restless


def simulation(*script: Any, **more: Any) -> Simulation:
    """A listener that plays `script`."""
    return Simulation(Listener, script or (reply("hello", "there"),), **more)


def test_answer_arrives_and_state_is_seen() -> None:
    """C106: an ask is answered with its turn's response; options and state are those of the agent."""
    sim = simulation(options={"cwd": "here"})
    ref = sim.ask("hi")
    assert sim.outcome(ref) is None
    assert sim.settle()
    assert sim.outcome(ref).text == "hellothere"
    assert sim.outcome(ref).prompt == "hi"
    assert sim.state == ("here", "hellothere")
    assert sim.agent.sent == [("somebody", "hellothere")]


def test_events_arrive_before_the_completion() -> None:
    """C175, C176: a streamed tell gets its events, the terminal one included."""
    sim = simulation()
    ref = sim.tell("hi", stream=True)
    sim.settle()
    assert [event.kind for event in sim.events(ref)] == ["text", "text", "result"]
    heard = [line for line in sim.trace if "hears" in line]
    assert [line.split()[4] for line in heard] == ["Answer", "Relay", "Relay", "Relay", "Complete"]


@pytest.mark.parametrize(
    ("turn", "error"),
    [
        (fail(BackendError("sim", "busy")), BackendError("sim", "busy")),
        (crash(ValueError("secret")), WorkerCrashed("ValueError")),
        ((Event.text("a"), Die("SIGSEGV")), WorkerCrashed("SIGSEGV")),
        ((checkpoint("one"), checkpoint("two"), Event.result("x")), ConflictingSessionId()),
    ],
)
def test_turn_that_fails(turn: Any, error: GenAgentError) -> None:
    """C037, C189: each way to fail reaches the caller and `handle_error`, and the next turn works."""
    sim = simulation(turn, reply("fine"))
    first, second = sim.ask("one"), sim.ask("two")
    sim.settle()
    assert sim.outcome(first) == error
    assert sim.outcome(second).text == "fine"
    assert sim.state[1:] == (error.code, "fine")


def test_watchdog_counts_from_the_start_of_the_turn() -> None:
    """C182, C183: a queued request does not use up its time while it waits, and a hanging one ends in
    time."""
    sim = simulation((Pause(90.0), Event.result("slow")), Hang(), watchdog_s=100.0)
    slow, hanging = sim.ask("slow"), sim.ask("hanging")
    sim.settle(150.0)
    assert sim.outcome(slow).text == "slow"
    assert sim.outcome(slow).duration_s == pytest.approx(90.0)
    assert sim.outcome(hanging) is None
    sim.settle()
    assert sim.outcome(hanging) == WatchdogTimeout(100.0)
    assert sim.world.now < 200.0


def test_idle_watchdog_waits_for_each_event() -> None:
    """C183: with an idle limit every event gives the turn as much time again."""
    steady = (Pause(8.0), Event.text("a"), Pause(8.0), Event.text("b"), Pause(8.0), Event.result("c"))
    sim = simulation(steady, (Event.text("a"), Hang()), idle_watchdog_s=10.0)
    first, second = sim.ask("steady"), sim.ask("silent")
    sim.settle()
    assert sim.outcome(first).text == "c"
    assert sim.outcome(second) == WatchdogTimeout(10.0, True)


def test_halted_agent_keeps_its_queue() -> None:
    """C084, C085: while halted work waits without a watchdog, but for what is to fail."""
    sim = simulation(reply("done"), watchdog_s=1.0)
    sim.halt()
    waits, fails = sim.tell("waits"), sim.tell("fails", on_halt="fail")
    sim.settle(1000.0)
    assert sim.outcome(fails) == Halted()
    assert sim.outcome(waits) is None
    sim.resume()
    sim.settle()
    assert sim.outcome(waits).text == "done"


def test_interrupt_cancel_and_overload() -> None:
    """C119, C123, C148: each ends exactly its own request."""
    sim = simulation(Hang(), reply("next"), max_pending_prompts=2, watchdog_s=None)
    running, queued, last, refused = (sim.tell(text) for text in ("a", "b", "c", "d"))
    sim.settle()
    assert sim.outcome(refused) == Overloaded("prompts", "count", 2, 2, 1, 2, 1_048_576)
    sim.cancel(queued)
    sim.interrupt()
    sim.settle()
    assert sim.outcome(running) == Interrupted()
    assert sim.outcome(queued) == Cancelled()
    assert sim.outcome(last).text == "next"


def test_drain_finishes_the_active_turn() -> None:
    """C088, C213: the active turn is the last, what waits is refused, and the agent ends as normal."""
    sim = simulation((Pause(5.0), Event.result("last")))
    active, waiting = sim.submit("active"), sim.submit("waiting")
    sim.settle(1.0)
    sim.drain()
    sim.settle()
    assert sim.outcome(active).text == "last"
    assert sim.outcome(waiting) == Draining()
    assert sim.ended == "normal"


def test_stop_answers_asks_and_kill_does_not() -> None:
    """C109, C115: an orderly stop answers asks; of a kill clients only see the end."""
    stopped, killed = simulation(Hang()), simulation(Hang())
    first, second = stopped.ask("one"), killed.ask("one")
    for sim in (stopped, killed):
        sim.settle(1.0)
    stopped.stop()
    killed.kill()
    for sim in (stopped, killed):
        sim.settle()
        assert sim.clients[0].downs == [1]
    assert stopped.outcome(first) == AgentTerminated("shutdown")
    assert killed.outcome(second) is None
    assert (stopped.ended, killed.ended) == ("shutdown", "killed")


def test_queued_ask_goes_with_its_caller() -> None:
    """C108: the queued ask of a dead process never runs, its active one does."""
    sim = simulation((Pause(5.0), Event.result("x")), clients=2)
    sim.ask("active")
    sim.ask("queued")
    sim.settle(1.0)
    sim.clients[0].crash()
    other = sim.clients[1].ask("other")
    sim.settle()
    assert len(sim.ledger.turns) == 2
    assert sim.outcome(other).text == "x"


def test_new_incarnation_starts_afresh() -> None:
    """C012: after its end an agent can be started again, with fresh state and without the old requests."""
    sim = simulation((Pause(5.0), Event.result("x")))
    lost = sim.tell("lost")
    sim.settle(1.0)
    sim.kill()
    sim.start_again()
    found = sim.tell("found")
    sim.settle()
    assert sim.outcome(lost) is None
    assert sim.outcome(found).text == "x"
    assert sim.state == ("nowhere", "x")


def test_agent_wakes_itself() -> None:
    """C040: what `wakeup_after` was given arrives in `handle_info`, in virtual time."""
    sim = simulation()
    sim.notify("sleepy")
    sim.settle()
    assert sim.state == ("nowhere", "sleepy", "awake")
    assert sim.world.now > 60.0


class Insistent(Listener):
    """Tries again until it works."""

    def handle_error(self, ref: RequestRef, error: GenAgentError, state: tuple[Any, ...]) -> Decision:
        return Prompt("again", (*state, error.code))


def test_retries_stay_one_request() -> None:
    """C130, C138, C140: watchdog and crash are retried under one ref, whose events all arrive before one
    outcome."""
    script = (Hang(), (Event.text("no"), Die()), reply("yes"))
    sim = Simulation(Insistent, script, watchdog_s=2.0)
    ref = sim.submit("once", stream=True)
    sim.settle()
    assert sim.outcome(ref).text == "yes"
    assert sim.clients[0].admissions == {ref: None}
    assert [tag.attempt for _, tag in sim.ledger.turns] == [1, 2, 3]
    assert [event.kind for event in sim.events(ref)] == ["text", "text", "result"]


class Broken(Listener):
    """Can't start."""

    def init_agent(self, options: Any) -> Any:
        raise ValueError("secret")


def test_start_that_fails_raises() -> None:
    """C017: a failed start raises what `start_agent` would raise, and bad arguments are refused."""
    with pytest.raises(InitFailed) as caught:
        Simulation(Broken, [reply("x")])
    assert caught.value == InitFailed("error", "ValueError")
    with pytest.raises(ValueError, match="script"):
        Simulation(Restless, [])
    with pytest.raises(ValueError, match="max_pending_prompts"):
        simulation(max_pending_prompts=-1)
