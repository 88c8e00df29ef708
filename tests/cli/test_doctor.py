"""`gen-agent doctor`: finds what a crash left, removes it when told to, and leaves what lives alone."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import attrs
import pytest
from click.testing import CliRunner, Result

from gen_agent.actors import system_files
from gen_agent.actors.guardian_census import take_census
from gen_agent.actors.guardian_process import BROKEN_S
from gen_agent.actors.keys import key_path, runtime_dir, write_key
from gen_agent.actors.processes import ProcessId, Watched
from gen_agent.actors.system import AgentSystem
from gen_agent.actors.system_files import SystemPlace
from gen_agent.cli import checkup, environment
from gen_agent.cli.command import gen_agent
from tests.actors.crew import Diary
from tests.cli.running import COMMAND, run, standing

pytestmark = pytest.mark.skipif(not os.path.exists(COMMAND), reason="the package is not installed here")


@attrs.frozen
class Wreck:
    """A system whose guardian was killed while its agent was stopped; the agent and its worker are left."""

    port: int
    guardian: int
    agent: ProcessId
    directory: Path


@contextlib.contextmanager
def wreck() -> Iterator[Wreck]:
    """A crash, as the kernel sees it."""
    with standing() as system:
        with AgentSystem.attach(system["port"]) as agents:
            who = agents.start_agent(Diary, name="orphan", backend="echo").incarnation
        agent = ProcessId(who.pid, who.start_time)
        (running,) = take_census(system["port"]).systems
        agent.signal(signal.SIGSTOP)
        with Watched(running.place.guardian) as guardian, Watched(agent) as watched:
            guardian.signal(signal.SIGKILL)
            guardian.wait()
            try:
                yield Wreck(system["port"], system["guardian"], agent, running.place.directory)
            finally:
                watched.signal(signal.SIGKILL)


def doctor(*arguments: object) -> Result:
    """The command, in this process."""
    return CliRunner().invoke(gen_agent, ["doctor", *map(str, arguments)])


def test_a_wreck_is_found_and_cleared_and_a_living_system_is_not(tmp_path: Path) -> None:
    """Orphaned processes and the files of a killed guardian are named, status 1; with --clean they are gone,
    status 0; a system that runs goes on."""
    with AgentSystem() as living, wreck() as left:
        living.start_agent(Diary, name="alive", backend="echo")
        found = run("doctor", "--port", str(left.port), "--json")
        value = json.loads(found.stdout)
        assert (found.returncode, value["well"], value["removed"]) == (1, False, [])
        pids = [one["pid"] for one in value["leftovers"] if one["kind"] == "process"]
        assert left.agent.pid in pids
        assert {(one["system_port"], one["guardian"]) for one in value["leftovers"] if "pid" in one} == {
            (left.port, left.guardian)
        }
        files = [one["path"] for one in value["leftovers"] if one["kind"] == "file"]
        assert files == [str(key_path(left.port)), str(left.directory)]
        assert left.agent.alive()
        cleaned = run("doctor", "--port", str(left.port), "--clean", "--json")
        value = json.loads(cleaned.stdout)
        assert (cleaned.returncode, value["well"], value["leftovers"]) == (0, True, [])
        assert [one.get("pid", one.get("path")) for one in value["removed"]] == [*pids, *files]
        assert not any(_runs(pid) for pid in pids)
        assert not left.directory.exists()
        assert living.ask("alive", "still").text == "echo: still"


def _runs(pid: int) -> bool:
    with contextlib.suppress(ProcessLookupError):
        return ProcessId.of(pid).alive()
    return False


def test_a_living_system_is_well() -> None:
    """Of a system that runs nothing is called left over, and nothing is removed, whatever one asks for."""
    with AgentSystem() as agents:
        agents.start_agent(Diary, name="alive", backend="echo")
        done = doctor("--port", agents.admin_port, "--clean")
        assert done.exit_code == 0
        assert f"system on port {agents.admin_port}: guardian" in done.output
        assert "nothing is left over" in done.output
        assert "removed" not in done.output
        assert agents.ask("alive", "still").text == "echo: still"


def stale(port: int, guardian: ProcessId) -> SystemPlace:
    """The files of a system as they are while it runs, for a guardian that we make up."""
    write_key(port)
    directory = runtime_dir() / f"system-{port}-{guardian.pid}-{guardian.start_time}"
    directory.mkdir(mode=0o700)
    os.link(key_path(port), directory / "key")
    (directory / "numbering").write_text(os.readlink("/proc/self/ns/pid"))
    return SystemPlace(directory, port, guardian)


@pytest.mark.parametrize("complete", [True, False])
def test_files_of_a_killed_guardian(complete: bool) -> None:
    """Key file and directory are found by the identity of a guardian that is dead, and removed with it."""
    place = stale(7, ProcessId(os.getpid(), 1))
    if not complete:
        (place.directory / "numbering").unlink()
    found = doctor("--port", 7)
    assert found.exit_code == 1
    assert f"LEFT OVER file {key_path(7)}\nLEFT OVER file {place.directory}\n" in found.output
    assert place.directory.exists()
    cleaned = doctor("--port", 7, "--clean")
    assert cleaned.exit_code == 0
    assert f"removed file {key_path(7)}\nremoved file {place.directory}\n" in cleaned.output
    assert list(runtime_dir().iterdir()) == []


def test_files_that_are_in_use() -> None:
    """Files of a living guardian, or of one whose number says nothing here, are not touched."""
    living = stale(7, ProcessId.of(os.getpid()))
    elsewhere = stale(8, ProcessId(os.getpid(), 1))
    (elsewhere.directory / "numbering").write_text("pid:[1]")
    for port in (7, 8):
        assert doctor("--port", port, "--clean").exit_code == 0
    assert living.key_file.samefile(key_path(7))
    assert elsewhere.key_file.samefile(key_path(8))
    for place in (living, elsewhere):
        system_files._dismantle(place.directory)


def test_keys_without_a_system() -> None:
    """A key file that no guardian made is shown and left alone; one whose writing broke off is removed."""
    write_key(7)
    draft = runtime_dir() / ".7.1.0a"
    draft.touch()
    assert doctor("--port", 7).exit_code == 0
    os.utime(draft, (1, 1))
    assert f"LEFT OVER file {draft}\n" in doctor("--port", 7).output
    done = doctor("--port", 7, "--clean")
    assert done.exit_code == 0
    assert f"key file {key_path(7)}: of a system without a guardian, or put there by hand" in done.output
    assert list(runtime_dir().iterdir()) == [key_path(7)]
    key_path(7).unlink()


def _refuse() -> None:
    raise RuntimeError("no pidfd")


@pytest.mark.parametrize(
    ("place", "name", "value", "said"),
    [
        (metadata, "version", lambda _: "5.0", "BAD thespian: 5.0, thespian>=4.0.1,<5 is needed"),
        (resource, "getrlimit", lambda _: (64, 256), "BAD open files: 64 now, a system raises it up to 256"),
        (environment, "require_linux", _refuse, "BAD system: no pidfd"),
    ],
)
def test_an_environment_that_is_not_enough(
    place: Any, name: str, value: Any, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What keeps gen_agent from working is told, and the status is 1 although nothing is left over."""
    monkeypatch.setattr(place, name, value)
    done = doctor("--port", 7)
    assert done.exit_code == 1
    assert said in done.output


def test_the_runtime_directory_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A place where no key file can be is told in one line, and the rest is checked all the same."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/dev/null/run")
    done = doctor("--port", 7)
    assert done.exit_code == 1
    assert "BAD runtime directory: /dev/null/run: Not a directory\n" in done.output
    assert "ok  python: CPython" in done.output


def test_extras_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which extras are installed, and the command for one that is not; a missing one is no fault."""
    needs = ['click>=8; extra == "cli"', "nowhere>=1; extra == 'otel'", "pytest; extra == 'test'", "attrs"]
    monkeypatch.setattr(metadata, "requires", lambda _: needs)
    extras = {one.what: one for one in environment.checks() if one.what.startswith("extra")}
    assert extras.keys() == {"extra cli", "extra otel"}
    assert extras["extra cli"].found == f"click {metadata.version('click')}"
    assert extras["extra otel"].found == "nowhere not installed: pip install 'gen_agent[otel]'"
    assert all(one.fine for one in extras.values())


def test_what_ends_by_itself_is_waited_for() -> None:
    """The patience is longer than what agents of a broken system may take for their last callbacks."""
    assert checkup.PATIENCE_S > BROKEN_S
