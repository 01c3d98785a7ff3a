"""Standard streams that are full or closed: a line, a code, and nothing left behind."""

import subprocess
from pathlib import Path

import pytest

from tests.cli.shell import PROGRAM, Shell

needs_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")


def redirected(
    shell: Shell, how: str, *args: str, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run ``holdfast`` with its streams redirected as a shell does it."""
    return subprocess.run(
        ["/bin/sh", "-c", f'exec "$@" {how}', "sh", *PROGRAM, *args],
        cwd=shell.folder,
        env=shell.env,
        input=stdin,
        text=True,
        capture_output=True,
        check=False,
    )


@needs_full
@pytest.mark.parametrize(
    "args",
    [
        ("ls",),
        ("ls", "--json"),
        ("show", "other"),
        ("acquire", "job", "--ttl", "1h"),
        ("acquire", "job", "--ttl", "1h", "--json"),
        ("once", "done", "--", "true"),
    ],
)
def test_a_full_disk(shell: Shell, args: tuple[str, ...]) -> None:
    """What cannot be written is told in one line, with a code of its own; nothing stays held."""
    assert shell.run("once", "done", "--", "echo", "out").returncode == 0
    done = redirected(shell, ">/dev/full", *args)
    said = "holdfast: cannot write the output: No space left on device\n"
    assert (done.returncode, done.stderr) == (74, said)
    assert shell.client().locks() == []
