"""A person at a shell: starts the real command line in processes of its own and looks at them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import holdfast

PROGRAM = (sys.executable, "-c", "import sys; from holdfast.cli import main; sys.exit(main())")
PATIENCE = 15.0


class Shell:
    """Commands on one backend of their own. Whatever is still running at the end is killed."""

    def __init__(self, folder: Path, url: str | None = None) -> None:
        self.folder = folder
        self.url = url or f"sqlite:///{folder}/locks.db"
        self._processes: list[subprocess.Popen[str]] = []
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.kill()
            process.wait()
            for stream in filter(None, (process.stdin, process.stdout, process.stderr)):
                stream.close()
        self._stack.close()

    @property
    def env(self) -> dict[str, str]:
        """The environment of every command."""
        return {**os.environ, "HOLDFAST_URL": self.url, "PYTHONWARNINGS": "error"}

    def start(self, *args: str, **options: Any) -> subprocess.Popen[str]:
        """Start ``holdfast`` with these arguments."""
        streams = {
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
        }
        process = subprocess.Popen(
            [*PROGRAM, *args], cwd=self.folder, env=self.env, text=True, **{**streams, **options}
        )
        self._processes.append(process)
        return process

    def run(self, *args: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run ``holdfast`` to its end."""
        return subprocess.run(
            [*PROGRAM, *args],
            cwd=self.folder,
            env=self.env,
            text=True,
            input=stdin,
            capture_output=True,
            check=False,
        )

    def json(self, *args: str) -> Any:
        """Run a command that succeeds, and read the JSON it prints."""
        done = self.run(*args, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def client(self) -> holdfast.Client:
        """Give a client of our own on the same backend."""
        return self._stack.enter_context(holdfast.Client(self.url, holder="the test"))


def until(condition: Callable[[], bool]) -> None:
    """Look again and again until it is so."""
    give_up_at = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < give_up_at, "it never came to be"
        time.sleep(0.01)


def lines(process: subprocess.Popen[str]) -> Iterator[str]:
    """Give the lines that a process prints, as they come."""
    assert process.stdout is not None
    return (line.strip() for line in process.stdout)


def alive(pid: int) -> bool:
    """Whether a process can still run; a zombie cannot."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("utf-8")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in {"Z", "X"}
