"""Joining a running system from another script: what is checked, what the two share, what each leaves."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gen_agent.actors import opening
from gen_agent.actors.keys import key_path
from gen_agent.actors.processes import ProcessId, Watched, descendants
from gen_agent.actors.system import AgentSystem
from gen_agent.backends.scripted import Stage
from gen_agent.client.protocol import Hello
from gen_agent.messages import Down
from tests.actors.crew import Diary, held, running, scripted

ROOT = Path(__file__).resolve().parent.parent.parent

GUEST = """
import sys
from gen_agent.actors.system import AgentSystem
from tests.actors.crew import Diary
with AgentSystem.attach(int(sys.argv[1])) as agents:
    agents.start_agent(Diary, name="guest", backend="echo")
    agents.monitor("host")
    agents.tell_with_completion("host", "from the guest")
    print("ready", flush=True)
    sys.stdin.readline()
"""


@contextlib.contextmanager
def guest(agents: AgentSystem) -> Iterator[tuple[subprocess.Popen[str], ProcessId]]:
    """A script that has joined, has a request of its own running, and leaves when it is told; its mailbox."""
    before = frozenset(descendants(os.getpid()))
    script = subprocess.Popen(
        [sys.executable, "-c", GUEST, str(agents.admin_port)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert script.stdin is not None
    assert script.stdout is not None
    with script.stdin, script.stdout:
        try:
            assert script.stdout.readline() == "ready\n"
            theirs = agents.whereis("guest").incarnation.pid
            fresh = frozenset(descendants(os.getpid())) - before
            admin = _parent(ProcessId.of(_supervisor_pid(agents)))
            others = [one for one in fresh if one.pid not in (script.pid, theirs)]
            (mailbox,) = [one for one in others if _parent(one) == admin]
            yield script, mailbox
        finally:
            script.kill()
            script.wait()


def _supervisor_pid(agents: AgentSystem) -> int:
    return int(agents._ask_supervisor(Hello()).pid)


def _parent(process: ProcessId) -> int:
    stat = Path(f"/proc/{process.pid}/stat").read_text()
    return int(stat.rpartition(")")[2].split()[1])


@pytest.mark.parametrize("how", ["closed", "killed"])
def test_a_guest_takes_its_mailbox_along_and_nothing_else(how: str) -> None:
    """Closed or killed, an attached script leaves no mailbox; its agents and its requests live on."""
    with Stage() as stage, running("genAgentTCPBase") as agents:
        address = agents.start_agent(Diary, name="host", **scripted(stage, held()))
        with guest(agents) as (script, mailbox), Watched(mailbox) as watched:
            stage.wait_blocked("held")
            assert not watched.ended
            if how == "closed":
                assert script.stdin is not None
                script.stdin.write("leave\n")
                script.stdin.flush()
                assert script.wait(20) == 0
            else:
                script.send_signal(signal.SIGKILL)
            assert watched.wait(10.0)
            assert agents.ask("guest", "hello").text == "echo: hello"
            stage.release("held")
            agents.drain(address, timeout=20)
            assert set(agents.list()) == {"guest"}


def test_another_version_is_refused_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that finds another version raises before it sends anything else, and says what to do."""
    with running("genAgentTCPBase") as agents:
        agents.start_agent(Diary, name="host", backend="echo")
        monkeypatch.setattr(opening, "VERSION", opening.VERSION + 1)
        with pytest.raises(RuntimeError, match="end that system and start it anew"):
            AgentSystem.attach(agents.admin_port)
        assert agents.ask("host", "hello").text == "echo: hello"


def test_the_key_file_is_found_or_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The key comes from the argument, else $GEN_AGENT_KEY_FILE, else the user's runtime directory."""
    with running("genAgentTCPBase") as agents:
        port = agents.admin_port
        elsewhere = tmp_path / "elsewhere.key"
        elsewhere.write_bytes(key_path(port).read_bytes())
        elsewhere.chmod(0o600)
        with AgentSystem.attach(port, key_file=str(elsewhere)) as other:
            assert other.list() == []
        with AgentSystem.attach(port) as other:
            assert other.list() == []
        monkeypatch.setenv("GEN_AGENT_KEY_FILE", str(tmp_path / "none.key"))
        with pytest.raises(FileNotFoundError, match="no key file"):
            AgentSystem.attach(port)
        monkeypatch.setenv("GEN_AGENT_KEY_FILE", str(elsewhere))
        with AgentSystem.attach(port) as other:
            assert other.list() == []
        elsewhere.chmod(0o644)
        with pytest.raises(PermissionError):
            AgentSystem.attach(port)


def test_a_guest_hears_of_a_lost_supervisor_as_the_host_does() -> None:
    """C014: both get their Down, and who asks first makes the next supervisor, the other's as well."""
    with running("genAgentTCPBase") as agents, AgentSystem.attach(agents.admin_port) as other:
        agents.start_agent(Diary, name="host", backend="echo")
        monitors = [one.monitor("host") for one in (agents, other)]
        ProcessId.of(_supervisor_pid(agents)).signal(signal.SIGKILL)
        for one, monitor in zip((agents, other), monitors, strict=True):
            down = one.receive(lambda message: isinstance(message, Down), timeout=20)
            assert (down.monitor, down.reason) == (monitor, "registry_lost")
        assert _supervisor_pid(agents) == _supervisor_pid(other)
        other.start_agent(Diary, name="host", backend="echo")
        assert agents.ask("host", "hello").text == "echo: hello"
