"""``holdfast lead``: one command among many hosts, restarted by the next, ended in good order."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.cli.shell import Shell, alive, lines, until

STAY = 'trap "exit 7" TERM; echo "$$ $HOLDFAST_TOKEN"; while :; do sleep 0.01; done'


def leader(shell: Shell, *terms: str, script: str = STAY) -> subprocess.Popen[str]:
    """Start a candidate."""
    return shell.start("lead", "job", *terms, "--", "sh", "-c", script)


def stood_by(shell: Shell, count: int = 1) -> None:
    """Come back when so many stand by."""
    client = shell.client()
    until(lambda: client.show("job").waiters == count)


def test_one_runs_and_the_others_stand_by(shell: Shell) -> None:
    """Of three candidates one has its command running; a TERM resigns, and the next one starts."""
    first = leader(shell)
    pid, token = next(lines(first)).split()
    second = leader(shell)
    stood_by(shell)
    third = leader(shell)
    stood_by(shell, 2)
    asked_at = time.monotonic()
    first.send_signal(signal.SIGTERM)
    next_pid, next_token = next(lines(second)).split()
    assert time.monotonic() - asked_at < 5  # of a ttl of ten
    assert int(next_token) > int(token)
    assert first.wait() == 7
    assert not alive(int(pid))
    assert alive(int(next_pid))
    third.send_signal(signal.SIGTERM)
    assert third.wait() == 128 + signal.SIGTERM
    assert third.communicate()[0] == ""
    second.send_signal(signal.SIGTERM)
    assert second.wait() == 7
    assert not shell.client().show("job").held


def test_a_command_that_ends_is_started_by_the_next(shell: Shell) -> None:
    """When the command ends by itself the host resigns and stands by again, after a pause."""
    once = "echo $HOLDFAST_TOKEN; test -e stay || { touch stay; exit 3; }; read _"
    first = shell.start("lead", "job", "--", "sh", "-c", once, stdin=subprocess.PIPE)
    tokens = [int(next(lines(first)))]
    tokens.append(int(next(lines(first))))  # nobody else was there: started again by itself
    assert tokens[0] < tokens[1]
    second = leader(shell)
    stood_by(shell)
    assert first.stdin is not None
    first.stdin.write("\n")
    first.stdin.flush()  # the command ends; now there is another host
    pid, token = next(lines(second)).split()
    assert int(token) > tokens[1]
    assert alive(int(pid))
    stood_by(shell)  # the first again, behind the second
    second.send_signal(signal.SIGTERM)
    assert second.wait() == 7


def test_what_it_says(shell: Shell) -> None:
    """Each end of the command is one line on stderr, with the code and the pause."""
    process = leader(shell, script="exit 3")
    assert process.stderr is not None
    said = process.stderr.readline()
    assert said == "holdfast: the command has ended with 3; standing by again in 1.0 s\n"
    process.send_signal(signal.SIGTERM)
    assert process.wait() == 128 + signal.SIGTERM
    assert not shell.client().show("job").held


@pytest.mark.parametrize("code", [0, 3])
def test_once(shell: Shell, code: int) -> None:
    """With --once the code of the command comes back, and the lead is given back."""
    done = shell.run("lead", "job", "--once", "--", "sh", "-c", f"exit {code}")
    assert (done.returncode, done.stderr) == (code, "")
    assert not shell.client().show("job").held


def test_a_lost_lead_stops_the_command(shell: Shell) -> None:
    """A broken lead stops the command; the standby takes over, and the loser stands by again."""
    client = shell.client()
    first = leader(shell, "--ttl", "6s")
    pid, token = next(lines(first)).split()
    second = leader(shell, "--ttl", "6s")
    stood_by(shell)
    client.break_lock("job", token=int(token), reason="of the test")
    next(lines(second))
    assert not alive(int(pid))
    until(lambda: client.show("job").waiters == 1)
    assert first.stderr is not None
    said = [first.stderr.readline() for _ in range(3)]
    assert any("stopping the command" in line and "of the test" in line for line in said)
    for process in (first, second):
        process.send_signal(signal.SIGTERM)
    assert first.wait() == 128 + signal.SIGTERM
    assert second.wait() == 7


def test_a_lost_lead_with_once(shell: Shell) -> None:
    """With --once a lost lead is 70, as with `run`."""
    client = shell.client()
    process = leader(shell, "--once", "--ttl", "6s")
    token = next(lines(process)).split()[1]
    client.break_lock("job", token=int(token), reason="of the test")
    assert process.wait() == 70


def test_a_killed_candidate_takes_its_command_along(shell: Shell) -> None:
    """With a leader that is killed its command ends, and the standby starts its own."""
    first = leader(shell)
    pid = int(next(lines(first)).split()[0])
    second = leader(shell)
    stood_by(shell)
    os.kill(first.pid, signal.SIGKILL)
    next(lines(second))
    assert not alive(pid)
    second.send_signal(signal.SIGTERM)
    assert second.wait() == 7


def test_a_command_that_cannot_be_started(shell: Shell) -> None:
    """A host that cannot run it says so and ends, instead of keeping the lead from others."""
    done = shell.run("lead", "job", "--", "no-such-command-anywhere")
    assert done.returncode == 127
    assert "cannot run" in done.stderr
    assert not shell.client().show("job").held


def test_no_backend(shell: Shell, tmp_path: Path) -> None:
    """A backend that was never there is 69, at once: that is a matter of the configuration."""
    (tmp_path / "file").write_text("not a folder", "utf-8")
    url = f"sqlite:///{tmp_path}/file/locks.db"
    done = shell.run("lead", "job", "--url", url, "--", "true")
    assert done.returncode == 69
    assert done.stderr.startswith("holdfast: ")


def test_the_lead_is_pythons(shell: Shell) -> None:
    """`lead` in the shell and in Python are one election."""
    client = shell.client()
    with client.lead("job") as lease:
        process = leader(shell)
        stood_by(shell)
        found = client.leader("job")
        assert found is not None
        assert found.token == lease.token
    assert int(next(lines(process)).split()[1]) > lease.token
    process.send_signal(signal.SIGTERM)
    assert process.wait() == 7
