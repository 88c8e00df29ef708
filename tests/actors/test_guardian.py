"""Systems under a guardian: how they start and who they are."""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path

import pytest

from gen_agent.actors import guardian_process
from gen_agent.actors.guardian import GuardianHandle, start_guardian
from gen_agent.actors.keys import key_path, new_key, read_key, runtime_dir
from gen_agent.actors.processes import ProcessId
from gen_agent.client.protocol import VERSION_CAPABILITY
from gen_agent.envelopes import VERSION
from gen_agent.errors import Unpicklable
from gen_agent.testing.leaks import listening_ports
from tests.actors import standins
from tests.actors.guarded import Everyone, guarded, joined


def vital(handle: GuardianHandle) -> dict[str, ProcessId]:
    info = handle.info
    return {"admin": info.admin, "logger": info.logger, "supervisor": info.supervisor}


def proc(process: ProcessId, name: str) -> bytes:
    return Path(f"/proc/{process.pid}/{name}").read_bytes()


def test_a_started_system_is_what_its_info_says() -> None:
    """The processes named are alive, the port answers with the key, and after `close` nothing is left."""
    with guarded() as handle:
        everyone = Everyone.of(handle.info)
        assert all(process.alive() for process in vital(handle).values())
        assert not handle.ended
        assert read_key(handle.port) == handle.key
        with joined(handle.info) as (system, supervisor):
            answer = system.ask(supervisor, "capabilities", 10)
        assert answer[VERSION_CAPABILITY] == VERSION
        assert answer[guardian_process.NONCE_CAPABILITY] == handle.info.nonce
        assert answer[guardian_process.GUARDIAN_CAPABILITY] == handle.info.guardian.pid
        handle.close()
        assert handle.ended
        everyone.gone_within(0.0)
        everyone.left_nothing()
        handle.close()


def test_capabilities_and_port_are_taken_over() -> None:
    """What the script asks for is what the system has."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with guarded(admin_port=port, capabilities={"gpu": True}) as handle:
        assert handle.port == port
        with joined(handle.info) as (system, supervisor):
            assert system.ask(supervisor, "capabilities", 10)["gpu"] is True


def test_the_key_is_in_no_command_line_and_no_environment() -> None:
    """The key can be found nowhere but in a private file, and no repr shows it."""
    with guarded() as handle:
        for process in (handle.info.guardian, *vital(handle).values()):
            for place in ("cmdline", "environ"):
                seen = proc(process, place)
                assert handle.key not in seen
                assert handle.key.hex().encode() not in seen
        assert handle.key.hex() not in repr(handle.info)
        assert repr(handle.key) not in repr(handle.info)
        assert key_path(handle.port).stat().st_mode & 0o777 == 0o600
        assert Path(handle.info.directory).stat().st_mode & 0o777 == 0o700
        assert runtime_dir().stat().st_mode & 0o777 == 0o700


def test_nobody_holds_what_is_not_theirs() -> None:
    """Standard streams lead nowhere, the guardian listens on nothing, and the admin's port is the admin's
    alone."""
    with guarded() as handle:
        for process in (handle.info.guardian, *vital(handle).values()):
            for stream in (0, 1, 2):
                assert os.readlink(f"/proc/{process.pid}/fd/{stream}") == os.devnull
        ports = {name: listening_ports(process.pid) for name, process in vital(handle).items()}
        assert listening_ports(handle.info.guardian.pid) == frozenset()
        assert handle.port in ports["admin"]
        assert handle.port not in ports["logger"] | ports["supervisor"]


def test_a_guardian_is_out_of_reach_of_the_terminal_and_has_room() -> None:
    """It has a session of its own and raised the limit of descriptors for everybody in the system."""
    with guarded() as handle:
        assert os.getsid(handle.info.guardian.pid) == handle.info.guardian.pid
        soft, hard = proc(handle.info.supervisor, "limits").split(b"Max open files")[1].split()[:2]
        assert int(soft) == min(int(hard), 65_536)


def test_the_log_of_thespian_stays_in_the_private_directory() -> None:
    """Thespian's own log, which shows messages, is sent where only the user can read, and kept nearly
    empty."""
    with guarded() as handle:
        # The variables are set while it runs, so they show in a process that was started by exec after that.
        with joined(handle.info) as (system, supervisor):
            _, tool = system.ask(supervisor, ("begin", None), 10)
        environment = Path(f"/proc/{tool}/environ").read_bytes().split(b"\0")
        directory = handle.info.directory.encode()
        assert b"THESPLOG_FILE=" + directory + b"/thespian.log" in environment
        assert b"THESPLOG_THRESHOLD=CRITICAL" in environment
        assert b"GEN_AGENT_SYSTEM_DIR=" + directory in environment


def test_the_start_tells_what_is_wrong(tmp_path: Path) -> None:
    """A taken port, a missing key file, a refused capability and a missing class are told, and nothing is
    left."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match=f"admin port {port} on 127.0.0.1"):
            start_guardian(admin_port=port)
    with pytest.raises(FileNotFoundError, match="no key file"):
        start_guardian(key_file=tmp_path / "none.key")
    with pytest.raises(ValueError, match="Process Startup Method"):
        start_guardian(capabilities={"Process Startup Method": "spawn"}, supervisor=standins.SUPERVISOR)
    with pytest.raises(RuntimeError, match="could not be started: AttributeError"):
        start_guardian(supervisor="tests.actors.standins.Missing")
    with pytest.raises(Unpicklable):
        start_guardian(log_defs={"handlers": threading.Lock()})


def test_a_given_key_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The key comes from the file named by argument or variable, and others find it by the port."""
    key, path = new_key(), tmp_path / "shared.key"
    path.write_text(key.hex())
    path.chmod(0o600)
    with guarded(key_file=path) as handle:
        assert handle.key == key
        assert read_key(handle.port) == key
    monkeypatch.setenv("GEN_AGENT_KEY_FILE", str(path))
    with guarded() as handle:
        assert handle.key == key
    assert path.exists()
