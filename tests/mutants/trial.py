"""One mutant, put into a copy of the project, against those who are to catch it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, NamedTuple

from tests.mutants.catchers import Catcher
from tests.mutants.mutant import Mutant

ROOT = Path(__file__).parents[2]
NEEDED = ("src", "tests", "conftest.py", "pyproject.toml")

LIMIT = 420.0
"""Seconds for one trial, also on a busy machine: who needs longer has not caught anything."""

FOUND = 1
"""The exit code of both pytest and the search when something is wrong with the product."""

Fate = Literal["caught", "survived", "late", "broken"]


class Verdict(NamedTuple):
    """What became of a mutant; ``proof`` is the first complaint, or what went wrong."""

    fate: Fate
    seconds: float
    proof: str


@contextmanager
def copied() -> Iterator[Path]:
    """Give a copy of the project that can be broken without harm."""
    with TemporaryDirectory(prefix="holdfast-mutant-") as folder:
        root = Path(folder)
        for name in NEEDED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, root / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, root / name)
        yield root


def tried(mutant: Mutant, limit: float = LIMIT) -> Verdict:
    """Let those who are to catch the mutant try."""
    with copied() as root:
        mutant.infect(root)
        return judged(root, mutant.caught_by, limit)


def unharmed(catcher: Catcher, limit: float = LIMIT) -> Verdict:
    """Let them try a copy without any mutant: nobody may be "caught" there."""
    with copied() as root:
        return judged(root, catcher, limit)


def judged(root: Path, catcher: Catcher, limit: float) -> Verdict:
    """Run the catcher on the copy at ``root``, and read from its end what it has seen."""
    started_at = time.monotonic()
    code, output = _run([sys.executable, *catcher.arguments], root, limit)
    seconds = time.monotonic() - started_at
    if code is None:
        return Verdict("late", seconds, f"not done within {limit:.0f} s")
    if code == 0:
        return Verdict("survived", seconds, "nobody has noticed anything")
    complaints = [line for line in output.splitlines() if line.startswith(("FAILED", "ERROR"))]
    if code != FOUND or not complaints:
        return Verdict("broken", seconds, f"exit code {code}:\n{output[-3000:]}")
    return Verdict("caught", seconds, complaints[0].partition(" ")[2])


def _run(command: list[str], root: Path, limit: float) -> tuple[int | None, str]:
    """Run a command in the copy; after the limit it is stopped with everything it has started."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")
    }
    environment["PYTHONPATH"] = str(root / "src")  # comes before what is installed
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    with subprocess.Popen(
        command,
        cwd=root,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate(timeout=limit)
        except BaseException as error:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            return None, ""
    return process.returncode, output
