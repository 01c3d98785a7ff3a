"""``holdfast run`` at a terminal: Ctrl-C, Ctrl-Z, reading the keyboard, and a shell with jobs."""

import shlex
import shutil

import pytest

from tests.cli.keyboard import Keyboard
from tests.cli.shell import PROGRAM, Shell, alive, until

needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="needs job control")


def test_ctrl_c(shell: Shell, keyboards: list[Keyboard]) -> None:
    """Ctrl-C reaches the command as if it was alone, and its code is ours."""
    script = "echo pid=$$.; exec sleep 100"
    keyboards.append(person := Keyboard(shell, *PROGRAM, "run", "job", "--", "sh", "-c", script))
    command = int(person.read(r"pid=(\d+)\."))
    person.type("\x03")
    assert person.process.wait() == 130
    assert not alive(command)


@needs_bash
def test_a_command_that_cannot_start(shell: Shell, keyboards: list[Keyboard]) -> None:
    """The terminal comes back also from a command that never was."""
    person = at_a_shell(shell, keyboards)
    person.type(typed("run", "job", "--", "/no/such/thing") + "\n")
    person.read("No such file or directory")
    person.type("echo code=$?.\n")
    assert person.read(r"code=(\d+)\.") == "127"


def test_the_command_reads_the_keyboard(shell: Shell, keyboards: list[Keyboard]) -> None:
    """The command is in the foreground: it can ask, and reads the answer."""
    script = "echo name?; read name; echo hello $name."
    keyboards.append(person := Keyboard(shell, *PROGRAM, "run", "job", "--", "sh", "-c", script))
    person.read(r"name\?")
    person.type("bob\n")
    person.read(r"hello bob\.")
    assert person.process.wait() == 0


def test_ctrl_z_where_nobody_could_continue_us(shell: Shell, keyboards: list[Keyboard]) -> None:
    """Without a shell that manages jobs Ctrl-Z has no effect, and the command goes on."""
    script = "echo ready.; read name; echo hello $name."
    keyboards.append(person := Keyboard(shell, *PROGRAM, "run", "job", "--", "sh", "-c", script))
    person.read(r"ready\.")
    person.type("\x1a")
    person.type("bob\n")
    person.read(r"hello bob\.")
    assert person.process.wait() == 0


def at_a_shell(shell: Shell, keyboards: list[Keyboard]) -> Keyboard:
    """Give a terminal with an interactive shell."""
    keyboards.append(person := Keyboard(shell, "bash", "--norc", "--noprofile", "-i"))
    person.read(r"\$ ")
    return person


def typed(*args: str) -> str:
    """Write a command line for a shell."""
    return shlex.join([*PROGRAM, *args])


@needs_bash
def test_ctrl_z_and_fg(shell: Shell, keyboards: list[Keyboard]) -> None:
    """Ctrl-Z suspends us with the command; fg within the ttl goes on under the same lease."""
    person = at_a_shell(shell, keyboards)
    script = "echo pid=$$.; read name; echo hello $name."
    person.type(typed("run", "job", "--ttl", "1m", "--", "sh", "-c", script) + "\n")
    command = int(person.read(r"pid=(\d+)\."))
    person.type("\x1a")
    person.read("Stopped")
    person.read(r"\$ ")
    assert alive(command)
    assert shell.client().show("job").held
    person.type("fg\n")
    person.read("run job")
    person.type("bob\n")
    person.read(r"hello bob\.")
    person.type("echo code=$?.\n")
    assert person.read(r"code=(\d+)\.") == "0"


@needs_bash
def test_ctrl_z_for_too_long(shell: Shell, keyboards: list[Keyboard]) -> None:
    """A command that was suspended beyond the ttl never runs again: others may be in."""
    person = at_a_shell(shell, keyboards)
    # No loop of sleeps: a shell stopped in the middle of vfork() cannot be stopped by anyone.
    script = "trap 'touch woken' CONT; echo pid=$$.; read name; touch woken"
    person.type(typed("run", "job", "--ttl", "3s", "--", "sh", "-c", script) + "\n")
    command = int(person.read(r"pid=(\d+)\."))
    person.type("\x1a")
    person.read("Stopped")
    with shell.client().lock("job", wait="10s"):
        person.type("fg\n")
        person.read("holdfast: .*lost")
        until(lambda: not alive(command))
        person.type("echo code=$?.\n")
        assert person.read(r"code=(\d+)\.") == "70"
    assert not (shell.folder / "woken").exists()


@needs_bash
def test_in_a_pipeline(shell: Shell, keyboards: list[Keyboard]) -> None:
    """In a pipeline the terminal stays with the others; Ctrl-C still ends everything."""
    person = at_a_shell(shell, keyboards)
    script = "echo pid=$$. >&2; exec sleep 100"
    person.type(typed("run", "job", "--", "sh", "-c", script) + " | cat\n")
    command = int(person.read(r"pid=(\d+)\."))
    person.type("\x03")
    until(lambda: not alive(command))
    person.read(r"\$ ")
    person.type("echo code=${PIPESTATUS[0]}.\n")
    assert person.read(r"code=(\d+)\.") == "130"
    assert not shell.client().show("job").held


@needs_bash
def test_a_pipeline_that_reads_the_keyboard(shell: Shell, keyboards: list[Keyboard]) -> None:
    """A command that asks in a pipeline is lent the terminal when it does."""
    person = at_a_shell(shell, keyboards)
    script = "echo name? >&2; read name; echo hello $name."
    person.type(typed("run", "job", "--", "sh", "-c", script) + " | cat\n")
    person.read(r"name\?\r\n")
    person.type("bob\n")
    person.read(r"hello bob\.")
    person.read(r"\$ ")
    person.type("echo back.\n")
    person.read(r"back\.")
