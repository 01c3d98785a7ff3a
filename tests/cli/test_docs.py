"""The shell samples of docs/cli.md, run as they stand."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.cli.shell import PROGRAM, Shell

PAGE = (Path(__file__).parents[2] / "docs" / "cli.md").read_text("utf-8")
SAMPLES = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("sample", SAMPLES)
def test_sample(shell: Shell, sample: str) -> None:
    """A sample runs to its end without an error, and without what it says is never printed."""
    program = shell.folder / "holdfast"
    program.write_text(f'#!/bin/sh\nexec {shlex.join(PROGRAM)} "$@"\n', "utf-8")
    program.chmod(0o755)
    done = subprocess.run(
        ["/bin/sh", "-euc", sample],
        cwd=shell.folder,
        env={**shell.env, "PATH": f"{shell.folder}:{shell.env['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "never printed" not in done.stdout
