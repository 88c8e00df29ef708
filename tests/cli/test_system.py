"""`gen-agent system`: what it starts outlives it and can be joined, and what it stops is gone."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from gen_agent.actors import guardian_cleanup, guardian_inquiry
from gen_agent.actors.guardian_census import RunningSystem, take_census
from gen_agent.actors.guardian_cleanup import stop_system
from gen_agent.actors.guardian_inquiry import inquire
from gen_agent.actors.keys import key_path, runtime_dir
from gen_agent.actors.processes import ProcessId, Watched, children, descendants
from gen_agent.actors.sockets import listener
from gen_agent.actors.system import AgentSystem
from gen_agent.actors.system_files import SystemPlace
from gen_agent.backends.scripted import Stage
from gen_agent.cli.command import gen_agent
from gen_agent.cli.system_command import _chosen
from gen_agent.client.protocol import SUPERVISOR_CLASS
from gen_agent.envelopes import VERSION
from tests.actors import standins
from tests.actors.crew import Diary
from tests.actors.guarded import guarded
from tests.cli.running import COMMAND, ROOT, environment, run, script, standing

pytestmark = pytest.mark.skipif(not os.path.exists(COMMAND), reason="the package is not installed here")

FIRST = """
import sys
from gen_agent import AgentSystem
from tests.actors.crew import Diary
with AgentSystem.attach(int(sys.argv[1])) as agents:
    agents.start_agent(Diary, name="diary", backend="echo", mark=sys.argv[2])
    print(agents.ask("diary", "one").text)
"""

SECOND = """
import sys
from gen_agent import AgentSystem
with AgentSystem.attach(int(sys.argv[1])) as agents:
    print(agents.ask("diary", "two").text)
    print(agents.status("diary").agent_state)
"""


def everyone(port: int) -> list[Watched]:
    """All processes of the system on that port, held so that their ends can be seen."""
    (system,) = take_census(port).systems
    guardian = system.place.guardian
    return [Watched(one) for one in (guardian, *descendants(guardian.pid))]


def all_gone(watched: list[Watched]) -> bool:
    """Whether all of them have ended by now; lets go of them."""
    ended = [one.ended for one in watched]
    for one in watched:
        one.close()
    return all(ended)


def test_a_life_from_start_to_stop(tmp_path: Path) -> None:
    """A system outlives the shell that started it; scripts find its agents one after the other; `stop` lets
    them run their last callbacks and leaves no process, port or file."""
    with standing() as system:
        port = system["port"]
        assert system["key_file"] == str(key_path(port))
        assert script(FIRST, port, tmp_path / "mark") == "echo: one\n"
        assert script(SECOND, port) == "echo: two\n('echo: one', 'echo: two')\n"
        shown = run("system", "status", "--port", str(port))
        assert shown.returncode == 0
        assert shown.stdout.startswith(f"port {port}: guardian {system['guardian']}, no owner, up ")
        assert shown.stdout.endswith(", messages of version 1, 1 agent: diary\n")
        watched = everyone(port)
        done = run("system", "stop", "--port", str(port))
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        assert all_gone(watched)
        assert (tmp_path / "mark").read_text() == "shutdown"
        assert list(runtime_dir().iterdir()) == []
        listener("127.0.0.1", port).close()


def test_where_none_runs() -> None:
    """`status` and `stop` of a system that does not run say so, with status 3, again and again."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for word in ("status", "stop", "stop"):
            done = CliRunner().invoke(gen_agent, ["system", word, "--port", port])
            assert done.exit_code == 3
            assert done.output == f"gen-agent: no system of yours runs on port {port}\n"


def test_nothing_of_the_caller_stays_open() -> None:
    """A pipeline ends although the system goes on: no descriptor of the caller is inherited, standard streams
    or any other."""
    mine, theirs = os.pipe()
    with subprocess.Popen(
        ["sh", "-c", f"{COMMAND} system start | cat"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL, env=environment(), cwd=ROOT, text=True, pass_fds=[theirs],
        start_new_session=True,
    ) as shell:  # fmt: skip
        os.close(theirs)
        assert shell.stdout is not None
        lines = shell.stdout.read().splitlines()
        assert os.read(mine, 1) == b""
    os.close(mine)
    assert [line.split()[0] for line in lines] == ["port", "guardian", "key"]
    (system,) = take_census(int(lines[0].split()[1])).systems
    assert system.place.guardian.pid == int(lines[1].split()[1])
    with Watched(system.place.guardian) as guardian:
        assert not guardian.ended
        assert stop_system(system, 20.0)
        assert guardian.ended


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--key-file", "{tmp}/none.key"], "no key file {tmp}/none.key for the system on port "),
        (["--key-file", "{tmp}/open.key"], "{tmp}/open.key can be read or written by others"),
        (["--bind", "0.0.0.0"], "bind_host: one IPv4 address that others can reach is allowed"),
        (["--bind", "192.0.2.1"], "any admin port on 192.0.2.1: Cannot assign requested address\n"),
        (["-o", "Process Startup Method=spawn"], "Process Startup Method: only 'fork' is possible"),
    ],
)
def test_a_start_that_fails(arguments: list[str], said: str, tmp_path: Path) -> None:
    """What hinders a start is one line, the status is 1, and nothing is left running."""
    (tmp_path / "open.key").write_text("0" * 64)
    (tmp_path / "open.key").chmod(0o644)
    given = [one.format(tmp=tmp_path) for one in arguments]
    done = CliRunner().invoke(gen_agent, ["system", "start", *given])
    assert done.exit_code == 1
    assert done.output.startswith(f"gen-agent: {said.format(tmp=tmp_path)}")
    assert len(done.output.splitlines()) == 1


