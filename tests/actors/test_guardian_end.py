"""Systems under a guardian: however they end, nothing outlives them."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from gen_agent.actors import guardian
from gen_agent.actors.guardian import GuardianHandle, start_guardian
from gen_agent.actors.keys import key_path, read_key
from gen_agent.actors.processes import ProcessId, Watched
from tests.actors import standins
from tests.actors.guarded import OWNER, ROOT, Everyone, guarded, joined, owner

GONE_S = 2.9
"""The bound on a busy machine (a quiet one takes a tenth), below what agents of a broken system get."""


def vital(handle: GuardianHandle) -> dict[str, ProcessId]:
    info = handle.info
    return {"admin": info.admin, "logger": info.logger, "supervisor": info.supervisor}


@pytest.mark.parametrize("victim", ["admin", "logger"])
def test_the_death_of_a_vital_process_ends_everything(victim: str) -> None:
    """When admin or logger is killed, the whole system goes, its tools too, port and key file
    with it."""
    with guarded() as handle:
        with joined(handle.info) as (system, supervisor):
            system.ask(supervisor, ("begin", None), 10)
        everyone = Everyone.of(handle.info)
        vital(handle)[victim].signal(signal.SIGKILL)
        everyone.gone_within(GONE_S)
        assert handle.ended
        everyone.left_nothing()


@pytest.mark.parametrize("victim", ["admin", "logger"])
def test_agents_of_a_broken_system_may_finish(victim: str, tmp_path: Path) -> None:
    """C014: what follows its parent's death in an orderly way is given the time, and it all ends at once
    after."""
    mark = tmp_path / "mark"
    with guarded() as handle:
        with joined(handle.info) as (system, supervisor):
            system.ask(supervisor, ("begin", str(mark)), 10)
        everyone = Everyone.of(handle.info)
        vital(handle)[victim].signal(signal.SIGKILL)
        everyone.gone_within(GONE_S)
        assert mark.read_text() == "finished"


def test_what_a_killed_agent_leaves_is_killed() -> None:
    """C100: the tools of an agent that was killed come to the guardian, which ends them while the system goes
    on."""
    with guarded() as handle, joined(handle.info) as (system, supervisor):
        agent, tool = system.ask(supervisor, ("begin", None), 10)
        with Watched(tool) as watched:
            ProcessId.of(agent).signal(signal.SIGKILL)
            assert watched.wait(GONE_S)
        assert system.ask(supervisor, "capabilities", 10)
        assert not handle.ended


def test_a_killed_guardian_takes_all_with_it_and_the_next_one_sweeps() -> None:
    """The kernel ends the system of a killed guardian; its files go with the next start, and no others do."""
    with guarded() as living:
        handle = start_guardian(supervisor=standins.SUPERVISOR)
        everyone = Everyone.of(handle.info)
        handle.info.guardian.signal(signal.SIGKILL)
        everyone.gone_within(GONE_S)
        assert key_path(handle.port).exists()
        handle.close()
        with guarded():
            everyone.left_nothing()
            assert read_key(living.port) == living.key
            assert Path(living.info.directory).exists()


def test_close_lets_agents_finish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A closed system is asked to shut down, and waited for."""
    monkeypatch.setenv("STAND_IN_MARK", str(tmp_path / "mark"))
    with guarded():
        pass
    assert (tmp_path / "mark").read_text() == "orderly"


def test_close_is_bounded() -> None:
    """A supervisor that does not end is killed after the bound."""
    with guarded(supervisor=standins.DEAF_SUPERVISOR, shutdown_s=0.2) as handle:
        everyone = Everyone.of(handle.info)
        started = time.monotonic()
        handle.close()
        assert 0.2 <= time.monotonic() - started < GONE_S
        everyone.gone_within(0.0)


def test_close_of_a_stopped_supervisor_is_bounded() -> None:
    """A supervisor that takes no message at all is killed after the bound as well."""
    with guarded(shutdown_s=0.2) as handle:
        everyone = Everyone.of(handle.info)
        handle.info.supervisor.signal(signal.SIGSTOP)
        handle.close()
        everyone.gone_within(0.0)
        everyone.left_nothing()


