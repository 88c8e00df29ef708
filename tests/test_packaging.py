"""What is in the box: metadata, entry points, files, and what the tools read."""

from __future__ import annotations

import configparser
import os
import stat
from importlib.metadata import PackageNotFoundError, entry_points, metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TOP = {"setup.cfg", "setup.py", "README.rst", "LICENSE", "tox.ini", "gen_agent", "tests", "examples"}
EXTRAS = {"cli", "openai", "local", "otel", "test"}
MADE_BY_TOOLS = {"build", "dist", "gen_agent.egg-info", "__pycache__"}


@pytest.fixture(scope="module")
def config() -> configparser.ConfigParser:
    """What `setup.cfg` says."""
    read = configparser.ConfigParser()
    read.read(ROOT / "setup.cfg")
    return read


def installed() -> bool:
    """Whether the package is installed where the tests run."""
    try:
        metadata("gen_agent")
    except PackageNotFoundError:
        return False
    return True


def test_version_has_one_source(config: configparser.ConfigParser) -> None:
    """The version is written in `setup.cfg` and nowhere else in the code."""
    assert config["metadata"]["version"] == "0.1.0"
    said = [path for path in ROOT.glob("gen_agent/**/*.py") if '"0.1.0"' in path.read_text()]
    assert said == []


@pytest.mark.skipif(not installed(), reason="the package is not installed here")
def test_installed_metadata() -> None:
    """What is installed has the version, the licence, the Python it needs, and the extras."""
    read = metadata("gen_agent")
    assert (read["Version"], read["Requires-Python"]) == ("0.1.0", ">=3.10")
    assert "MIT" in (read["License"] or read["License-Expression"])
    assert set(read.get_all("Provides-Extra") or ()) == EXTRAS


def test_requirements(config: configparser.ConfigParser) -> None:
    """The core needs Thespian 4, attrs and cattrs, and nothing else; every further library is an extra."""
    needs = config["options"]["install_requires"].split()
    assert needs[0] == "thespian>=4.0.1,<5"
    assert [need.partition(">")[0] for need in needs] == ["thespian", "attrs", "cattrs"]
    assert set(config["options.extras_require"]) == EXTRAS


@pytest.mark.skipif(not installed(), reason="the package is not installed here")
def test_entry_points_resolve() -> None:
    """Every backend and the command are entry points that load."""
    backends = {entry.name: entry for entry in entry_points(group="gen_agent.backends")}
    assert {"echo", "scripted", "openai", "local"} <= set(backends)
    assert all(entry.load().__name__.endswith("Backend") for entry in backends.values())
    (command,) = (one for one in entry_points(group="console_scripts") if one.name == "gen-agent")
    assert command.value == "gen_agent.cli:main"
    assert callable(command.load())


def test_top_level() -> None:
    """At the top there is what belongs there and no more."""
    there = {path.name for path in ROOT.iterdir() if not path.name.startswith(".")}
    assert there - MADE_BY_TOOLS == TOP


@pytest.mark.parametrize("top", ["gen_agent", "tests"])
def test_every_folder_is_a_package(top: str) -> None:
    """A folder with modules has an `__init__.py`, so that it is installed and names may repeat."""
    folders = {path.parent for path in (ROOT / top).glob("**/*.py")}
    assert [str(folder) for folder in folders if not (folder / "__init__.py").exists()] == []


def test_typed() -> None:
    """The package says that it is typed, and ships the mark."""
    assert (ROOT / "gen_agent" / "py.typed").exists()


def test_what_checks_the_project_can_be_run() -> None:
    """`.ci/run` is an executable bash script that stops at the first failure."""
    script = ROOT / ".ci" / "run"
    assert os.stat(script).st_mode & stat.S_IXUSR
    assert script.read_text().startswith("#!/usr/bin/env bash\n")
    assert "\nset -eu\n" in script.read_text()


def test_each_tool_finds_its_settings(config: configparser.ConfigParser) -> None:
    """Tests, types and style are strict where the tools look: tox.ini, setup.cfg, .ruff.toml."""
    tox = configparser.ConfigParser()
    tox.read(ROOT / "tox.ini")
    assert tox["pytest"]["filterwarnings"].split() == ["error"]
    assert "--strict-markers" in tox["pytest"]["addopts"]
    assert config["mypy"].getboolean("strict")
    assert "line-length = 110" in (ROOT / ".ruff.toml").read_text()
    assert {"testenv:lint", "testenv:chat", "testenv:deep", "testenv:bench"} <= set(tox.sections())


def test_what_tox_runs_is_there() -> None:
    """Every module that an environment of tox runs exists."""
    tox = configparser.ConfigParser(interpolation=None)
    tox.read(ROOT / "tox.ini")
    commands = [tox[name].get("commands", "") for name in tox.sections()]
    modules = [part for text in commands for part in text.split() if part.startswith("tests.")]
    missing = [name for name in modules if not _runnable(ROOT / name.replace(".", "/"))]
    assert missing == []


def _runnable(path: Path) -> bool:
    return path.with_suffix(".py").exists() or (path / "__main__.py").exists()


def test_licence() -> None:
    """The licence is MIT."""
    assert (ROOT / "LICENSE").read_text().startswith("MIT License\n")
