"""A leader with a standby: one beats, the other waits; a SIGTERM and a SIGKILL pass the lead on.

python -m examples.standby
"""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import holdfast


def candidate(url: str, name: str) -> None:
    """Stand by, lead, and beat until a signal asks us to resign."""
    with (
        holdfast.Client(url, holder=name) as hf,
        hf.lead("scheduler", ttl="5s", resign_on=("SIGTERM",)) as lease,
    ):
        say(f"{name} leads with token {lease.token}")
        while True:
            lease.check()
            time.sleep(0.05)


def say(text: str) -> None:
    """Print a line at once."""
    print(text, flush=True)


def main() -> int:
    """Start three candidates and take the lead away from two of them, in two ways."""
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'locks.db'}"
        command = [sys.executable, "-m", "examples.standby", url]
        processes = {name: subprocess.Popen([*command, name]) for name in ("ann", "bob", "cy")}
        seen: list[str] = []
        with holdfast.Client(url, holder="onlooker") as hf:
            for tenure in hf.watch_leader("scheduler", wait="15s"):
                if tenure is None:
                    continue
                leader = tenure.holder.label
                seen.append(leader)
                say(f"onlooker: {leader} leads")
                if len(seen) == 3:
                    break
                number = signal.SIGTERM if len(seen) == 1 else signal.SIGKILL
                say(f"onlooker: {number.name} to {leader}")
                processes[leader].send_signal(number)
        for process in processes.values():
            process.terminate()
        codes = {name: process.wait() for name, process in processes.items()}
    say(f"led in turn: {', '.join(seen)}")
    resigned = codes[seen[0]] == 128 + signal.SIGTERM if seen else False
    return 0 if len(set(seen)) == 3 and resigned else 1


if __name__ == "__main__":
    if len(sys.argv) > 1:
        candidate(sys.argv[1], sys.argv[2])
    else:
        sys.exit(main())
