"""``holdfast ls``, ``show`` and ``break``: who holds, who waits, and taking a lock away."""

import os
import re
import signal
import subprocess
import threading
from contextlib import suppress

import pytest

import holdfast
from tests.cli.shell import PROGRAM, Shell, until

LOCK = {"name", "space", "kind", "token", "holder", "expires_in", "waiters", "holders", "queue"}
HOLDER = {
    *("holder", "client", "host", "pid", "label", "token", "weight", "since", "expires_in"),
    *("metadata", "slots", "broken", "detached"),
}
WAITER = {"holder", "client", "host", "pid", "label", "weight", "since"}


def test_ls_as_json(shell: Shell) -> None:
    """A lock is its name, kind, token, holder, remaining life, and who holds and waits."""
    client = shell.client()
    assert shell.json("ls") == []
    with client.lock("a:1", metadata={"why": "test"}), client.lock("b:1"):
        waiting = shell.start("run", "a:1", "--label", "second", "--", "true")
        until(lambda: client.show("a:1").waiters == 1)
        both, only_a = shell.json("ls"), shell.json("ls", "a:")
        waiting.send_signal(signal.SIGTERM)
    assert [lock["name"] for lock in both] == ["a:1", "b:1"]
    (lock,) = only_a
    assert (set(lock), lock["kind"], lock["waiters"]) == (LOCK, "lock", 1)
    (holder,), (waiter,) = lock["holders"], lock["queue"]
    assert (set(holder), holder["label"], holder["pid"]) == (HOLDER, "the test", os.getpid())
    assert (set(waiter), waiter["label"], waiter["pid"]) == (WAITER, "second", waiting.pid)
    assert holder["metadata"] == {"why": "test"}
    assert lock["token"] == holder["token"]


def test_ls_as_a_table(shell: Shell) -> None:
    """Without a terminal it is plain columns; a hostile name or label is escaped."""
    nasty = "[bold]x[/bold]"
    taken = shell.run("acquire", nasty, "--ttl", "1m", "--label", "\x1b[31mred\x1b[0m\nline")
    assert taken.returncode == 0, taken.stderr
    heading, row = shell.run("ls").stdout.splitlines()
    assert heading.split("  ")[0] == "NAME"
    assert " ".join(heading.split()) == "NAME HOLDER HELD FOR EXPIRES IN WAITING TOKEN"
    assert row.startswith(nasty)
    assert r"\x1b[31mred\x1b[0m\nline on " in row
    assert "\x1b" not in row


def test_ls_on_a_terminal(shell: Shell) -> None:
    """On a terminal rich draws the table; markup in a name is text."""
    nasty = "[bold]x[/bold]"
    assert shell.run("acquire", nasty, "--ttl", "1m", "--label", "\x1b]0;title\x07").returncode == 0
    master, terminal = os.openpty()
    env = {**shell.env, "COLUMNS": "200"}
    subprocess.run([*PROGRAM, "ls"], env=env, stdout=terminal, check=True)
    os.close(terminal)
    drawn = b""
    with suppress(OSError):  # the other end is closed, and what was written is read
        while True:
            drawn += os.read(master, 4096)
    os.close(master)
    assert nasty.encode() in drawn
    assert rb"\x1b]0;title\x07" in drawn
    assert b"\x1b]0;title" not in drawn


def test_show(shell: Shell) -> None:
    """A person reads who holds it, since when, until when, and who is in line."""
    client = shell.client()
    with client.lock("job", metadata={"why": "\x1b[31m"}) as lease:
        waiting = shell.start("run", "job", "--", "true")
        until(lambda: client.show("job").waiters == 1)
        shown = shell.run("show", "job").stdout
        assert shell.json("show", "job")["token"] == lease.token
        waiting.send_signal(signal.SIGTERM)
    assert shown.startswith("job: lock, held\n  held by the test on ")
    assert f"token {lease.token}\n" in shown
    assert re.search(r"since \d{4}-\d\d-\d\d [\d:]{8} UTC, expires in \d", shown)
    assert f"1. in line: true on {lease.holder.host}, pid {waiting.pid} " in shown
    assert "\x1b" not in shown


