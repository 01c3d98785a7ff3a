"""Workers that share a folder of tasks, and one of them crashes in the middle of its work.

Each task is a file; a worker locks its name, works, and writes the result with its token. The
first worker is killed while it holds a task: two others take over, and every task is done once.

    python -m examples.queue_workers
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import holdfast

TASKS = 6


def work(folder: Path) -> None:
    """Do whatever is not done yet; what somebody else is at, leave to them."""
    with holdfast.Client(f"sqlite:///{folder / 'locks.db'}", ttl="5s") as hf:
        while pending := [task for task in sorted(folder.glob("*.task")) if not done(task)]:
            for task in pending:
                lease = hf.lock(holdfast.key("task", task.stem)).try_acquire()
                if lease is None:
                    continue
                with lease:
                    if not done(task):  # somebody may have finished it just before us
                        handle(task, lease)
            time.sleep(0.05)


def handle(task: Path, lease: holdfast.Lease) -> None:
    """Work on one task; the result carries the token, so that a late writer could be told."""
    say(f"works on {task.stem}")
    time.sleep(0.1)
    if os.environ.get("CRASH"):
        say("is killed in the middle of it")
        os.kill(os.getpid(), signal.SIGKILL)
    lease.check()
    task.with_suffix(".done").write_text(f"{lease.token}\n", encoding="utf-8")


def done(task: Path) -> bool:
    """Whether there is a result."""
    return task.with_suffix(".done").exists()


def say(text: str) -> None:
    """Print a line with who says it."""
    print(f"worker {os.getpid()} {text}", flush=True)


def main() -> int:
    """Let one worker crash, start two more, and count what was done."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number in range(TASKS):
            (folder / f"{number}.task").touch()
        command = [sys.executable, "-m", "examples.queue_workers", name]
        crashed = subprocess.run(command, env={**os.environ, "CRASH": "1"}, check=False)
        others = [subprocess.Popen(command) for _ in range(2)]
        codes = [crashed.returncode, *(process.wait() for process in others)]
        results = len([*folder.glob("*.done")])
    print(f"{results} of {TASKS} tasks done; exit codes {codes}")
    return 0 if results == TASKS and codes == [-signal.SIGKILL, 0, 0] else 1


if __name__ == "__main__":
    if len(sys.argv) > 1:
        work(Path(sys.argv[1]))
    else:
        sys.exit(main())
