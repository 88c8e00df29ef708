"""AgentSystem on every base: what scripts ask of agents, and what comes back."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest

from gen_agent import (
    AgentDown,
    AgentNotFound,
    AlreadyStarted,
    Cancelled,
    InitAgentFailed,
    Interrupted,
    RequestNotFound,
    Unpicklable,
)
from gen_agent.backends.scripted import Stage, reply
from gen_agent.errors import CallTimeout
from gen_agent.messages import Admission, Completion
from gen_agent.values import AgentAddress, mint
from tests.actors.crew import ALL, BASES, Diary, held, running, scripted


@pytest.mark.parametrize("base", ALL)
def test_life_of_an_agent(base: str) -> None:
    """C001: an agent is started, found, asked and stopped, and its name is free again."""
    with running(base) as agents:
        address = agents.start_agent(Diary, name="a", backend="echo")
        assert isinstance(address, AgentAddress)
        assert agents.whereis("a") == address
        assert agents.list() == ["a"]
        assert agents.status("a").state == "idle"
        assert agents.ask("a", "hello").text == "echo: hello"
        assert agents.ask(address, "again").text == "echo: again"
        assert agents.status(address).agent_state == ("echo: hello", "echo: again")
        agents.stop("a")
        assert agents.whereis("a") is None
        assert agents.list() == []
        with pytest.raises(AgentNotFound):
            agents.ask("a", "anybody?")


@pytest.mark.parametrize("base", ALL)
def test_names_are_told_apart_by_type(base: str) -> None:
    """C011: 1, "1", b"1" and ("1",) are four names."""
    names = [1, "1", b"1", ("1", 1)]
    with running(base) as agents:
        addresses = [agents.start_agent(Diary, name=name, backend="echo") for name in names]
        assert len(set(addresses)) == 4
        assert [agents.whereis(name) for name in names] == addresses
        assert sorted(map(repr, agents.list())) == sorted(map(repr, names))


@pytest.mark.parametrize("base", ALL)
def test_a_name_is_taken_once(base: str) -> None:
    """C010: a second start under a name is AlreadyStarted with the first's address, which is untouched."""
    with running(base) as agents:
        first = agents.start_agent(Diary, name="a", backend="echo")
        agents.ask(first, "kept")
        with pytest.raises(AlreadyStarted) as caught:
            agents.start_agent(Diary, name="a", backend="echo")
        assert caught.value.address == first
        assert agents.status("a").agent_state == ("echo: kept",)


@pytest.mark.parametrize("base", ALL)
def test_a_refused_start_leaves_the_name_free(base: str) -> None:
    """C017: what init_agent refuses with comes back, and the name can be used at once."""
    with running(base) as agents:
        with pytest.raises(InitAgentFailed) as caught:
            agents.start_agent(Diary, name="a", backend="echo", refuse="not today")
        assert caught.value.reason == "not today"
        assert agents.whereis("a") is None
        assert agents.start_agent(Diary, name="a", backend="echo").name == "a"


@pytest.mark.parametrize("base", ALL)
def test_a_dead_address_is_down_and_an_absent_name_is_not_found(base: str) -> None:
    """C102, C207: only the look-up of a name can be AgentNotFound."""
    with running(base) as agents:
        address = agents.start_agent(Diary, name="a", backend="echo")
        agents.stop(address)
        for call in (agents.status, agents.runtime_snapshot, agents.drain, agents.reset_session, agents.stop):
            with pytest.raises(AgentNotFound):
                call("a")
            with pytest.raises(AgentDown):
                call(address)
        with pytest.raises(AgentDown) as caught:
            agents.ask(address, "hello")
        assert caught.value.reason in ("shutdown", "noproc")
        with pytest.raises(AgentNotFound):
            agents.poll("a", mint.request())
        assert agents.notify(address, "x") == "not_alive"