def test_show_what_is_free(shell: Shell) -> None:
    """A free name is shown as free, with its last token if it has one."""
    assert shell.run("show", "never").stdout == "never: lock, free\n"
    shell.run("run", "job", "--", "true")
    assert re.fullmatch(r"job: lock, free\n  last token \d+\n", shell.run("show", "job").stdout)
    assert shell.json("show", "job")["holders"] == []


def test_break(shell: Shell) -> None:
    """The grant with this token is marked, its holder is told; it is free when that lets go."""
    with shell.client().lock("job", on_loss="flag", ttl="1m") as lease:
        done = shell.run("break", "job", "--if-token", str(lease.token), "--reason", "an emergency")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith(f"broke job (token {lease.token}), held by the test on ")
        assert lease.wait_lost("10s")
        assert "broken: an emergency" in shell.run("show", "job").stdout
        assert shell.run("run", "job", "--no-wait", "--", "true").returncode == 75
    assert shell.run("run", "job", "--wait", "10s", "--", "true").returncode == 0


def test_break_by_force(shell: Shell) -> None:
    """With --force it is free at once."""
    with shell.client().lock("job", on_loss="flag") as lease:
        broken = shell.json(
            *("break", "job", "--if-token", str(lease.token), "--reason", "now", "--force")
        )
        assert shell.run("run", "job", "--no-wait", "--", "true").returncode == 0
    assert (broken["name"], broken["forced"], broken["token"]) == ("job", True, lease.token)


@pytest.mark.parametrize("held", [True, False])
def test_break_what_has_moved_on(shell: Shell, *, held: bool) -> None:
    """Another token than the current one is refused with 1, and changes nothing."""
    client = shell.client()
    lease = client.lock("job").acquire()
    if not held:
        lease.release()
    done = shell.run("break", "job", "--if-token", str(lease.token + held), "--reason", "no")
    assert done.returncode == 1
    assert done.stderr.startswith("holdfast: 'job' is not held with token ")
    assert lease.held is held
    lease.release()


@pytest.mark.parametrize("args", [("--if-token", "1"), ("--reason", "x"), ("--if-token", "x")])
def test_break_needs_token_and_reason(shell: Shell, args: tuple[str, ...]) -> None:
    """Nobody breaks a lock by accident, or without saying why."""
    assert shell.run("break", "job", *args).returncode == 2


def test_show_tells_shares_apart(shell: Shell) -> None:
    """Who reads, who writes, who has which slot, and what those in line want."""
    client, other = shell.client(), shell.client()
    with client.rwlock("data").read(), client.semaphore("gpu", permits=4).acquire(2):
        shown = shell.run("show", "data").stdout
        assert shown.startswith("data: rwlock, held\n  read by the test on ")
        shown = shell.run("show", "gpu").stdout
        assert shown.startswith("gpu: semaphore, 2 of 4 permits held\n  held by the test on ")
        assert ", slots 0, 1\n" in shown
        waiting = [
            threading.Thread(target=lambda: other.rwlock("data").write().acquire().release()),
            threading.Thread(target=lambda: other.semaphore("gpu", permits=4).acquire(3).release()),
        ]
        for thread in waiting:
            thread.start()
        until(lambda: all(client.show(name).waiters == 1 for name in ("data", "gpu")))
        assert "  1. in line to write: the test on " in shell.run("show", "data").stdout
        assert "  1. in line for 3 permits: the test on " in shell.run("show", "gpu").stdout
    for thread in waiting:
        thread.join()
    with client.rwlock("data").write():
        assert "  written by the test on " in shell.run("show", "data").stdout


def test_names_under_a_prefix_of_their_own(shell: Shell) -> None:
    """``--prefix`` finds what a client with that prefix holds, also by the command of an error."""
    with holdfast.Client(shell.url, prefix="billing") as client, client.lock("x"):
        assert shell.json("ls") == []
        assert [lock["name"] for lock in shell.json("ls", "--prefix", "billing")] == ["x"]
        busy = shell.run("run", "x", "--prefix", "billing", "--no-wait", "--", "true")
        assert busy.returncode == 75
        recommended = busy.stderr.split("`")[1]
        assert recommended == "holdfast show x --prefix billing"
        assert "held by" in shell.run(*recommended.split()[1:]).stdout
