"""The module-level shortcuts, and what importing holdfast costs."""

import inspect
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast import Client

SHORTCUTS = ["break_lock", "lock", "locks", "release_all", "show", "try_with_lock", "with_lock"]
SHORTCUTS += ["cell", "limiter", "once", "singleton"]

HEAVY = {"asyncio", "sqlite3", "click", "rich", "logging", "dataclasses", "json", "inspect"}

TOUR = """
import json, holdfast
with holdfast.lock("n") as lease:
    held = holdfast.show("n").held
    names = [lock.name for lock in holdfast.locks("n")]
    skipped = holdfast.try_with_lock("n", lambda: 1).executed
result = holdfast.with_lock("n", lambda: "done")
kept = holdfast.lock("kept").acquire()
holdfast.release_all()
from holdfast.api.default import default_client
print(json.dumps({
    "held": held, "names": names, "skipped": not skipped, "result": result,
    "left": len(holdfast.locks()), "backend": default_client().capabilities.backend,
    "same": default_client() is default_client(),
}))
"""

SEEN = {
    "held": True,
    "names": ["n"],
    "skipped": True,
    "result": "done",
    "left": 0,
    "same": True,
}


def told_by(program: str, **settings: str) -> Any:
    """Run a program in a fresh interpreter, with these settings and warnings as errors."""
    kept = {name: value for name, value in os.environ.items() if name != "HOLDFAST_URL"}
    command = [sys.executable, "-W", "error", "-c", program]
    done = subprocess.run(
        command, env={**kept, **settings}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def test_the_default_is_a_file_in_the_state_folder(tmp_path: Path) -> None:
    """Without any setting the shortcuts use a SQLite file of the user's, in a private folder."""
    home = tmp_path / "home"  # where a Mac has its state folder
    home.mkdir()
    seen = told_by(TOUR, XDG_STATE_HOME=str(tmp_path / "state"), HOME=str(home))
    assert seen == {**SEEN, "backend": "sqlite"}
    [file] = tmp_path.rglob("holdfast.db")
    assert file.parent.stat().st_mode & 0o077 == 0
    if sys.platform != "darwin":
        assert file == tmp_path / "state" / "holdfast" / "holdfast.db"


def test_the_url_comes_from_the_environment(tmp_path: Path) -> None:
    """``HOLDFAST_URL`` decides where the shortcuts, and clients without a URL, look."""
    state = tmp_path / "state"
    seen = told_by(TOUR, HOLDFAST_URL="memory://tour", XDG_STATE_HOME=str(state))
    assert seen == {**SEEN, "backend": "memory"}
    assert not state.exists()


def test_processes_meet_at_the_environments_url(tmp_path: Path) -> None:
    """Two programs with the same ``HOLDFAST_URL`` exclude each other."""
    url = f"sqlite:///{tmp_path}/locks.db"
    program = "import json, holdfast; print(json.dumps(holdfast.try_with_lock('n', dict)))"
    with Client(url) as client:
        with client.lock("n"):
            assert told_by(program, HOLDFAST_URL=url) == [False, None]
        assert told_by(program, HOLDFAST_URL=url) == [True, {}]


def test_an_empty_variable_counts_as_none(tmp_path: Path) -> None:
    """``HOLDFAST_URL=`` is the same as not set."""
    program = "import json, holdfast; print(json.dumps(holdfast.Client().capabilities.backend))"
    settings = {"HOLDFAST_URL": "", "XDG_STATE_HOME": str(tmp_path), "HOME": str(tmp_path)}
    assert told_by(program, **settings) == "sqlite"


@pytest.mark.parametrize("name", SHORTCUTS)
def test_shortcuts_look_like_the_methods(name: str) -> None:
    """Each has its method's docstring and its signature without ``self``."""
    shortcut, method = getattr(holdfast, name), getattr(Client, name)
    assert (shortcut.__name__, shortcut.__doc__) == (name, method.__doc__)
    expected = list(inspect.signature(method).parameters.values())[1:]
    assert list(inspect.signature(shortcut).parameters.values()) == expected
    assert repr(shortcut) == f"<function holdfast.{name}>"


def test_importing_makes_no_client() -> None:
    """The default client is made when it is first needed, not on import."""
    program = (
        "import json, threading, holdfast; from holdfast.api import default;"
        "print(json.dumps([default._made, threading.active_count()]))"
    )
    assert told_by(program) == [{}, 1]


def test_importing_is_light() -> None:
    """``import holdfast`` pulls in none of the modules that a program may never need."""
    program = (
        "import sys; before = {*sys.modules}; import holdfast; print(*{*sys.modules} - before)"
    )
    command = [sys.executable, "-c", program]
    loaded = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    assert "holdfast.api.client" in loaded
    assert HEAVY.intersection(loaded) == set()
