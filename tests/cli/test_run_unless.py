"""``--unless``: asked before locking, so that nobody queues for nothing, and again after it."""

import os
import signal

import pytest

from tests.cli.shell import Shell, alive, lines, until


def test_nothing_to_do(shell: Shell) -> None:
    """0 means done: the command is not run, and the lock is not even asked for."""
    with shell.client().lock("job"):
        done = shell.run("run", "job", "--unless", "true", "--", "echo", "never")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_something_to_do(shell: Shell) -> None:
    """Anything but 0 means that there is work, and does not show in the code."""
    done = shell.run("run", "job", "--unless", "exit 9", "--", "echo", "worked")
    assert (done.returncode, done.stdout) == (0, "worked\n")


def test_done_by_somebody_else_meanwhile(shell: Shell) -> None:
    """Who waited looks again when it has the lock, and finds the work done."""
    client = shell.client()
    done = shell.folder / "done"
    with client.lock("job"):
        wrapper = shell.start("run", "job", "--unless", "test -e done", "--", "echo", "never")
        until(lambda: client.show("job").waiters == 1)
        done.touch()
    assert wrapper.communicate() == ("", "")
    assert wrapper.returncode == 0
    assert not client.show("job").held


def test_ten_copies_run_it_once(shell: Shell) -> None:
    """Ten replicas that start together do the work once, and all succeed."""
    script = "echo worked >>log; touch done"
    copies = [
        shell.start("run", "job", "--unless", "test -e done", "--", "sh", "-c", script)
        for _ in range(10)
    ]
    assert [copy.wait() for copy in copies] == [0] * 10
    assert (shell.folder / "log").read_text("utf-8") == "worked\n"


@pytest.mark.parametrize("locked", [False, True])
@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_while_asking(shell: Shell, signum: signal.Signals, *, locked: bool) -> None:
    """A signal that ends the question ends us, before the lock and under it."""
    when = "test -e first" if locked else "true"
    question = f"if {when}; then echo $$; exec sleep 100; fi; touch first; false"
    wrapper = shell.start("run", "job", "--unless", question, "--", "echo", "never")
    asking = int(next(lines(wrapper)))
    assert shell.client().show("job").held is locked
    wrapper.send_signal(signum)
    assert wrapper.wait() == 128 + signum
    assert not alive(asking)
    assert not shell.client().show("job").held


def test_loss_while_asking(shell: Shell) -> None:
    """A lease that is lost during the second question ends it, and the command is not run."""
    client = shell.client()
    os.mkfifo(shell.folder / "gate")
    question = "if test -e first; then echo asking; cat gate; fi; touch first; false"
    wrapper = shell.start("run", "job", "--unless", question, "--", "echo", "never")
    output = lines(wrapper)
    assert next(output) == "asking"
    client.break_lock("job", token=client.show("job").token, reason="an emergency")
    assert wrapper.wait() == 70
    assert list(output) == []
