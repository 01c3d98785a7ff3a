"""``holdfast watch``: changes line by line, and a live table on a terminal."""

import json
import os
import signal
from typing import Any

import pytest

from holdfast.cli.watch import Look, _lines
from holdfast.errors import BackendUnavailable
from tests.cli.shell import Shell, lines, until

CHANGE = {
    *("at", "event", "name", "space", "token", "holder", "client", "host", "pid", "label"),
    *("reason", "waiters"),
}


def test_json_lines(shell: Shell) -> None:
    """One JSON object a line: what is there, then every change; Ctrl-C ends it with 130."""
    client = shell.client()
    lease = client.lock("job").acquire()
    watching = shell.start("watch", "--json", "--interval", "50ms")
    output = lines(watching)

    def told() -> dict[str, Any]:
        return dict(json.loads(next(output)))

    first = told()
    assert set(first) == CHANGE
    assert (first["event"], first["token"], first["label"]) == ("held", lease.token, "the test")
    waiting = shell.start("run", "job", "--label", "second", "--", "sleep", "100")
    assert (change := told())["event"] == "waiting"
    assert (change["label"], change["waiters"]) == ("second", 1)
    lease.release()
    assert (told()["event"], told()["event"]) == ("freed", "held")
    waiting.send_signal(signal.SIGTERM)
    assert (change := told())["event"] == "freed"
    assert change["label"] == "second"
    watching.send_signal(signal.SIGINT)
    assert watching.wait() == 130


def test_lines(shell: Shell) -> None:
    """Without --json a line is a sentence."""
    client = shell.client()
    watching = shell.start("watch", "a", "--interval", "50ms")
    with client.lock("b"), client.lock("a"):
        assert " a is held by the test on " in next(lines(watching))
    assert " a was freed by the test on " in next(lines(watching))
    watching.send_signal(signal.SIGTERM)
    assert watching.wait() == 128 + signal.SIGTERM
    assert watching.stderr is not None
    assert watching.stderr.read() == ""


def test_an_outage(capsys: pytest.CaptureFixture[str]) -> None:
    """An outage is told once, as is its end; what happened meanwhile comes after it."""
    lost = BackendUnavailable("nobody answers")
    looks: list[Look] = [[], lost, lost, []]
    with _lines(as_json=True) as screen:
        for look in looks:
            screen(look)
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(change["event"], change["reason"]) for change in told] == [
        ("unavailable", "nobody answers"),
        ("available", None),
    ]


def test_a_table_on_a_terminal(shell: Shell) -> None:
    """On a terminal there is a table, drawn anew; the cursor comes back at the end."""
    client = shell.client()
    master, terminal = os.openpty()
    watching = shell.start("watch", "--interval", "50ms", stdout=terminal)
    os.close(terminal)
    screen = b""

    def shows(text: bytes) -> bool:
        nonlocal screen
        screen += os.read(master, 4096)
        return text in screen

    until(lambda: shows(b"NAME"))
    with client.lock("a-name"):
        until(lambda: shows(b"a-name"))
    watching.send_signal(signal.SIGINT)
    until(lambda: shows(b"\x1b[?25h"))
    assert watching.wait() == 130
    os.close(master)


def test_nobody_reads_on(shell: Shell) -> None:
    """`holdfast watch | head -1` ends when head does."""
    client = shell.client()
    watching = shell.start("watch", "--interval", "50ms")
    with client.lock("a"):
        next(lines(watching))
    assert watching.stdout is not None
    watching.stdout.close()
    with client.lock("b"):
        assert watching.wait() == 128 + signal.SIGPIPE
