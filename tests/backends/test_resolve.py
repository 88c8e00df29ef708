"""Finding a backend by name, class or path."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gen_agent.backend import Backend
from gen_agent.backends import MissingExtra, UnknownBackend, backend_names, resolve
from gen_agent.backends.echo import EchoBackend


def test_the_three_ways() -> None:
    """A name of an entry point, a class and a path all lead to the class."""
    assert resolve("echo") is EchoBackend
    assert resolve(EchoBackend) is EchoBackend
    assert resolve("gen_agent.backends.echo:EchoBackend") is EchoBackend


def test_shipped_names() -> None:
    """The shipped backends are entry points, each a `Backend`."""
    assert {"echo", "scripted", "openai", "local"} <= set(backend_names())
    assert all(issubclass(resolve(name), Backend) for name in ("echo", "scripted", "openai", "local"))


@pytest.mark.parametrize(
    ("wanted", "error", "match"),
    [
        ("ehco", UnknownBackend, "'ehco' is unknown; known are echo, "),
        ("no_such_module:Thing", UnknownBackend, "there is no module 'no_such_module'"),
        ("gen_agent.no_such.deep:Thing", UnknownBackend, "there is no module 'gen_agent.no_such'"),
        ("gen_agent.backends.echo:Nothing", UnknownBackend, "has no 'Nothing'"),
        ("gen_agent.backends.echo:EchoSession", TypeError, "EchoSession is not a subclass"),
        (str, TypeError, "str is not a subclass"),
        (5, TypeError, "not int"),
        (None, TypeError, "not NoneType"),
    ],
)
def test_wrong_names(wanted: object, error: type[Exception], match: str) -> None:
    """What is no backend is refused with what there is."""
    with pytest.raises(error, match=match):
        resolve(wanted)  # type: ignore[arg-type]


def test_unknown_is_a_value_error_and_missing_an_import_error() -> None:
    """The two errors are caught as the built-in ones people expect."""
    assert issubclass(UnknownBackend, ValueError)
    assert issubclass(MissingExtra, ImportError)


@pytest.mark.parametrize("name", ["openai", "local"])
def test_a_missing_sdk_names_the_command(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Without the SDK the error says which extra to install."""
    begin_with = ("openai", "gen_agent.backends.openai", "gen_agent.backends.local")
    for module in [module for module in sys.modules if module.startswith(begin_with)]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(MissingExtra, match=rf"pip install 'gen_agent\[{name}\]'"):
        resolve(name)


def test_a_broken_plug_in_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that needs what is not installed is told apart from one that is not there; its own errors
    pass.
    """
    (tmp_path / "needs_more.py").write_text("import not_installed_here\n")
    (tmp_path / "is_broken.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(MissingExtra, match="needs the module 'not_installed_here'"):
        resolve("needs_more:Thing")
    with pytest.raises(ZeroDivisionError):
        resolve("is_broken:Thing")


def test_finding_one_loads_no_sdk() -> None:
    """Importing the package, and resolving echo, loads neither an SDK nor Thespian nor cattrs."""
    program = (
        "import sys, gen_agent, gen_agent.backends as b; b.resolve('echo');"
        "sys.exit(', '.join({'openai', 'thespian', 'cattrs', 'xllamacpp'} & set(sys.modules)) or 0)"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stderr) == (0, "")
