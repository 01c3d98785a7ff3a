"""The shape of the project: sizes, names, twins, the public API, and what must not be committed.

Which room may import which is not asked here but by import-linter (`make contracts`).
"""

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import holdfast
from tests.servers.shared import shared_server
from tests.snapshot import ASYNC_SPELLING, SNAPSHOT, describe, members, signature_of

ROOT = Path(__file__).parent.parent
CODE = sorted(
    path
    for folder in ("src", "tests", "benchmarks", "examples")
    for suffix in ("py", "lua", "sql")
    for path in (ROOT / folder).rglob(f"*.{suffix}")
)
SOURCE = [path for path in CODE if path.is_relative_to(ROOT / "src") and path.suffix == ".py"]

LONGEST_FILE = 400
DRAWER_NAMES = {"utils.py", "helpers.py", "common.py", "base.py"}
HEAVY = {"asyncio", "sqlite3", "click", "rich"}

OF_FAMILIES = re.compile(
    r"holdfast\.(rules\.(record|bucket|recent)|backends\.\w+\.(famil|records|buckets))"
)

TWINS = sorted(name for name in holdfast.__all__ if f"Async{name}" in holdfast.__all__)
# By design the default of this parameter alone differs: a task can be cancelled, a thread cannot.
DEFAULTS_DIFFER = {"on_loss"}

LOCK_FILES = {"uv.lock", "pylock.toml", "poetry.lock", "Pipfile.lock"}
MACHINE_BOUND = re.compile(
    r"(?<![\w.])/(?:root|work|farm|home|Users)/[\w.]"
    r"|pypi\.org/simple|pythonhosted\.org|index[-_]url|find[-_]links",
)


def relative(path: Path) -> str:
    """Name a file the way a reader of the failure would look for it."""
    return path.relative_to(ROOT).as_posix()


def test_no_file_is_too_long_to_read() -> None:
    """A file past 400 lines holds more than one concept."""
    lengths = {relative(path): len(path.read_text("utf-8").splitlines()) for path in CODE}
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST_FILE} == {}


def test_no_file_is_a_drawer_for_everything() -> None:
    """Files are named by their concept."""
    assert [relative(path) for path in CODE if path.name in DRAWER_NAMES] == []


def test_every_module_says_what_it_is_for() -> None:
    """Each module of the library opens with a docstring."""
    modules = {relative(path): ast.parse(path.read_text("utf-8")) for path in SOURCE}
    assert modules
    assert [name for name, tree in modules.items() if not ast.get_docstring(tree)] == []


def test_importing_holdfast_is_light() -> None:
    """`import holdfast` pulls in no event loop, no database and no terminal library."""
    program = (
        "import sys; before = {*sys.modules}; import holdfast; print(*sys.modules.keys() - before)"
    )
    command = [sys.executable, "-c", program]
    loaded = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    assert "holdfast" in loaded
    assert HEAVY.intersection(loaded) == set()


def test_locks_alone_do_without_the_other_families(tmp_path: Path) -> None:
    """Whoever only takes locks pays for none of the classes of records and buckets."""
    program = (
        "import sys, holdfast\n"
        "for url in ('memory://x', 'sqlite:///locks.db', *sys.argv[1:]):\n"
        "    with holdfast.Client(url) as client, client.lock('x'):\n"
        "        assert client.locks()\n"
        "print(*sys.modules)"
    )
    url = shared_server().url(quarantine=0)
    command = [sys.executable, "-c", program, url]
    loaded = subprocess.run(
        command, cwd=tmp_path, check=True, capture_output=True, text=True
    ).stdout.split()
    assert "holdfast.backends.redis.requests" in loaded
    assert [name for name in loaded if OF_FAMILIES.match(name)] == []


def test_every_async_class_has_a_sync_twin() -> None:
    """Client, Lock and Lease come in two forms, and no async name stands alone."""
    assert {"Client", "Lock", "Lease"} <= set(TWINS)
    asynchronous = {name for name in holdfast.__all__ if name.startswith("Async")}
    assert asynchronous == {f"Async{name}" for name in TWINS}


@pytest.mark.parametrize("name", TWINS)
def test_twins_have_the_same_members(name: str) -> None:
    """What one twin can do the other can, under the same name; a `with` is an `async with`."""
    sync, twin = members(getattr(holdfast, name)), members(getattr(holdfast, f"Async{name}"))
    assert {ASYNC_SPELLING.get(member, member) for member in sync} == set(twin)
    kinds = {
        member: (isinstance(sync[member], property), isinstance(twin[member], property))
        for member in sync.keys() & twin.keys()
    }
    assert {member: kind for member, kind in kinds.items() if kind[0] != kind[1]} == {}


@pytest.mark.parametrize("name", TWINS)
def test_twins_take_the_same_parameters(name: str) -> None:
    """Parameters agree in name, kind and default, of the class itself and of each method."""
    sync, twin = getattr(holdfast, name), getattr(holdfast, f"Async{name}")
    twin_members = members(twin)
    assert parameters(sync) == parameters(twin)
    differing = {
        member: (parameters(value), parameters(other))
        for member, value in members(sync).items()
        if (other := twin_members.get(ASYNC_SPELLING.get(member, member))) is not None
        and parameters(value) != parameters(other)
    }
    assert differing == {}


def parameters(member: object) -> list[tuple[str, str, str]]:
    """List name, kind and default of each parameter, leaving out what may differ between twins."""
    signature = signature_of(member)
    return [
        (
            parameter.name,
            parameter.kind.description,
            "" if parameter.name in DEFAULTS_DIFFER else default(parameter),
        )
        for parameter in (signature.parameters.values() if signature else ())
    ]


def default(parameter: inspect.Parameter) -> str:
    """Show a default; that there is none is one of the answers."""
    return "required" if parameter.default is parameter.empty else repr(parameter.default)


def test_the_public_api_is_the_recorded_one() -> None:
    """A change of a public name or signature shows up in the diff of the snapshot."""
    recorded = SNAPSHOT.read_text("utf-8").splitlines()
    assert describe().splitlines() == recorded, (
        "The public API is not the recorded one. If that is meant, run `python -m tests.snapshot`, "
        "commit tests/api_snapshot.txt and add a line to CHANGELOG.md."
    )


def test_no_file_is_bound_to_one_machine() -> None:
    """No file names somebody's own folder or a package registry, and no lock file is kept."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    files = [path for name in listing.splitlines() if (path := ROOT / name).is_file()]
    assert [relative(path) for path in files if path.name in LOCK_FILES] == []
    bound = {
        relative(path): found.group()
        for path in files
        if (found := MACHINE_BOUND.search(path.read_text("utf-8", errors="replace")))
    }
    assert bound == {}