@pytest.mark.parametrize("base", ALL)
def test_casts_to_nobody_are_silent(base: str) -> None:
    """C103: notify, interrupt, halt and resume return None for a name nobody has."""
    with running(base) as agents:
        assert agents.notify("a", "x") is None
        assert agents.interrupt("a") is None
        assert agents.halt("a") is None
        assert agents.resume("a") is None


@pytest.mark.parametrize("base", ALL)
def test_casts_and_calls_of_one_script_keep_their_order(base: str) -> None:
    """C239: what was cast before a call is handled before it, by name and by address."""
    with running(base) as agents:
        address = agents.start_agent(Diary, name="a", backend="echo")
        for number in range(50):
            agents.notify("a" if number % 2 else address, number)
        assert agents.status("a").agent_state == tuple(range(50))


@pytest.mark.parametrize("base", ALL)
def test_a_submit_answers_admission_then_completion(base: str) -> None:
    """C198, C200: the admission comes first, then the one completion, both for that ref."""
    with running(base) as agents:
        address = agents.start_agent(Diary, name="a", backend="echo")
        ref = agents.submit_with_completion(address, "hello")
        admission, completion = agents.receive(timeout=10), agents.receive(timeout=10)
        assert isinstance(admission, Admission)
        assert (admission.ref, admission.agent, admission.accepted) == (ref, "a", True)
        assert isinstance(completion, Completion)
        assert (completion.ref, completion.result().text) == (ref, "echo: hello")


@pytest.mark.parametrize("base", ALL)
def test_completion_takes_its_own_message_only(base: str) -> None:
    """C112: completions are told apart by ref, in any order; the rest stays queued in order."""
    with running(base) as agents:
        address = agents.start_agent(Diary, name="a", backend="echo")
        refs = [agents.tell_with_completion(address, str(number)) for number in range(3)]
        assert agents.completion(refs[2], timeout=10).result().text == "echo: 2"
        assert [agents.receive(timeout=10).ref for _ in range(2)] == refs[:2]
        with pytest.raises(RequestNotFound):
            agents.completion(refs[0])
        with pytest.raises(RequestNotFound):
            agents.completion(mint.request())


@pytest.mark.parametrize("base", ALL)
def test_a_refused_submit_raises_its_admission_error(base: str) -> None:
    """C199: completion(ref) of a submit that was not admitted raises why, and no completion comes."""
    with running(base) as agents:
        address = agents.start_agent(Diary, name="a", backend="echo")
        agents.halt(address)
        ref = agents.submit_with_completion(address, "hello", on_halt="fail")
        with pytest.raises(Exception, match="halted"):
            agents.completion(ref, timeout=10)


@pytest.mark.parametrize("base", ALL)
def test_receive_leaves_what_does_not_match(base: str) -> None:
    """receive(match) gives the first that matches; the others stay in order; None when nothing comes."""
    with running(base) as agents:
        address = agents.start_agent(Diary, name="a", backend="echo")
        agents.submit_with_completion(address, "one")
        found = agents.receive(lambda message: isinstance(message, Completion), timeout=10)
        assert found.result().text == "echo: one"
        assert isinstance(agents.receive(timeout=10), Admission)
        assert agents.receive(timeout=0.05) is None


@pytest.mark.parametrize("base", ALL)
def test_a_stream_gives_events_and_then_the_response(base: str) -> None:
    """C175: all events in order, then the end; the response is there afterwards and not before."""
    with running(base) as agents:
        agents.start_agent(Diary, name="a", backend="echo")
        with agents.stream("a", "hello", timeout=10) as stream:
            kinds = []
            for event in stream:
                kinds.append(event.kind)
                if len(kinds) == 1 and base != "simpleSystemBase":
                    assert stream.ref is not None
            assert kinds[-1] == "result"
        assert stream.response.text == "echo: hello"
        assert stream.dropped_events == 0
        assert agents.receive(timeout=0.05) is None


