"""Users' scripts in other processes: what is shipped, what is run, what is refused."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from gen_agent.actors import scripts
from gen_agent.sealed import Sealed
from tests.actors.crew import running

ROOT = Path(__file__).resolve().parents[2]

SCRIPT = """
import pickle, sys
from gen_agent.actors import scripts
from gen_agent.sealed import Sealed
import beside

class Mine:
    where = beside.HERE
    loading = scripts.loading()

if __name__ == "__main__":
    prepared = scripts.preparation(Mine)
    with open(sys.argv[1], "wb") as out:
        pickle.dump((prepared, Sealed.of(Mine())), out)
"""

READER = """
import pickle, sys
from gen_agent.actors import scripts
with open(sys.argv[1], "rb") as file:
    prepared, sealed = pickle.load(file)
scripts.load(prepared)
scripts.load(prepared)
mine = scripts.opened(sealed)
same = scripts.preparation(type(mine)) == prepared
print(type(mine).__module__, mine.where, mine.loading, scripts.loading(), same)
"""

NO_FILE = """
from gen_agent.actors import scripts
from gen_agent.sealed import Sealed
class Mine: pass
for value in (Mine, Sealed.of(Mine), Sealed.of({"state": Mine()})):
    try:
        scripts.preparation(value)
    except ValueError as error:
        print(error)
scripts.preparation(int, Sealed.of("a text about __main__"))
print("fine")
"""


def run(*arguments: str, **more: object) -> str:
    """Run Python and return what it prints."""
    env = dict(os.environ, PYTHONPATH=str(ROOT))
    done = subprocess.run(
        [sys.executable, *arguments], env=env, capture_output=True, text=True, timeout=60, check=True, **more
    )  # type: ignore[call-overload]
    return str(done.stdout)


@pytest.fixture
def prepared(tmp_path: Path) -> Path:
    """What a script made ready for other processes."""
    (tmp_path / "beside.py").write_text("HERE = 'beside the script'\n")
    (tmp_path / "script.py").write_text(SCRIPT)
    run(str(tmp_path / "script.py"), str(tmp_path / "out"))
    return tmp_path / "out"


def test_a_scripts_class_opens_elsewhere(prepared: Path, tmp_path: Path) -> None:
    """A class defined in the script that is run opens in another process: with its search path, without what
    is below the guard, and `loading()` is true meanwhile and only then.
    """
    (tmp_path / "reader.py").write_text(READER)
    out = run(str(tmp_path / "reader.py"), str(prepared), cwd="/")
    assert out.split("\n")[0] == "__mp_main__ beside the script True False True"


def test_without_a_file_there_is_an_error_that_helps() -> None:
    """A class of `python -` can't be loaded elsewhere and says what to do; a text that mentions __main__ is
    no class.
    """
    lines = run("-", input=NO_FILE).splitlines()
    assert len(lines) == 4
    assert all("Put the class in a module" in line and "Mine" in line for line in lines[:2])
    assert lines[3] == "fine"


def test_the_main_of_a_package_has_an_error_of_its_own(tmp_path: Path) -> None:
    """A class of a `__main__.py` can't be loaded elsewhere either; the error does not speak of a prompt."""
    (tmp_path / "__main__.py").write_text(NO_FILE)
    lines = run(str(tmp_path)).splitlines()
    assert all("Put the class in a module" in line and "of a package" in line for line in lines[:2])


def test_a_script_that_fails_is_not_taken_for_loaded(prepared: Path, tmp_path: Path) -> None:
    """Whoever comes after a failed load meets the same error."""
    (tmp_path / "script.py").write_text("raise KeyError('first line')\n")
    reader = READER.replace(
        "scripts.load(prepared)\nscripts.load(prepared)\n",
        "for _ in range(2):\n    try:\n        scripts.load(prepared)\n"
        "    except KeyError:\n        print('error')\n",
    ).rpartition("mine =")[0]
    (tmp_path / "reader.py").write_text(reader)
    assert run(str(tmp_path / "reader.py"), str(prepared)).split() == ["error", "error"]


GUEST = """
import sys
from beside import Card, Clerk
from gen_agent import AgentSystem, InitAgentFailed

class Mine:
    def __init__(self, x):
        self.x = x

if __name__ == "__main__":
    with AgentSystem.attach(int(sys.argv[1])) as agents:
        agents.start_agent(Clerk, name="clerk", backend="echo", config=Mine(3))
        print(agents.status("clerk").agent_state)
        try:
            agents.start_agent(Clerk, name="other", backend="echo", config=None)
        except InitAgentFailed as error:
            print(error.reason == Card("no config"))
"""

BESIDE = """
import attrs
from gen_agent import Agent, NoReply, StartError

@attrs.frozen
class Card:
    text: str

class Clerk(Agent):
    def init_agent(self, options):
        if options["config"] is None:
            raise StartError(Card("no config"))
        return {}, options["config"].x

    def handle_response(self, ref, response, state):
        return NoReply(state)
"""


def test_who_only_passes_a_value_on_needs_no_class_of_it(tmp_path: Path) -> None:
    """C017: an agent of a module opens options of the script's own classes, and a refusal with a value of
    that module reaches the script through a supervisor that has never heard of it.
    """
    (tmp_path / "beside.py").write_text(BESIDE)
    (tmp_path / "script.py").write_text(GUEST)
    with running("genAgentTCPBase") as agents:
        out = run(str(tmp_path / "script.py"), str(agents.admin_port))
        agents.stop("clerk")
    assert out.split() == ["3", "True"]


def test_digests_tell_runs_apart(prepared: Path) -> None:
    """Two runs of one script never share loaded modules; two starts of one run do."""
    with open(prepared, "rb") as file:
        first, _ = pickle.load(file)
    assert scripts.digest(first) != scripts.digest(scripts.preparation(int))
    assert scripts.digest(scripts.preparation(int)) == scripts.digest(scripts.preparation(int))
    assert scripts.digest(None) == ""


def test_values_of_modules_need_no_script() -> None:
    """A value of an importable module is opened without running anything."""
    assert scripts.opened(Sealed.of(("plain", 1))) == ("plain", 1)
    assert not scripts.loading()
