"""What ``holdfast once`` passes on and keeps, whoever reads it, and however slowly."""

import fcntl
import os
import signal
import subprocess
import termios
from collections.abc import Iterator

import pytest

from tests.cli.shell import Shell, alive, until

LIMIT = 256 * 1024


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """Give a pipe that is closed in the end."""
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


def printing(size: int) -> tuple[str, ...]:
    """Give a command that prints so many bytes."""
    return ("sh", "-c", f"touch begun; yes 0123456789 | head -c {size}")


def replayed(shell: Shell) -> subprocess.CompletedProcess[str]:
    """Get what is kept, as soon as there is something."""
    until((shell.folder / "begun").exists)
    return shell.run("once", "k", "--", "echo", "carried out again")


def full(pipe: int) -> bool:
    """Whether no more goes into a pipe of the usual size."""
    size = fcntl.ioctl(pipe, termios.FIONREAD, bytes(4))
    return int.from_bytes(size, "little") == 65_536


@pytest.mark.parametrize("size", [150_000, LIMIT + 30_000])
def test_a_slow_reader(shell: Shell, size: int) -> None:
    """All is kept before our own reader has read anything; and the reader gets all in the end."""
    first = shell.start("once", "k", "--", *printing(size))
    again = replayed(shell)
    assert (again.returncode, len(again.stdout)) == (0, min(size, LIMIT))
    assert ("printed more" in again.stderr) == (size > LIMIT)
    output, said = first.communicate()
    assert (first.returncode, len(output), said) == (0, size, "")


def test_a_daemon_keeps_the_pipe_open(shell: Shell) -> None:
    """It is not waited for, and takes nothing away from what the command has printed."""
    script = "setsid sleep 100 & echo $! > daemon; touch begun; yes 0123456789 | head -c 300000"
    first = shell.start("once", "k", "--", "sh", "-c", script)
    try:
        assert len(replayed(shell).stdout) == LIMIT
        assert len(first.communicate()[0]) == 300_000
        assert first.returncode == 0
    finally:
        os.kill(int((shell.folder / "daemon").read_text("utf-8")), signal.SIGKILL)


def test_a_daemon_that_goes_on_and_on(shell: Shell) -> None:
    """What it prints without end is given up, and a replay says that there was more."""
    daemon = "yes | head -c 300000; touch begun; exec yes"
    script = f"setsid sh -c '{daemon}' & echo $! > daemon; until test -e begun; do sleep 0.01; done"
    first = shell.start("once", "k", "--", "sh", "-c", script)
    try:
        assert "printed more" in replayed(shell).stderr
        assert first.communicate()[0].endswith("y\n")
        assert first.returncode == 0
    finally:
        pid = int((shell.folder / "daemon").read_text("utf-8"))
        until(lambda: not alive(pid))  # of SIGPIPE


def test_a_stream_that_does_not_block(shell: Shell, pipe: tuple[int, int]) -> None:
    """A stdout that somebody made non-blocking is waited for, at first and in a replay."""
    read_end, write_end = pipe
    os.set_blocking(write_end, False)
    for _ in range(2):
        process = shell.start("once", "k", "--", *printing(150_000), stdout=write_end)
        until(lambda: full(read_end))
        assert len(replayed(shell).stdout) == 150_000
        got = 0
        while got < 150_000:
            got += len(os.read(read_end, 65_536))
        assert process.wait() == 0
        assert process.communicate()[1] == ""


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_while_nobody_reads(
    shell: Shell, pipe: tuple[int, int], signum: signal.Signals
) -> None:
    """It ends us; the outcome is kept, as the command had ended before."""
    read_end, write_end = pipe
    for _ in range(2):
        process = shell.start("once", "k", "--", *printing(150_000), stdout=write_end)
        until(lambda: full(read_end))
        assert len(replayed(shell).stdout) == 150_000
        process.send_signal(signum)
        assert process.wait() == 128 + signum
        os.read(read_end, 65_536)
        assert process.communicate()[1] == ""


def test_a_command_that_a_signal_ends(shell: Shell, pipe: tuple[int, int]) -> None:
    """Who asks us to end while the command runs does not wait for our reader."""
    script = "yes 0123456789 | head -c 150000; touch printed; exec sleep 100"
    process = shell.start("once", "k", "--", "sh", "-c", script, stdout=pipe[1])
    until((shell.folder / "printed").exists)
    process.send_signal(signal.SIGTERM)
    assert process.wait() == 128 + signal.SIGTERM
