"""Signals to ``holdfast run``, while it waits and while it runs: nothing is left behind."""

import os
import signal
import subprocess
from collections.abc import Iterator

import pytest

from tests.cli.shell import Shell, alive, lines, until

ENDING = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT]

FAMILY = """
sh -c 'echo $$; exec sleep 100' &
(sh -c 'echo $$; exec sleep 100' &)
echo $$
echo ready
wait
"""
"""A command with a child and an orphan in its group. A shell's background jobs ignore INT and QUIT,
so those two outlive the command and have to be cleaned up after it."""


def members(output: Iterator[str]) -> list[int]:
    """Give the pids of FAMILY, once all of it is there."""
    printed = [next(output) for _ in range(4)]
    return [int(line) for line in printed if line != "ready"]


@pytest.mark.parametrize("signum", ENDING)
def test_while_running(shell: Shell, signum: signal.Signals) -> None:
    """The whole group gets the signal, its death is our code, and nothing of it is left."""
    wrapper = shell.start("run", "job", "--", "sh", "-c", FAMILY)
    pids = members(lines(wrapper))
    wrapper.send_signal(signum)
    assert wrapper.wait() == 128 + signum
    assert [pid for pid in pids if alive(pid)] == []
    assert not shell.client().show("job").held


@pytest.mark.parametrize("signum", ENDING)
def test_while_waiting(shell: Shell, signum: signal.Signals) -> None:
    """The claim is withdrawn before we end with 128 + N; the command is never run."""
    client = shell.client()
    with client.lock("job"):
        wrapper = shell.start("run", "job", "--", "echo", "never")
        until(lambda: client.show("job").waiters == 1)
        wrapper.send_signal(signum)
        assert wrapper.wait() == 128 + signum
        assert client.show("job").waiters == 0
    assert wrapper.communicate() == ("", "")
    assert not client.show("job").held


@pytest.mark.parametrize("signum", [*ENDING, signal.SIGUSR1, signal.SIGUSR2, signal.SIGWINCH])
def test_the_commands_own_answer(shell: Shell, signum: signal.Signals) -> None:
    """A command that handles the signal is not hurried, and decides the code."""
    gate = shell.folder / "gate"
    os.mkfifo(gate)
    trap = f"trap 'echo told; cat gate; exit 7' {signum.name.removeprefix('SIG')}"
    script = f"{trap}; echo ready; while :; do sleep 0.01; done"
    wrapper = shell.start("run", "job", "--", "sh", "-c", script)
    output = lines(wrapper)
    assert next(output) == "ready"
    wrapper.send_signal(signum)
    assert next(output) == "told"
    assert shell.client().show("job").held
    gate.write_text("open", "utf-8")
    assert wrapper.wait() == 7


def test_signals_that_say_nothing_while_waiting(shell: Shell) -> None:
    """USR1, USR2 and WINCH are for the command; while there is none they do no harm."""
    client = shell.client()
    lease = client.lock("job").acquire()
    wrapper = shell.start("run", "job", "--", "echo", "done")
    until(lambda: client.show("job").waiters == 1)
    for signum in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGWINCH):
        wrapper.send_signal(signum)
    lease.release()
    assert wrapper.communicate() == ("done\n", "")


def test_nohup(shell: Shell) -> None:
    """A HUP that was ignored when we started stays ignored, by us and by the command."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    wrapper = shell.start(
        "run", "job", "--", "sh", "-c", "echo ready; read line; exit 7", stdin=subprocess.PIPE
    )
    signal.signal(signal.SIGHUP, before)
    assert next(lines(wrapper)) == "ready"
    wrapper.send_signal(signal.SIGHUP)
    wrapper.communicate("\n")
    assert wrapper.returncode == 7


def test_a_script_in_the_background(shell: Shell) -> None:
    """`holdfast run … &` in a script inherits INT and QUIT ignored, and heeds them all the same."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    wrapper = shell.start("run", "job", "--", "sh", "-c", "echo ready; exec sleep 100")
    signal.signal(signal.SIGINT, before)
    assert next(lines(wrapper)) == "ready"
    wrapper.send_signal(signal.SIGINT)
    assert wrapper.wait() == 130


def test_what_the_command_leaves_behind(shell: Shell) -> None:
    """When the command ends by itself, the rest of its group ends too, before the lock is free."""
    os.mkfifo(shell.folder / "gate")
    script = "sh -c 'echo $$; echo >gate; exec sleep 100' & read line <gate; exit 3"
    wrapper = shell.start("run", "job", "--", "sh", "-c", script)
    left_behind = int(next(lines(wrapper)))
    assert wrapper.wait() == 3
    assert not alive(left_behind)


def test_what_does_not_want_to_end(shell: Shell) -> None:
    """What ignores SIGTERM is killed after the grace; until then the lock stays held."""
    os.mkfifo(shell.folder / "gate")
    stubborn = "trap 'echo no' TERM; echo >gate; while :; do sleep 0.01; done"
    script = f"({stubborn}) & read line <gate; exit 3"
    wrapper = shell.start("run", "job", "--ttl", "3s", "--", "sh", "-c", script)
    output = lines(wrapper)
    assert next(output) == "no"
    assert shell.client().show("job").held
    assert wrapper.wait() == 3
    assert list(output) == []  # the end of the pipe: nobody has it open any more


def test_a_daemon_may_leave(shell: Shell) -> None:
    """Who leaves the group on purpose is not followed: it is not under the lock any more."""
    script = "setsid sh -c 'echo $$; exec sleep 100' & read line"
    wrapper = shell.start("run", "job", "--", "sh", "-c", script, stdin=subprocess.PIPE)
    daemon = int(next(lines(wrapper)))
    assert wrapper.stdin is not None
    wrapper.stdin.write("\n")
    wrapper.stdin.close()
    assert wrapper.wait() == 0
    assert alive(daemon)
    os.kill(daemon, signal.SIGKILL)


def test_a_killed_wrapper_takes_its_command_along(shell: Shell) -> None:
    """After kill -9 of the wrapper the command dies, and the next one gets the lock at once."""
    wrapper = shell.start(
        "run", "job", "--ttl", "10m", "--", "sh", "-c", "echo ready; exec sleep 100"
    )
    output = lines(wrapper)
    assert next(output) == "ready"
    wrapper.kill()
    assert list(output) == []  # the end of the pipe: nobody has it open any more
    assert shell.run("run", "job", "--wait", "10s", "--", "true").returncode == 0


def test_a_living_command_keeps_the_lock(shell: Shell) -> None:
    """While something of the group outlives a killed wrapper, nobody takes the lease for dead."""
    wrapper = shell.start("run", "job", "--ttl", "10m", "--", "sh", "-c", FAMILY)
    pids = members(lines(wrapper))
    wrapper.kill()
    wrapper.wait()
    client = shell.client()
    until(lambda: sum(map(alive, pids)) == 2)  # the command itself is gone
    assert client.lock("job", wait="2s").try_acquire() is None
    for pid in filter(alive, pids):
        os.kill(pid, signal.SIGKILL)
    client.lock("job", wait="10s").acquire().release()
