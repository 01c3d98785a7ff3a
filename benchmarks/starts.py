"""Starting processes and timing them, the way they start on a user's machine.

An installed library is compiled once: so compiled files are kept, in a folder that goes away
again, even where the environment says otherwise. The first, unmeasured start fills it.
"""

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager


@contextmanager
def installed() -> Iterator[Mapping[str, str]]:
    """Give an environment whose Pythons keep what they compile, with a lock file of its own."""
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
        env = {**os.environ, "PYTHONPYCACHEPREFIX": f"{folder}/compiled"}
        env.pop("PYTHONDONTWRITEBYTECODE", None)
        env["HOLDFAST_URL"] = f"sqlite:///{folder}/ours.db"
        yield env


def run_for(command: Sequence[str], env: Mapping[str, str]) -> float:
    """Run a command to its end; give how long it took. One that fails is an error."""
    started_at = time.perf_counter()
    done = subprocess.run(command, env=env, capture_output=True, check=False)
    took = time.perf_counter() - started_at
    if done.returncode:
        complaint = done.stderr.decode(errors="replace").strip()
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}: {complaint}")
    return took