def test_sigterm_ends_the_system_in_an_orderly_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A guardian that is asked to end by the usual signal does as if it were closed."""
    monkeypatch.setenv("STAND_IN_MARK", str(tmp_path / "mark"))
    with guarded() as handle:
        everyone = Everyone.of(handle.info)
        handle.info.guardian.signal(signal.SIGTERM)
        everyone.gone_within(GONE_S)
        everyone.left_nothing()
    assert (tmp_path / "mark").read_text() == "orderly"


@pytest.mark.parametrize("what", ["leave", "close"])
def test_an_owner_that_ends_takes_its_system_along(what: str) -> None:
    """An owner that exits, with or without closing, leaves nothing."""
    with owner(what) as (script, everyone):
        assert script.stdin is not None
        script.stdin.close()
        everyone.gone_within(GONE_S)
        assert script.wait() == 0
        everyone.left_nothing()


@pytest.mark.parametrize("what", ["leave", "fork"])
def test_a_killed_owner_takes_its_system_along(what: str) -> None:
    """Killed, it leaves nothing either, also when a fork of it still holds the other end of the socket."""
    with owner(what) as (script, everyone):
        script.kill()
        everyone.gone_within(GONE_S)
        everyone.left_nothing()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(script.pid, signal.SIGKILL)


def test_a_fork_of_the_owner_can_not_end_the_system() -> None:
    """A forked child that closes its copy of the handle changes nothing for its parent."""
    with guarded() as handle:
        child = os.fork()
        if child == 0:
            handle.close()
            os._exit(0)
        os.waitpid(child, 0)
        with joined(handle.info) as (system, supervisor):
            assert system.ask(supervisor, "capabilities", 10)


def test_ctrl_c_reaches_the_script_alone() -> None:
    """A SIGINT to the script's whole process group leaves the system to be closed by the script."""
    with owner("leave") as (script, everyone):
        assert all(os.getpgid(one.identity.pid) != script.pid for one in everyone.watched)
        os.killpg(script.pid, signal.SIGINT)
        assert script.wait() == 0
        everyone.gone_within(0.0)
        everyone.left_nothing()


def test_an_interrupted_start_leaves_nothing() -> None:
    """A KeyboardInterrupt while the system starts is passed on after all of it is gone."""
    former = signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    signal.setitimer(signal.ITIMER_REAL, 0.02)
    try:
        with pytest.raises(KeyboardInterrupt):
            start_guardian(supervisor=standins.SUPERVISOR)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)


def test_a_start_that_takes_too_long_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the limit a TimeoutError is raised, and all of it is gone."""
    monkeypatch.setattr(guardian, "START_S", 0.0)
    with pytest.raises(TimeoutError, match="did not start within"):
        start_guardian(supervisor=standins.SUPERVISOR)


def test_a_hung_guardian_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A guardian that does not answer to `close` within its time is killed, and the kernel ends the rest."""
    monkeypatch.setattr(guardian, "END_MARGIN_S", 0.1)
    handle = start_guardian(supervisor=standins.SUPERVISOR, shutdown_s=0.1)
    everyone = Everyone.of(handle.info)
    handle.info.guardian.signal(signal.SIGSTOP)
    handle.close()
    everyone.gone_within(GONE_S)
    with guarded():
        everyone.left_nothing()


def test_detach_of_an_owned_system_ends_it() -> None:
    """Who lets go of what is his alone ends it, without the time for last callbacks."""
    handle = start_guardian(supervisor=standins.SUPERVISOR)
    everyone = Everyone.of(handle.info)
    handle.detach()
    handle.detach()
    handle.close()
    everyone.gone_within(0.0)
    everyone.left_nothing()


def test_a_system_without_an_owner_outlives_its_script() -> None:
    """It goes on when the script has ended, is found by its port and key, and ends by a signal to the
    guardian."""
    with owner("detach", owned=False) as (script, everyone):
        assert script.wait() == 0
        guardian_watch = everyone.watched[0]
        assert not guardian_watch.wait(0.1)
        assert read_key(everyone.port)
        guardian_watch.signal(signal.SIGTERM)
        everyone.gone_within(GONE_S)
        everyone.left_nothing()


def test_a_system_without_an_owner_can_be_closed_by_its_starter() -> None:
    """The handle ends it as it ends one that is owned."""
    with guarded(owned=False) as handle:
        everyone = Everyone.of(handle.info)
        handle.close()
        everyone.gone_within(0.0)
        everyone.left_nothing()


def test_an_unowned_start_that_is_given_up_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as the starter has not taken it, a system that nobody owns ends with the socket."""
    monkeypatch.setattr(guardian, "START_S", 0.0)
    with pytest.raises(TimeoutError):
        start_guardian(supervisor=standins.SUPERVISOR, owned=False)


def run_owner(shell: str, what: str) -> Any:
    command = [sys.executable, "-c", OWNER, ROOT, what, "owned"]
    return subprocess.run(
        ["sh", "-c", shell, *command], stdin=subprocess.DEVNULL, capture_output=True, timeout=30, check=True
    )


@pytest.mark.parametrize("shell", ['"$0" "$@" | cat', '"$0" "$@"'])
def test_a_script_in_a_pipe_ends(shell: str) -> None:
    """`script | cat`, and a script whose output is captured, end when the script does."""
    assert run_owner(shell, "leave").stdout.startswith(b"[[")