@pytest.mark.parametrize("base", BASES)
def test_a_stream_closed_early_ends_exactly_its_request(base: str) -> None:
    """Leaving the block interrupts a running request and cancels a queued one; the next runs as if nothing
    was."""
    with Stage() as stage, running(base) as agents:
        address = agents.start_agent(Diary, name="a", **scripted(stage, held(), reply("second")))
        with agents.stream(address, "first", timeout=20) as running_one:
            stage.wait_blocked("held")
            with agents.stream(address, "queued", timeout=20) as queued:
                pass
            with pytest.raises(Cancelled):
                _ = queued.response
        with pytest.raises(Interrupted):
            _ = running_one.response
        assert agents.ask(address, "second").text == "second"
        assert agents.receive(timeout=0.1) is None
        assert stage.history() == ("first", "second")


@pytest.mark.parametrize("base", BASES)
def test_a_timed_out_ask_still_runs(base: str) -> None:
    """C107: CallTimeout names target and limit, does not cancel, and its late reply is nobody else's."""
    with Stage() as stage, running(base) as agents:
        address = agents.start_agent(Diary, name="a", **scripted(stage, held(), reply("second")))
        with pytest.raises(CallTimeout) as caught:
            agents.ask(address, "first", timeout=0.3)
        assert (caught.value.target, caught.value.timeout) == (address, 0.3)
        stage.release("held")
        assert agents.ask(address, "second", timeout=20).text == "second"
        assert stage.history() == ("first", "second")


@pytest.mark.parametrize("base", BASES)
def test_submitting_never_waits(base: str) -> None:
    """C195, C205: ten submits return while the agent's callback holds it; admissions follow afterwards."""
    with Stage() as stage, running(base) as agents:
        address = agents.start_agent(Diary, name="a", backend="echo")
        agents.notify(address, ("hold", stage.address, "callback"))
        stage.wait_blocked("callback")
        refs = [agents.submit_with_completion(address, str(number)) for number in range(10)]
        stage.release("callback")
        assert [agents.completion(ref, timeout=20).result().text for ref in refs] == [
            f"echo: {number}" for number in range(10)
        ]


def test_what_can_not_be_pickled_is_told_in_the_caller() -> None:
    """Unpicklable names what and type; nothing is sent."""
    with running("simpleSystemBase") as agents:
        agents.start_agent(Diary, name="a", backend="echo")
        with pytest.raises(Unpicklable) as caught:
            agents.notify("a", lambda: None)
        assert caught.value.what == "event"
        assert agents.status("a").agent_state == ()


@pytest.mark.parametrize("base", BASES)
def test_a_stream_of_many_events_is_whole_and_in_order(base: str) -> None:
    """C175, C176: thousands of events arrive in order, none twice, and what was dropped is counted."""
    count = 5_000
    with Stage() as stage, running(base) as agents:
        script = reply(*(str(number) for number in range(count)))
        address = agents.start_agent(Diary, name="a", max_relay_events=2 * count, **scripted(stage, script))
        with agents.stream(address, "go", timeout=60) as stream:
            texts = [event.data["text"] for event in stream if event.kind == "text"]
        assert stream.dropped_events == 0
        assert texts == [str(number) for number in range(count)]


def test_an_interrupted_start_is_undone(tmp_path: Path) -> None:
    """Ctrl-C while an agent starts ends its process and frees the name before the exception comes out."""
    hanging = tmp_path / "pid"
    with running("genAgentTCPBase") as agents:
        thread = threading.Thread(target=lambda: _interrupt_when(hanging))
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            agents.start_agent(Diary, name="a", backend="echo", hang=str(hanging), timeout=60)
        thread.join()
        assert not os.path.exists(f"/proc/{hanging.read_text()}")
        assert agents.start_agent(Diary, name="a", backend="echo").name == "a"


def _interrupt_when(path: Path) -> None:
    while not path.exists():
        threading.Event().wait(0.02)
    os.kill(os.getpid(), signal.SIGINT)