def test_a_taken_port_and_a_bad_place() -> None:
    """A port that is taken and a runtime directory that can't be made are named, and nothing is left."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run("system", "start", "--port", str(port))
    assert done.stderr == f"gen-agent: admin port {port} on 127.0.0.1: Address already in use\n"
    other = run("system", "start", XDG_RUNTIME_DIR="/dev/null/run")
    assert other.stderr == "gen-agent: /dev/null/run: Not a directory\n"
    assert (done.returncode, other.returncode) == (1, 1)


def test_a_start_nobody_hears_of_is_undone() -> None:
    """Where port and key file can't be told, the system is taken down again."""
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [COMMAND, "system", "start"], stdout=full, stderr=subprocess.PIPE, env=environment(), text=True,
            check=False,
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (1, "gen-agent: No space left on device\n")
    assert list(runtime_dir().iterdir()) == []


def test_a_stop_is_bounded() -> None:
    """An agent that does not come out of its last callback is killed after the timeout, and that is said."""
    with standing() as system, Stage() as stage:
        with AgentSystem.attach(system["port"]) as agents:
            hold = (stage.address, "never")
            agents.start_agent(Diary, name="held", backend="echo", hold=hold, shutdown_s=None)
            watched = everyone(system["port"])
        done = run("system", "stop", "--port", str(system["port"]), "--timeout", "0.2")
        assert done.returncode == 0
        assert done.stderr.startswith(f"gen-agent: the system on port {system['port']} was killed")
        assert all_gone(watched)


def test_a_guardian_that_hangs_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also a system whose guardian and agent take no signal is gone when `stop` returns."""
    monkeypatch.setattr(guardian_cleanup, "END_MARGIN_S", 0.1)
    with standing() as system:
        with AgentSystem.attach(system["port"]) as agents:
            agent = agents.start_agent(Diary, name="stuck", backend="echo").incarnation
        watched = everyone(system["port"])
        (running,) = take_census(system["port"]).systems
        for process in (running.place.guardian, ProcessId(agent.pid, agent.start_time)):
            process.signal(signal.SIGSTOP)
        assert not stop_system(running, 0.1)
        assert all_gone(watched)
        assert not running.place.directory.exists()


def test_a_guardian_in_a_hurry() -> None:
    """SIGQUIT cuts the orderly end short that a SIGTERM began: everything is killed at once."""
    with guarded(supervisor=standins.DEAF_SUPERVISOR, shutdown_s=25.0) as handle:
        watched = everyone(handle.port)
        handle.info.guardian.signal(signal.SIGTERM)
        assert not watched[0].wait(0.2)
        handle.info.guardian.signal(signal.SIGQUIT)
        assert watched[0].wait(10.0)
        assert all_gone(watched)


def test_asking_makes_no_supervisor() -> None:
    """C014: a system whose supervisor was killed is shown without agents, and gets no new one by that."""
    with guarded(supervisor=SUPERVISOR_CLASS) as handle:
        (running,) = take_census(handle.port).systems
        assert inquire(running.place).agents == ()
        with Watched(handle.info.supervisor) as supervisor:
            supervisor.signal(signal.SIGKILL)
            assert supervisor.wait(10.0)
        answer = inquire(running.place)
        assert answer.version == VERSION
        assert not answer.agents
        assert [one for one in children(handle.info.admin.pid) if one.alive()] == [handle.info.logger]


def test_another_version_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A system of another version is shown with it, and asked nothing that it might take for something else.
    """
    with guarded(supervisor=SUPERVISOR_CLASS) as handle:
        (running,) = take_census(handle.port).systems
        monkeypatch.setattr(guardian_inquiry, "VERSION", VERSION + 1)
        answer = inquire(running.place)
    assert (answer.version, answer.agents) == (VERSION, None)
    assert answer.silence == f"not asked further: this gen_agent speaks version {VERSION + 1}"


def test_a_system_of_a_script_has_an_owner() -> None:
    """`status` tells whose it is, and a stop that names no system leaves it alone."""
    with AgentSystem() as agents:
        shown = run("system", "status", "--port", str(agents.admin_port), "--json")
        value = json.loads(shown.stdout)
        assert (value["owner"], value["agents"], value["problem"]) == (os.getpid(), [], None)
        (running,) = take_census(agents.admin_port).systems
        with pytest.raises(SystemExit, match="3"):
            _chosen(None, (running,))
        assert _chosen(agents.admin_port, (running,)) == (running,)


def test_a_stop_that_names_none_is_for_the_only_one() -> None:
    """Of several systems without an owner one has to be named."""
    alone, other = (
        RunningSystem(SystemPlace(Path(f"/system-{port}-1-1"), port, ProcessId(1, 1)), None)
        for port in (7, 8)
    )
    assert _chosen(None, (alone,)) == (alone,)
    with pytest.raises(click.UsageError, match="name one by --port: 7, 8"):
        _chosen(None, (alone, other))
