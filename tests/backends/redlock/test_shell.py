"""The command line on a quorum: who holds it, by which votes, and taking it away."""

from pathlib import Path

import pytest

from holdfast import Client
from holdfast.testing.watching import eventually
from tests.cli.shell import Shell
from tests.conformance.redlock_backends import shared_quorum_url

pytestmark = pytest.mark.timeout(60)  # each command is a process that starts on a busy machine


def test_ls_show_and_break(tmp_path: Path) -> None:
    """Each server's vote is shown; a break needs a majority, and its holder is told."""
    with Shell(tmp_path, shared_quorum_url()) as shell, Client(shell.url, holder="ann") as client:
        with client.lock("shell:1", on_loss="flag") as lease:
            (listed,) = shell.json("ls", "shell:")
            assert (listed["name"], listed["token"]) == ("shell:1", lease.token)
            assert len(listed["votes"]) == 3
            shown = shell.run("show", "shell:1").stdout
            assert shown.count("vote of 127.0.0.1:") == 3
            assert shown.count(f"with token {lease.token}") == 3
            broken = shell.run(
                "break", "shell:1", "--if-token", str(lease.token), "--reason", "maintenance"
            )
            assert broken.returncode == 0, broken.stderr
            eventually(lambda: lease.lost, 5.0, "the holder to be told")
        assert shell.json("ls", "shell:") == []


def test_run_and_a_lease_without_a_process(tmp_path: Path) -> None:
    """A command runs under the lock; a handle is released by another process."""
    with Shell(tmp_path, shared_quorum_url()) as shell:
        handle = shell.run("acquire", "shell:2", "--ttl", "1m").stdout.strip()
        assert shell.run("run", "shell:2", "--no-wait", "--", "true").returncode == 75
        assert shell.run("release", handle).returncode == 0
        assert shell.run("run", "shell:2", "--no-wait", "--", "true").returncode == 0
